// SPDX-License-Identifier: MIT
/*
 * usage: refuse CALL COMMAND [ARG]...
 *
 * Runs a command with all system calls of that name failing, as they do for lack of resources or in
 * a sandbox.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ARRAY_SIZE(array)	(sizeof(array) / sizeof((array)[0]))

static const struct call {
	const char *name;
	unsigned int nr, error;
} calls[] = {
	{ "chdir", SYS_chdir, EACCES },
	{ "clone", SYS_clone, EAGAIN },
	{ "ioctl", SYS_ioctl, EPERM },
	{ "mkdir", SYS_mkdir, ENOSPC },
	{ "pipe2", SYS_pipe2, EMFILE },
	{ "rmdir", SYS_rmdir, EPERM },
};

static int refuse(const struct call *call)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call->nr, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | call->error),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { ARRAY_SIZE(filter), filter };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -1;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 2 && i < ARRAY_SIZE(calls); i++) {
		if (strcmp(argv[1], calls[i].name))
			continue;
		if (!refuse(&calls[i]))
			execvp(argv[2], argv + 2);
		perror(argv[2]);
		return 127;
	}
	fputs("usage: refuse CALL COMMAND [ARG]...\n", stderr);
	return 127;
}

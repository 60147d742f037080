// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "process.h"
#include "sandbox.h"
#include "tool.h"

/* Unused, like 65534, except that daemons run as that user, and could stop it. */
#define READER		65533
/* How long it may wait for anything but a CPU, unless its user says otherwise. */
#define PATIENCE_MS	120000
/* Between two looks at whether it does. */
#define STEP_MS		200

/* The exit statuses of the process. */
enum { WORKED, NOT_CONFINED };

static bool limit(int resource, rlim_t value)
{
	const struct rlimit limit = { value, value };

	return !setrlimit(resource, &limit);
}

/* At the hard limit it would get SIGKILL, which may come from anybody. */
static bool limit_time(unsigned int seconds)
{
	const struct rlimit limit = { seconds, seconds + 1 };

	return !setrlimit(RLIMIT_CPU, &limit);
}

/* In bytes. */
static rlim_t address_space(void)
{
	unsigned long pages = 0;
	FILE *file = fopen("/proc/self/statm", "re");

	if (file && fscanf(file, "%lu", &pages) != 1)
		pages = 0;
	if (file)
		fclose(file);
	return (rlim_t)pages * getpagesize();
}

static bool drop_user(void)
{
	return geteuid() || (!setgroups(0, NULL) && !setresgid(READER, READER, READER) &&
			     !setresuid(READER, READER, READER));
}

/*
 * malloc() and write(); x32 calls have other numbers.  Others fail, as a C library may
 * use some that it can do without, like sysinfo() in qsort().
 */
static bool filter_calls(void)
{
	static const int allowed[] = {
		SYS_brk, SYS_mmap, SYS_munmap, SYS_mremap, SYS_mprotect, SYS_madvise,
		SYS_getrandom, SYS_write, SYS_exit_group,
	};
	struct sock_filter code[2 * ARRAY_SIZE(allowed) + 5] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	};
	const struct sock_fprog program = { ARRAY_SIZE(code), code };
	struct sock_filter *next = code + 4;

	for (size_t i = 0; i < ARRAY_SIZE(allowed); i++) {
		*next++ = (struct sock_filter)
			BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, allowed[i], 0, 1);
		*next++ = (struct sock_filter)
			BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	}
	*next = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
	return !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static bool confine(pid_t parent, size_t memory, unsigned int seconds)
{
	rlim_t space = address_space();

	if (!space || prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent)
		return false;
	/* A handler could not return. */
	signal(SIGPIPE, SIG_DFL);
	signal(SIGHUP, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_DFL);
	be_first_to_go();
	/*
	 * Data written to a file in memory does not count as address space: only pipes
	 * are written to.  A change of user resets the parent-death signal.
	 */
	return limit(RLIMIT_AS, space + memory) && limit_time(seconds) &&
	       limit(RLIMIT_CORE, 0) && limit(RLIMIT_FSIZE, 0) &&
	       limit(RLIMIT_NOFILE, 0) && drop_user() &&
	       !prctl(PR_SET_PDEATHSIG, SIGKILL) && getppid() == parent &&
	       !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) && filter_calls();
}

/*
 * @out as descriptor 3, the @nr at @keep from SANDBOX_FD on, and no other: not even
 * stdio, so that a stray message goes nowhere.
 */
static bool keep_descriptors(int out, const int *keep, size_t nr)
{
	const int above = SANDBOX_FD + nr;
	int moved[1 + SANDBOX_KEPT];

	/* Otherwise one would overwrite another. */
	for (size_t i = 0; i <= nr; i++) {
		moved[i] = fcntl(i ? keep[i - 1] : out, F_DUPFD, above);
		if (moved[i] < 0)
			return false;
	}
	for (size_t i = 0; i <= nr; i++)
		if (dup2(moved[i], SANDBOX_FD - 1 + i) < 0)
			return false;
	for (int fd = 0; fd < 3; fd++)
		close(fd);
	return !close_range(above, ~0U, 0);
}

/* Arguments of a new process. */
struct start {
	sandbox_work work;
	void *arg;
	const int *keep;
	size_t nr_keep, memory;
	unsigned int seconds;
};

/* What the address sanitizer does before _exit() takes system calls. */
#define UNSANITIZED	__attribute__((noreturn, no_sanitize("address")))

UNSANITIZED
static void run(int out, pid_t parent, const struct start *start)
{
	if (!keep_descriptors(out, start->keep, start->nr_keep) ||
	    !confine(parent, start->memory, start->seconds))
		_exit(NOT_CONFINED);
	start->work(start->arg, SANDBOX_FD - 1);
	_exit(WORKED);
}

static int start_process(struct sandbox *sandbox, const struct start *start)
{
	pid_t parent = getpid();
	int ends[2], error;

	if (pipe2(ends, O_CLOEXEC))
		return errno;
	sandbox->pid = fork();
	error = errno;
	if (!sandbox->pid)
		run(ends[1], parent, start);
	close(ends[1]);
	sandbox->from = ends[0];
	sandbox->patience_ms = PATIENCE_MS;
	sandbox->waited_ms = 0;
	sandbox->ticks = 0;
	if (sandbox->pid > 0)
		return 0;
	close(ends[0]);
	return error;
}

int sandbox_start(struct sandbox *sandbox, sandbox_work work, void *arg,
		  size_t memory, unsigned int seconds)
{
	const struct start start = { work, arg, NULL, 0, memory, seconds };

	return start_process(sandbox, &start);
}

int sandbox_start_with(struct sandbox *sandbox, sandbox_work work, void *arg,
		       const int *keep, size_t nr_keep, size_t memory, unsigned int seconds)
{
	const struct start start = { work, arg, keep, nr_keep, memory, seconds };

	return nr_keep > SANDBOX_KEPT ? E2BIG : start_process(sandbox, &start);
}

/* Has it run since the last look, or does it wait for a CPU?  Its CPU time has an end. */
static bool works(struct sandbox *sandbox)
{
	const uint64_t before = sandbox->ticks;

	return process_runs(sandbox->pid, &sandbox->ticks) || sandbox->ticks != before;
}

/*
 * Waits for @fd to report on the process.  Once that has waited for too long, or without
 * @fd, that is when it was killed: no alarm ends a stopped process.
 */
static void wait_for(struct sandbox *sandbox, int fd)
{
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN };

	while (fd >= 0 && sandbox->waited_ms < sandbox->patience_ms) {
		int ready = poll(&poll_fd, 1, STEP_MS);

		if (ready > 0)
			return;
		if (!ready && !works(sandbox))
			sandbox->waited_ms += STEP_MS;
	}
	kill(sandbox->pid, SIGKILL);
}

bool sandbox_read(struct sandbox *sandbox, void *data, size_t len)
{
	ssize_t got;

	for (size_t done = 0; done < len; done += got) {
		wait_for(sandbox, sandbox->from);
		got = read(sandbox->from, (char *)data + done, len - done);
		if (got < 0 && errno == EINTR)
			got = 0;
		else if (got <= 0)
			return false;
	}
	return true;
}

const char *sandbox_end(struct sandbox *sandbox, bool *own)
{
	int status, fd = syscall(SYS_pidfd_open, sandbox->pid, 0);

	*own = false;
	/* Do not wait for a process that nobody reads from. */
	close(sandbox->from);
	wait_for(sandbox, fd);
	if (fd >= 0)
		close(fd);
	while (waitpid(sandbox->pid, &status, 0) < 0)
		if (errno != EINTR)
			return "it is not there any more";
	if (WIFEXITED(status))
		return WEXITSTATUS(status) == WORKED ? NULL :
		       "it cannot be confined";
	switch (WTERMSIG(status)) {
	case SIGPIPE:
		return NULL;
	case SIGXCPU:
		*own = true;
		return "it took too long";
	case SIGSEGV:
	case SIGILL:
	case SIGFPE:
	case SIGABRT:
	case SIGTRAP:
	case SIGSYS:
	case SIGXFSZ:
		*own = true;
		return "it crashed";
	/* By others, or as the file cannot be read. */
	default:
		return "its reader was killed";
	}
}

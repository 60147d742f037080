// SPDX-License-Identifier: GPL-2.0
/*
 * How many system calls the C library spends on the objects that it loads: one at
 * start-up, one for each dlopen() and dlclose(), however many objects that are; and
 * on a kernel or under a filter that refuses them.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "codectl_test.h"
#include "kselftest_harness.h"
#include "unwind_plugin.h"

/* The first of them needs the other two. */
#define OBJECT "./load_object.so"
#define NR_OBJECTS 3

/* Separates the counted phases: no part of the C library calls it. */
#define NEXT_PHASE_NR __NR_getpgrp

/* What the preloaded plugin calls. */
void plugin_event(enum plugin_event event)
{
}

int lazy_target(int n)
{
	return n;
}

static bool has_table(const struct dl_phdr_info *info)
{
	for (unsigned int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_GNU_SFRAME)
			return true;
	return false;
}

/* Everything that the kernel has not mapped: not the program, ld.so or the vDSO. */
static int count_texts(struct dl_phdr_info *info, size_t size, void *arg)
{
	unsigned int *nr = arg;

	if (!info->dlpi_name[0] || !has_table(info) ||
	    info->dlpi_addr == getauxval(AT_BASE) ||
	    info->dlpi_addr == getauxval(AT_SYSINFO_EHDR))
		return 0;
	for (unsigned int i = 0; i < info->dlpi_phnum; i++) {
		*nr += info->dlpi_phdr[i].p_type == PT_LOAD &&
		       (info->dlpi_phdr[i].p_flags & PF_X);
	}
	return 0;
}

/* The status is how many texts there are at start-up and in the objects, or 0. */
static int load(void)
{
	unsigned int before = 0, nr = 0;
	void *object;

	dl_iterate_phdr(count_texts, &before);
	syscall(NEXT_PHASE_NR);
	object = dlopen(OBJECT, RTLD_NOW);
	syscall(NEXT_PHASE_NR);
	if (!object)
		return 0;
	dl_iterate_phdr(count_texts, &nr);
	if (dlclose(object))
		return 0;

	return before << 4 | (nr - before);
}

enum phase { START, DLOPEN, DLCLOSE, NR_PHASES };

FIXTURE(calls)
{
	pid_t pid;
	int listener;
};

FIXTURE_VARIANT(calls)
{
	int error;		/* what each call gets, or 0: what the kernel says */
	const char *tunable;
	int nr[NR_PHASES];	/* how many calls */
};

/* libc and the plugin; the objects, twice. */
#define NR_TEXTS { 2, NR_OBJECTS, NR_OBJECTS }

FIXTURE_VARIANT_ADD(calls, taken) { .nr = { 1, 1, 1 } };
FIXTURE_VARIANT_ADD(calls, unknown) { .error = -ENOSYS, .nr = { 1 } };
FIXTURE_VARIANT_ADD(calls, forbidden) { .error = -EPERM, .nr = { 1 } };
/* After an entry that fails, the next one is the first of a batch. */
FIXTURE_VARIANT_ADD(calls, failing) { .error = -ENOMEM, .nr = NR_TEXTS };
FIXTURE_VARIANT_ADD(calls, unwanted) {
	.tunable = "GLIBC_TUNABLES=glibc.rtld.codectl=0",
};

/* The descriptor that reports this task's calls. */
static int listen_to_calls(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_codectl, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, NEXT_PHASE_NR, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { ARRAY_SIZE(code), code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -1;

	return syscall(__NR_seccomp, SECCOMP_SET_MODE_FILTER,
		       SECCOMP_FILTER_FLAG_NEW_LISTENER, &prog);
}

FIXTURE_SETUP(calls)
{
	const char *env[] = { "LD_PRELOAD=./unwind_plugin.so", variant->tunable, NULL };
	int fds[2];

	REQUIRE_CODECTL();
	ASSERT_EQ(0, pipe(fds));
	/* The descriptors are shared until the child executes the program. */
	self->pid = syscall(__NR_clone, CLONE_FILES | SIGCHLD, 0, 0, 0, 0);
	if (!self->pid) {
		int listener = listen_to_calls();

		if (write(fds[1], &listener, sizeof(int)) == sizeof(int))
			execle("/proc/self/exe", "load_calls_test", "--load",
			       NULL, env);
		_exit(0);
	}
	ASSERT_LT(0, self->pid);
	ASSERT_EQ(sizeof(int), read(fds[0], &self->listener, sizeof(int)));
	ASSERT_LE(0, self->listener);
}

FIXTURE_TEARDOWN(calls)
{
}

/* The number of the next call, which is answered; -1 if there is none. */
static int next_call(int listener, int error)
{
	struct seccomp_notif call = { 0 };
	struct seccomp_notif_resp answer = { 0 };
	struct pollfd p = { .fd = listener, .events = POLLIN };

	if (poll(&p, 1, -1) != 1 || !(p.revents & POLLIN) ||
	    ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &call))
		return -1;
	answer.id = call.id;
	answer.error = call.data.nr == __NR_codectl ? error : 0;
	answer.flags = answer.error ? 0 : SECCOMP_USER_NOTIF_FLAG_CONTINUE;
	if (ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer))
		return -1;

	return call.data.nr;
}

TEST_F(calls, number)
{
	static const int texts[] = NR_TEXTS;
	int nr[NR_PHASES] = { 0 };
	enum phase phase = START;
	int status, call;

	while ((call = next_call(self->listener, variant->error)) >= 0) {
		if (call == __NR_codectl)
			nr[phase]++;
		else
			ASSERT_GT(NR_PHASES, ++phase);
	}
	ASSERT_EQ(self->pid, waitpid(self->pid, &status, 0));
	ASSERT_TRUE(WIFEXITED(status));
	EXPECT_EQ(texts[START] << 4 | texts[DLOPEN], WEXITSTATUS(status));
	ASSERT_EQ(DLCLOSE, phase);
	for (phase = START; phase < NR_PHASES; phase++) {
		EXPECT_EQ(variant->nr[phase], nr[phase]) {
			TH_LOG("phase %d", phase);
		}
	}
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "--load"))
		return load();
	return test_harness_run(argc, argv);
}

// SPDX-License-Identifier: GPL-2.0
/* Stacks of tasks that come and go: exit, fork, threads. No stack is one of another task. */
#include <pthread.h>
#include <signal.h>

#include "trace_task_fixture.h"

static noinline void exit_here(long nr, uint64_t *from)
{
	*from = (uint64_t)__builtin_return_address(0);
	/* What the walk needs is in memory, so it has to wait for nothing. */
	marker();
	asm volatile("syscall" : "+a"(nr) : "D"(0) : "rcx", "r11", "memory");
}

/* The stack comes, although the task never returns. */
TEST_F(trace, exit)
{
	const long nr[] = { __NR_exit_group, __NR_exit };
	char prefix[32];
	pid_t pid;

	SHARED_WORD();
	ASSERT_EQ(0, trace_programs(&self->t));
	for (int i = 0; i < 2; i++) {
		ASSERT_EQ(0, tracefs_clear(&self->t));
		pid = fork();
		if (!pid)
			exit_here(nr[i], exec_from);
		ASSERT_LT(0, pid);
		ASSERT_EQ(0, exit_status(pid));
		READ_LOG();
		snprintf(prefix, sizeof(prefix), "sys_enter: NR %ld ", nr[i]);
		ASSERT_NE(NULL, event_of(&self->log, pid, prefix));
		ASSERT_TRUE(trace_stack(&self->log,
					cookie_of(&self->log,
						  event_of(&self->log, pid,
							   prefix)),
					&self->stack));
		EXPECT_EQ(pid, self->stack.pid);
		EXPECT_STREQ("", self->stack.stop);
		EXPECT_TRUE(has_own_offset(&self->log, &self->stack,
					   offset_of(*exec_from)));
	}
}

/* Killed in a system call that had an event. */
TEST_F(trace, killed)
{
	const struct trace_entry *e;
	int status;
	pid_t pid;

	ASSERT_EQ(0, tracefs_trace_syscall(&self->t, __NR_pause, 0, false));
	ASSERT_EQ(0, tracefs_write(&self->t, USER_STACKS, "1"));
	pid = fork();
	if (!pid) {
		syscall(__NR_pause);
		_exit(1);
	}
	ASSERT_LT(0, pid);
	do {
		usleep(10000);
		READ_LOG();
		e = event_of(&self->log, pid, "sys_enter: ");
	} while (!e);
	EXPECT_FALSE(trace_stack(&self->log, cookie_of(&self->log, e),
				 &self->stack));
	ASSERT_EQ(0, kill(pid, SIGKILL));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	READ_LOG();
	e = event_of(&self->log, pid, "sys_enter: ");
	ASSERT_TRUE(trace_stack(&self->log, cookie_of(&self->log, e),
				&self->stack));
	EXPECT_EQ(pid, self->stack.pid);
	EXPECT_LT(0, self->stack.nr);
}

/* fork() or vfork() with a child that exits at once, on the same stack. */
static noinline pid_t fork_and_exit(long nr)
{
	asm volatile("syscall\n\t"
		     "test %%eax, %%eax\n\t"
		     "jnz 1f\n\t"
		     "mov $231, %%eax\n\t"
		     "xor %%edi, %%edi\n\t"
		     "syscall\n"
		     "1:" : "+a"(nr) : : "rdi", "rcx", "r11", "memory");
	return nr;
}

/* A child begins with nothing of its parent's. */
TEST_F(trace, fork)
{
	uint64_t parent, child;
	pid_t pid;

	ASSERT_EQ(0, ask_of_all(&self->t, "id == 57 || id == 58"));
	ASSERT_EQ(0, tracefs_enable(&self->t, "raw_syscalls/sys_enter"));
	ASSERT_EQ(0, tracefs_enable(&self->t, "raw_syscalls/sys_exit"));
	for (int i = 0; i < 2; i++) {
		ASSERT_EQ(0, tracefs_clear(&self->t));
		pid = fork_and_exit(i ? __NR_vfork : __NR_fork);
		ASSERT_LT(0, pid);
		ASSERT_EQ(0, exit_status(pid));
		READ_LOG();
		parent = cookie_of(&self->log, event_of(&self->log, getpid(),
							"sys_exit: "));
		child = cookie_of(&self->log, event_of(&self->log, pid,
						       "sys_exit: "));
		EXPECT_NE(0, parent);
		EXPECT_NE(0, child);
		EXPECT_NE(parent, child);
		ASSERT_TRUE(trace_stack(&self->log, child, &self->stack));
		EXPECT_EQ(pid, self->stack.pid);
		ASSERT_TRUE(trace_stack(&self->log, parent, &self->stack));
		EXPECT_EQ(getpid(), self->stack.pid);
		EXPECT_EQ(1, self->stack.records);
	}
}

#define NR_THREADS 4
#define NR_ROUNDS 200

static void *mark(void *)
{
	for (int i = 0; i < NR_ROUNDS; i++)
		marker();
	return NULL;
}

/* Each event of each thread has a cookie that no other task has. */
TEST_F(trace, threads)
{
	const struct trace_entry *e = NULL;
	pthread_t thread[NR_THREADS];
	unsigned int nr = 0;
	uint64_t cookie;

	ASSERT_EQ(0, tracefs_trace_syscall(&self->t, MARKER_NR, 0, false));
	ASSERT_EQ(0, tracefs_write(&self->t, USER_STACKS, "1"));
	for (int i = 0; i < NR_THREADS; i++)
		ASSERT_EQ(0, pthread_create(&thread[i], NULL, mark, NULL));
	for (int i = 0; i < NR_THREADS; i++)
		ASSERT_EQ(0, pthread_join(thread[i], NULL));
	READ_LOG();
	while ((e = trace_find(&self->log, e, "sys_enter: "))) {
		cookie = cookie_of(&self->log, e);
		ASSERT_NE(0, cookie);
		ASSERT_TRUE(trace_stack(&self->log, cookie, &self->stack));
		ASSERT_EQ(e->pid, self->stack.pid);
		ASSERT_EQ(1, self->stack.records);
		nr++;
	}
	EXPECT_EQ(NR_THREADS * NR_ROUNDS, nr);
}

TEST_HARNESS_MAIN

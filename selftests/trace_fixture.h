/* SPDX-License-Identifier: GPL-2.0 */
/* The fixture of the tests of the trace: an instance of its own. */
#ifndef CODECTL_TRACE_FIXTURE_H
#define CODECTL_TRACE_FIXTURE_H

#include <fcntl.h>
#include <sys/wait.h>

#include "tracefs.h"
#include "unwind_common.h"

FIXTURE(trace)
{
	struct tracefs t;
	struct trace_log log;
	struct trace_stack stack;
};

FIXTURE_SETUP(trace)
{
	char name[32];

	REQUIRE_CODECTL();
	truth_reset();
	snprintf(name, sizeof(name), "codectl_test_%d", getpid());
	ASSERT_EQ(0, tracefs_open(&self->t, name));
}

FIXTURE_TEARDOWN(trace)
{
	if (_metadata->exit_code == KSFT_FAIL)
		trace_log_print(&self->log);
	trace_log_free(&self->log);
	EXPECT_EQ(0, tracefs_close(&self->t));
}

#define READ_LOG() ASSERT_EQ(0, trace_log_read(&self->log, &self->t))

/* Stacks of this process at each marker(). */
static inline int ask_for_stacks(const struct tracefs *t, bool exit)
{
	return tracefs_trace_syscall(t, MARKER_NR, getpid(), exit) ?:
	       tracefs_write(t, USER_STACKS, "1");
}

/* The cookie of an event that trace_find() has found. */
static inline uint64_t cookie_of(const struct trace_log *log,
				 const struct trace_entry *event)
{
	const char *name = "ftrace/raw_data";

	if (!event)
		return 0;
	if (!strncmp(event->text, "sys_enter: ", 11))
		name = "raw_syscalls/sys_enter";
	else if (!strncmp(event->text, "sys_exit: ", 10))
		name = "raw_syscalls/sys_exit";
	else if (!strncmp(event->text, "sched_process_exec: ", 20))
		name = "sched/sched_process_exec";
	else if (!strncmp(event->text, "signal_generate: ", 17))
		name = "signal/signal_generate";
	else if (!strncmp(event->text, "tracing_mark_write: ", 20))
		name = "ftrace/print";
	return trace_cookie(log, event, tracefs_event_type(name));
}

/* The stack of the event is the truth, in one record for each 64 frames. */
static inline void expect_true_stack(struct __test_metadata *_metadata,
				     FIXTURE_DATA(trace) * self,
				     const struct trace_entry *event)
{
	uint64_t cookie = cookie_of(&self->log, event);

	ASSERT_TRUE(trace_stack(&self->log, cookie, &self->stack));
	EXPECT_TRUE(trace_stack_is_true(&self->log, &self->stack, &truth));
	EXPECT_EQ((truth.nr + 63) / 64, self->stack.records);
	EXPECT_STREQ("", self->stack.stop);
}

/* The stack of the first system call in the log. */
static inline bool syscall_stack(const struct trace_log *log,
				 struct trace_stack *stack)
{
	const struct trace_entry *e = trace_find(log, NULL, "sys_enter: ");

	return trace_stack(log, cookie_of(log, e), stack);
}

#define EXPECT_TRUE_STACK_OF(event)					\
	expect_true_stack(_metadata, self, event)

/* Takes the stack and its truth. */
static noinline __attribute__((unused)) void leaf(void)
{
	uint64_t ip = marker();

	truth_capture(ip);
}

/* One more process, which waits where it is told to. */
struct trace_peer {
	pid_t pid;
	int to[2];
	int from[2];
};

static inline pid_t peer_fork(struct trace_peer *p)
{
	if (pipe2(p->to, O_CLOEXEC) || pipe2(p->from, O_CLOEXEC))
		return -1;
	p->pid = fork();
	return p->pid;
}

static inline void peer_say(const int *fds)
{
	if (write(fds[1], "", 1) != 1)
		_exit(99);
}

static inline bool peer_hear(const int *fds)
{
	char c;

	return read(fds[0], &c, 1) == 1;
}

/* Of a process that ends by itself; -1 if it was killed. */
static inline int exit_status(pid_t pid)
{
	int status;

	if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status);
}

#endif /* CODECTL_TRACE_FIXTURE_H */

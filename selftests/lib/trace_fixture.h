/* SPDX-License-Identifier: GPL-2.0 */
/* The fixture of the tests of the trace: an instance. */
#ifndef CODECTL_TRACE_FIXTURE_H
#define CODECTL_TRACE_FIXTURE_H

#include <fcntl.h>
#include <sched.h>
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
	REQUIRE_CODECTL();
	truth_reset();
	ASSERT_EQ(0, tracefs_borrow(&self->t));
}

FIXTURE_TEARDOWN(trace)
{
	if (_metadata->exit_code == KSFT_FAIL)
		trace_log_print(&self->log);
	trace_log_free(&self->log);
	EXPECT_EQ(0, tracefs_return(&self->t));
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
	static const struct {
		const char *prefix;
		const char *name;
	} kinds[] = {
		{ "sys_enter: ", "raw_syscalls/sys_enter" },
		{ "sys_exit: ", "raw_syscalls/sys_exit" },
		{ "sched_process_exec: ", "sched/sched_process_exec" },
		{ "sched_prepare_exec: ", "sched/sched_prepare_exec" },
		{ "signal_generate: ", "signal/signal_generate" },
		{ "tracing_mark_write: ", "ftrace/print" },
		{ "io_uring_submit_req: ", "io_uring/io_uring_submit_req" },
		{ "x86_fpu_regs_activated: ", "x86_fpu/x86_fpu_regs_activated" },
		{ "task_waited: ", "codectl/task_waited" },
		{ "task_wakes: ", "codectl/task_wakes" },
		{ "", "ftrace/raw_data" },
	};
	int i = 0;

	if (!event)
		return 0;
	while (strncmp(event->text, kinds[i].prefix, strlen(kinds[i].prefix)))
		i++;
	return trace_cookie(log, event, tracefs_event_type(kinds[i].name));
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

/* The status of a process that ends by itself; -1 if it was killed. */
static inline int exit_status(pid_t pid)
{
	int status;

	if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status);
}

/* The first @size - 1 bytes of /proc/TID/NAME, none if it has ended. */
static inline void read_proc(pid_t tid, const char *name, char *to, size_t size)
{
	char path[32];
	ssize_t len;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", tid, name);
	fd = open(path, O_RDONLY);
	len = read(fd, to, size - 1);
	to[len < 0 ? 0 : len] = 0;
	close(fd);
}

/* As in /proc: 'D', 'Z'. */
static inline bool has_state(pid_t tid, char wanted)
{
	char stat[256], *state;

	read_proc(tid, "stat", stat, sizeof(stat));
	state = strrchr(stat, ')');
	return state && state[1] == ' ' && state[2] == wanted;
}

/* In the kernel, and for longer than a page takes or a lock that is passed on. */
static inline bool wait_until_blocked(const pid_t *tid)
{
	int seen = 0;

	for (int i = 0; i < 5000 && seen < 50; i++) {
		usleep(1000);
		seen = has_state(*(volatile const pid_t *)tid, 'D') ? seen + 1 : 0;
	}
	return seen == 50;
}

#endif /* CODECTL_TRACE_FIXTURE_H */

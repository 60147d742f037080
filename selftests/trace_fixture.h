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

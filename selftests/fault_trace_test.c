// SPDX-License-Identifier: GPL-2.0
/*
 * Every allocation and every user copy of what serves the trace is made to fail,
 * one at a time: a stack is whole or says why it is not, an option is as it was,
 * and the next time all is well.
 */
#include "trace_fixture.h"
#include "fault.h"
#include "trace_proc.h"

#define ASK() ASSERT_EQ(0, ask_for_stacks(&self->t, false))

static void expect_works(struct __test_metadata *_metadata,
			 FIXTURE_DATA(trace) * self)
{
	ASSERT_EQ(0, tracefs_clear(&self->t));
	leaf();
	READ_LOG();
	EXPECT_TRUE_STACK_OF(trace_find(&self->log, NULL, "sys_enter: "));
}

static int toggle(const struct tracefs *t, int fault, unsigned int nth, bool on,
		  bool *used)
{
	int err;

	arm(fault, nth);
	err = tracefs_write(t, USER_STACKS, on ? "1" : "0");
	*used = disarm(fault);
	return err;
}

/* Either it is done, or the option says that it is not. */
static void toggle_each(struct __test_metadata *_metadata,
			FIXTURE_DATA(trace) * self, bool on)
{
	unsigned int nth, failed = 0;
	int fault = fault_open(), err;
	bool used = true;

	ASSERT_LE(0, fault);
	for (nth = 1; used && nth < 1000; nth++) {
		ASSERT_EQ(0, tracefs_write(&self->t, USER_STACKS, on ? "0" : "1"));
		err = toggle(&self->t, fault, nth, on, &used);
		ASSERT_TRUE(!err || err == -ENOMEM || err == -EFAULT)
			TH_LOG("error %d", err);
		failed += !!err;
		ASSERT_EQ(err ? !on : on, tracefs_number(&self->t, USER_STACKS));
	}
	EXPECT_FALSE(used);
	TH_LOG("%u times, %u failed", nth, failed);
	EXPECT_LT(2, failed);
	ASSERT_EQ(0, tracefs_write(&self->t, USER_STACKS, "1"));
	expect_works(_metadata, self);
	close(fault);
}

TEST_F(trace, option_on)
{
	ASK();
	toggle_each(_metadata, self, true);
}

TEST_F(trace, option_off)
{
	ASK();
	toggle_each(_metadata, self, false);
}

enum result { WHOLE, SHORTER, WRONG, NO_FAULT = 64 };

/* Whether what there is of it is right: a file has no id without memory for it. */
static bool frames_are_true(const struct trace_stack *s)
{
	struct trace_map m;

	if (s->nr > truth.nr || (s->nr < truth.nr && !*s->stop))
		return false;
	for (unsigned int i = 0; i < s->nr; i++) {
		uint64_t ip = truth.ip[i], offset = s->frame[i].offset;

		if (offset == ip && !s->frame[i].id)
			continue;
		if (!trace_map_of(i ? ip - 1 : ip, &m) ||
		    offset != ip - m.start + m.offset)
			return false;
	}
	return true;
}

static enum result check_stack(FIXTURE_DATA(trace) * self)
{
	struct trace_stack *s = &self->stack;
	const struct trace_entry *e;
	uint64_t cookie;

	if (trace_log_read(&self->log, &self->t))
		return WRONG;
	e = trace_find(&self->log, NULL, "sys_enter: ");
	cookie = cookie_of(&self->log, e);
	if (!cookie || !trace_stack(&self->log, cookie, s))
		return SHORTER;
	if (!frames_are_true(s))
		return WRONG;
	return s->nr < truth.nr ? SHORTER : WHOLE;
}

/* In a process that has had no stack taken, and of files that are not explained. */
static int stack_with_fault(FIXTURE_DATA(trace) * self, unsigned int nth)
{
	pid_t pid = fork();
	int fault, status;
	bool used;

	if (pid)
		return pid < 0 ? -1 : exit_status(pid);
	fault = fault_open();
	truth_reset();
	arm(fault, nth);
	leaf();
	used = disarm(fault);
	status = check_stack(self);
	_exit(used ? status : status | NO_FAULT);
}

TEST_F(trace, walk)
{
	unsigned int nr[WRONG] = { 0 }, nth;
	int result;

	ASSERT_EQ(0, tracefs_trace_syscall(&self->t, MARKER_NR, 0, false));
	ASSERT_EQ(0, tracefs_write(&self->t, USER_STACKS, "1"));
	for (nth = 1; nth < 1000; nth++) {
		ASSERT_EQ(0, tracefs_clear(&self->t));
		result = stack_with_fault(self, nth);
		ASSERT_TRUE((result & ~NO_FAULT) < WRONG)
			TH_LOG("fault %u: %d", nth, result);
		if (result & NO_FAULT)
			break;
		nr[result]++;
	}
	TH_LOG("%u times, %u shorter", nth, nr[SHORTER]);
	EXPECT_EQ(WHOLE | NO_FAULT, result);
	EXPECT_LT(0, nr[SHORTER]);
	EXPECT_LT(0, nr[WHOLE]);
	expect_works(_metadata, self);
}

/* What is told in spite of it is right, and the next time it is all. */
TEST_F(trace, replay)
{
	unsigned int nth, failed = 0;
	int fault = fault_open(), err;
	struct tracefs top;
	bool used = true;

	ASSERT_LE(0, fault);
	tracefs_top(&top);
	ASSERT_EQ(0, tracefs_write_number(&self->t, "buffer_size_kb", 1024));
	ASSERT_EQ(0, tracefs_enable(&self->t, "codectl/code_register"));
	ASK();
	leaf();
	for (nth = 1; used && nth < 1000; nth++) {
		arm(fault, nth);
		err = tracefs_write(&top, "code_replay", "1");
		used = disarm(fault);
		ASSERT_TRUE(!err || err == -ENOMEM || err == -EFAULT)
			TH_LOG("error %d", err);
		failed += !!err;
	}
	EXPECT_FALSE(used);
	TH_LOG("%u times, %u failed", nth, failed);
	EXPECT_LT(0, failed);
	ASSERT_EQ(0, tracefs_clear(&self->t));
	ASSERT_EQ(0, tracefs_write(&top, "code_replay", "1"));
	READ_LOG();
	EXPECT_EQ(0, trace_not_told(&self->log, getpid()));
	close(fault);
}

TEST_HARNESS_MAIN

// SPDX-License-Identifier: GPL-2.0
/*
 * Makes every allocation and every user copy that serves the trace fail, one at a time:
 * a stack is complete or says why it is not, an option keeps its value, and the next
 * time all is well.
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

/* Is what there is of it right?  Without memory a file has no id. */
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

	if (trace_log_read(&self->log, &self->t))
		return WRONG;
	if (!syscall_stack(&self->log, s))
		return SHORTER;
	if (!frames_are_true(s))
		return WRONG;
	return s->nr < truth.nr ? SHORTER : WHOLE;
}

/* In a process that has had no stack taken, and with unexplained files. */
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

/* ---------------------------------------------------------------------- code_replay */

#define REGISTER "code_register: "
#define FILE_MAP "file_map: "

/* Without memory for them a registration is reported without names. */
static bool is_nameless(const struct trace_register *r, struct trace_register *whole)
{
	whole->file_id = 0;
	whole->n = (struct trace_names) { .names = "none" };
	return !memcmp(r, whole, sizeof(*r));
}

/* Is a line of a replay one of a replay without faults? */
static bool is_told_as(const struct trace_entry *e, const struct trace_log *whole,
		       unsigned int *nameless)
{
	static struct trace_register r, w;
	const struct trace_entry *same = NULL;

	while ((same = trace_find(whole, same, e->text)))
		if (!strcmp(same->text, e->text))
			return true;
	if (!trace_parse_register(e, &r) ||
	    !trace_find_register(whole, NULL, r.pid, r.text_start, &w) ||
	    !is_nameless(&r, &w))
		return false;
	++*nameless;
	return true;
}

/* The replay's own events have stacks, too. */
static bool is_told(const struct trace_entry *e)
{
	return !strncmp(e->text, REGISTER, strlen(REGISTER)) ||
	       !strncmp(e->text, FILE_MAP, strlen(FILE_MAP));
}

struct replays {
	struct trace_log whole;
	unsigned int nr;	/* registrations in it */
	unsigned int nomem;
	unsigned int fault;
	unsigned int nameless;
};

/* For a replay that may have failed: are all of its lines right? */
static void compare_replay(struct __test_metadata *_metadata,
			   FIXTURE_DATA(trace) * self, struct replays *n, int err)
{
	unsigned int nameless = 0, nr;

	READ_LOG();
	for (unsigned int i = 0; i < self->log.nr; i++) {
		const struct trace_entry *e = &self->log.entry[i];

		ASSERT_TRUE(!is_told(e) || is_told_as(e, &n->whole, &nameless))
			TH_LOG("not so: %s", e->text);
	}
	nr = trace_count(&self->log, REGISTER);
	/* Refused before anything is reported. */
	ASSERT_EQ(err ? 0 : n->nr, nr);
	n->nomem += err == -ENOMEM;
	n->fault += err == -EFAULT;
	n->nameless += !!nameless;
}

/* The first one has given each file its id. */
static void replay_whole(struct __test_metadata *_metadata,
			 FIXTURE_DATA(trace) * self)
{
	for (int i = 0; i < 2; i++) {
		ASSERT_EQ(0, tracefs_clear(&self->t));
		ASSERT_EQ(0, tracefs_write(&self->t, "code_replay", "1"));
	}
	READ_LOG();
	ASSERT_EQ(0, trace_not_told(&self->log, getpid()));
	ASSERT_LT(0, trace_count(&self->log, FILE_MAP));
}

/* What is reported nevertheless is right, and the next time it is everything. */
TEST_F(trace, replay)
{
	int fault = fault_open(), err;
	struct replays n = { };
	bool used = true;
	unsigned int nth;

	ASSERT_LE(0, fault);
	ASSERT_EQ(0, tracefs_write_number(&self->t, "buffer_size_kb", 1024));
	ASSERT_EQ(0, tracefs_enable(&self->t, "codectl/code_register"));
	ASK();
	leaf();
	replay_whole(_metadata, self);
	n.whole = self->log;
	n.nr = trace_count(&n.whole, REGISTER);
	self->log = (struct trace_log) { };
	for (nth = 1; used && nth < 1000; nth++) {
		ASSERT_EQ(0, tracefs_clear(&self->t));
		arm(fault, nth);
		err = tracefs_write(&self->t, "code_replay", "1");
		used = disarm(fault);
		ASSERT_TRUE(!err || err == -ENOMEM || err == -EFAULT)
			TH_LOG("error %d", err);
		compare_replay(_metadata, self, &n, err);
	}
	EXPECT_FALSE(used);
	TH_LOG("%u times %u, %u without memory, %u without access", nth - 1, n.nr,
	       n.nomem, n.fault);
	TH_LOG("of the others %u without a name", n.nameless);
	EXPECT_LE(1, n.nomem);
	EXPECT_LE(1, n.fault);
	EXPECT_LE(1, n.nameless);
	replay_whole(_metadata, self);
	EXPECT_EQ(n.nr, trace_count(&self->log, REGISTER));
	trace_log_free(&n.whole);
	close(fault);
}

TEST_HARNESS_MAIN

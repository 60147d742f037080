// SPDX-License-Identifier: GPL-2.0
/*
 * Stacks in the trace while those who request them change: nothing is lost for good,
 * and nothing is joined that does not belong together.
 */
#include <pthread.h>
#include <signal.h>

#include "trace_fixture.h"

#define ASK() ASSERT_EQ(0, ask_for_stacks(&self->t, true))

#define NR_BUSY 2

/* Fewer if each takes long. */
#define NR_CYCLES(n) ((n) / (int)scaled_seconds(1))

static volatile bool stop;

/* Threads and children with system calls that have events. */
static void *make_events(void *)
{
	while (!stop)
		marker();
	return NULL;
}

static void *make_children(void *)
{
	pid_t pid;

	while (!stop) {
		pid = fork();
		if (!pid) {
			marker();
			_exit(0);
		}
		waitpid(pid, NULL, 0);
	}
	return NULL;
}

struct busy {
	pthread_t thread[NR_BUSY + 1];
};

static void busy_start(struct busy *b)
{
	stop = false;
	for (int i = 0; i < NR_BUSY; i++)
		pthread_create(&b->thread[i], NULL, make_events, NULL);
	pthread_create(&b->thread[NR_BUSY], NULL, make_children, NULL);
}

static void busy_stop(struct busy *b)
{
	stop = true;
	for (int i = 0; i <= NR_BUSY; i++)
		pthread_join(b->thread[i], NULL);
}

/*
 * All tasks, not this one alone. Before there are any: what is enabled or
 * disabled later patches code that others run.
 */
#define ASK_OF_ALL() do {						\
	ASSERT_EQ(0, tracefs_write_number(&self->t, "buffer_size_kb",	\
					  128));			\
	ASSERT_EQ(0, tracefs_trace_syscall(&self->t, MARKER_NR, 0,	\
					   true));			\
	ASSERT_EQ(0, tracefs_write(&self->t, USER_STACKS, "1"));	\
} while (0)

/* From an empty trace, an event has its stack. */
static void expect_works(struct __test_metadata *_metadata,
			 FIXTURE_DATA(trace) * self)
{
	ASSERT_EQ(0, tracefs_write(&self->t, USER_STACKS, "1"));
	ASSERT_EQ(0, tracefs_write(&self->t, "tracing_on", "1"));
	ASSERT_EQ(0, tracefs_clear(&self->t));
#pragma GCC unroll 1
	for (int i = 0; i < 3; i++)
		leaf();
	READ_LOG();
	EXPECT_TRUE_STACK_OF(trace_find(&self->log, NULL, "sys_enter: "));
	EXPECT_EQ(6, trace_count(&self->log, "<user unwind>"));
	EXPECT_EQ(3, trace_count(&self->log, "<user stack unwind>"));
}

#define EXPECT_WORKS() expect_works(_metadata, self)

/* Of what is in the trace, the stacks of events: each is that of the event's task. */
static unsigned int count_right_stacks(struct __test_metadata *_metadata,
				       FIXTURE_DATA(trace) * self)
{
	const struct trace_entry *e = NULL;
	unsigned int nr = 0;
	uint64_t cookie;
	long type = tracefs_event_type("raw_syscalls/sys_enter");

	ASSERT_EQ(0, tracefs_write(&self->t, "tracing_on", "0"));
	READ_LOG();
	while ((e = trace_find(&self->log, e, "sys_enter: ")) && nr < 200) {
		cookie = trace_cookie(&self->log, e, type);
		if (!cookie || !trace_stack(&self->log, cookie, &self->stack))
			continue;
		ASSERT_EQ(e->pid, self->stack.pid);
		ASSERT_EQ(1, self->stack.records);
		nr++;
	}
	return nr;
}

/*
 * No stack is that of another task's event, and there are some: where none was
 * caught, of events that happen meanwhile.
 */
static void expect_no_wrong_stack(struct __test_metadata *_metadata,
				  FIXTURE_DATA(trace) * self)
{
	double end = now() + scaled_seconds(30);
	unsigned int nr;

	while (!(nr = count_right_stacks(_metadata, self)) && now() < end) {
		ASSERT_EQ(0, tracefs_write(&self->t, "tracing_on", "1"));
		leaf();
	}
	TH_LOG("%u stacks", nr);
	EXPECT_LT(0, nr);
}

TEST_F(trace, toggled)
{
	struct busy b;

	ASK_OF_ALL();
	busy_start(&b);
	for (int i = 0; i < NR_CYCLES(300); i++)
		ASSERT_EQ(0, tracefs_write(&self->t, USER_STACKS,
					   i & 1 ? "1" : "0"));
	expect_no_wrong_stack(_metadata, self);
	busy_stop(&b);
	EXPECT_WORKS();
}

TEST_F(trace, instances_come_and_go)
{
	struct tracefs t;
	struct busy b;

	ASK_OF_ALL();
	busy_start(&b);
	for (int i = 0; i < NR_CYCLES(60); i++) {
		ASSERT_EQ(0, tracefs_open(&t, "codectl_test_short"));
		ASSERT_EQ(0, tracefs_write(&t, USER_STACKS, "1"));
		ASSERT_EQ(0, tracefs_write(&t, "trace_marker", "x"));
		if (i & 1) {
			ASSERT_EQ(0, trace_log_read(&self->log, &t));
			EXPECT_EQ(1, trace_count(&self->log,
						 "<user stack unwind>"));
		}
		ASSERT_EQ(0, tracefs_close(&t));
	}
	expect_no_wrong_stack(_metadata, self);
	busy_stop(&b);
	EXPECT_WORKS();
}

TEST_F(trace, emptied_and_resized)
{
	const long kb[] = { 64, 1024, 4, 300 };
	struct busy b;

	ASK_OF_ALL();
	busy_start(&b);
	for (int i = 0; i < NR_CYCLES(100); i++) {
		ASSERT_EQ(0, tracefs_clear(&self->t));
		if (i % 5 == 0)
			ASSERT_EQ(0, tracefs_write_number(&self->t,
							  "buffer_size_kb",
							  kb[i / 5 % 4]));
	}
	expect_no_wrong_stack(_metadata, self);
	busy_stop(&b);
	EXPECT_WORKS();
}

/* Other activity in between may have filled the buffer. */
static bool sampled_here(struct sampler *sampler, struct stack *stack)
{
	unsigned int lost;
	int tries = 10;

	do {
		sampler_drain(sampler);
		lost = sampler->lost;
		leaf();
		while (sampler_next(sampler, stack))
			if (stack->tid == gettid())
				return true;
	} while (--tries && sampler->lost > lost);
	return false;
}

/* perf asks for the same walks, and gets them all. */
TEST_F(trace, beside_perf)
{
	struct sampler sampler;
	struct stack stack;
	struct busy b;

	ASK_OF_ALL();
	ASSERT_EQ(0, sampler_open_syscall(&sampler, MARKER_NR));
	busy_start(&b);
	for (int i = 0; i < NR_CYCLES(100); i++) {
		ASSERT_EQ(0, tracefs_write(&self->t, USER_STACKS,
					   i & 1 ? "1" : "0"));
		ASSERT_TRUE(sampled_here(&sampler, &stack));
		EXPECT_TRUE(stack_is_true(&stack, &truth)) {
			print_stack(&stack, &truth);
		}
	}
	busy_stop(&b);
	sampler_close(&sampler);
	EXPECT_WORKS();
}

TEST_F(trace, tracing_off)
{
	ASK();
	ASSERT_EQ(0, tracefs_write(&self->t, "tracing_on", "0"));
	leaf();
	READ_LOG();
	EXPECT_EQ(0, self->log.nr);
	EXPECT_WORKS();
}

/* What there is no room for is left out, and what is there is right. */
TEST_F(trace, full)
{
	struct busy b;

	ASK_OF_ALL();
	ASSERT_EQ(0, tracefs_write(&self->t, "options/overwrite", "0"));
	ASSERT_EQ(0, tracefs_write_number(&self->t, "buffer_size_kb", 16));
	ASSERT_EQ(0, tracefs_clear(&self->t));
	busy_start(&b);
	for (int i = 0; i < NR_CYCLES(2000); i++)
		marker();
	busy_stop(&b);
	expect_no_wrong_stack(_metadata, self);
	EXPECT_LT(0, trace_count(&self->log, "<user stack unwind>"));
	EXPECT_GT(NR_CYCLES(2000), trace_count(&self->log, "sys_enter: "));
	EXPECT_WORKS();
}

TEST_F(trace, overwritten)
{
	struct busy b;

	ASK_OF_ALL();
	ASSERT_EQ(0, tracefs_write_number(&self->t, "buffer_size_kb", 16));
	busy_start(&b);
	for (int i = 0; i < NR_CYCLES(2000); i++)
		marker();
	expect_no_wrong_stack(_metadata, self);
	busy_stop(&b);
	EXPECT_WORKS();
}

/* The maximum number of requesters; one more is refused, and the others continue. */
TEST_F(trace, too_many_instances)
{
	struct tracefs t[70];
	char name[32];
	int nr, err = 0;

	ASK();
	for (nr = 0; nr < ARRAY_SIZE(t) && !err; nr++) {
		snprintf(name, sizeof(name), "codectl_test_crowd_%d", nr);
		ASSERT_EQ(0, tracefs_open(&t[nr], name));
		err = tracefs_write(&t[nr], USER_STACKS, "1");
	}
	EXPECT_EQ(-EBUSY, err);
	EXPECT_LT(50, nr);
	EXPECT_EQ(0, tracefs_number(&t[nr - 1], USER_STACKS));
	EXPECT_EQ(1, tracefs_number(&t[nr - 2], USER_STACKS));
	EXPECT_WORKS();
	while (nr--)
		EXPECT_EQ(0, tracefs_close(&t[nr]));
	EXPECT_WORKS();
}

TEST_HARNESS_MAIN

// SPDX-License-Identifier: MIT
/*
 * The join rule, on correct, unordered, lossy and wrong traces.
 */
#include "check.h"
#include "join.h"

enum { FUTEX = 100, SWITCH = 101 };

static char got[4096];
static unsigned int kinds, woken;	/* as digits, in order of arrival */
static uint64_t ns;

/* TYPE:TID:FIRST-FRAME/FRAMES for each event with a stack. */
static void note(void *context, const struct traced_event *event, unsigned long count,
		 struct join_stack *stack)
{
	(void)context;
	for (; count--;) {
		size_t len = strlen(got);

		snprintf(got + len, sizeof(got) - len, "%u:%d:%llx/%u ", event->type, stack->tid,
			 stack->nr ? (unsigned long long)stack->frames[0].offset : 0,
			 stack->nr);
	}
	kinds = event->kind ? 10 * kinds + event->kind : kinds;
	woken = event->woken ? 10 * woken + event->woken : woken;
	ns += event->ns;
}

static struct join *start(void)
{
	got[0] = '\0';
	return join_new(note, NULL);
}

static void cookie(struct join *join, int cpu, int tid, uint64_t cookie,
		   uint32_t type)
{
	struct cookie_record record = { cookie, type };

	join_cookie(join, cpu, tid, &record);
}

static void plain_event(struct join *join, int cpu, int tid, uint32_t type)
{
	const struct traced_event event = { .type = type };

	join_event(join, cpu, tid, 0, &event);
}

/* An event with its cookie record. */
static void event(struct join *join, int cpu, int tid, uint64_t value,
		  uint32_t type)
{
	plain_event(join, cpu, tid, type);
	cookie(join, cpu, tid, value, type);
}

/* The number of the first frame is @offset. */
static void part(struct join *join, int tid, uint64_t value, uint32_t nr,
		 uint32_t first, uint32_t count, uint64_t offset)
{
	static struct stack_record record;

	record = (struct stack_record){
		.cookie = value, .nr = nr, .first = first, .count = count,
	};
	for (uint32_t i = 0; i < count; i++)
		record.frames[i].offset = offset + first + i;
	join_stack(join, tid, &record);
}

static void stack(struct join *join, int tid, uint64_t value, uint64_t offset)
{
	part(join, tid, value, 2, 0, 2, offset);
}

static void end(struct join *join, const char *want)
{
	join_pass(join);
	join_finish(join);
	if (strcmp(got, want))
		printf("# got '%s'\n", got);
	CHECK(!strcmp(got, want));
}

static void a_stack_for_all_events_of_an_entry(void)
{
	struct join *join = start();

	event(join, 0, 7, 1, FUTEX);
	event(join, 0, 7, 1, SWITCH);
	event(join, 1, 7, 1, SWITCH);
	stack(join, 7, 1, 0x10);
	end(join, "100:7:10/2 101:7:10/2 101:7:10/2 ");
	CHECK(join_counts(join)->events == 3 && join_counts(join)->joined == 3);
	join_free(join);
}

static void an_interrupt_between_event_and_cookie(void)
{
	struct join *join = start();

	plain_event(join, 0, 7, FUTEX);
	event(join, 0, 7, 1, SWITCH);
	cookie(join, 0, 7, 1, FUTEX);
	stack(join, 7, 1, 0x10);
	end(join, "101:7:10/2 100:7:10/2 ");
	join_free(join);
}

static void records_of_other_cpus_in_any_order(void)
{
	struct join *join = start();

	stack(join, 7, 1, 0x10);
	join_pass(join);
	event(join, 0, 7, 1, FUTEX);
	end(join, "100:7:10/2 ");
	join_free(join);
}

static void entries_of_one_task_and_of_others(void)
{
	struct join *join = start();

	event(join, 0, 7, 1, FUTEX);
	event(join, 0, 8, 2, FUTEX);
	stack(join, 8, 2, 0x20);
	stack(join, 7, 1, 0x10);
	event(join, 0, 7, 3, FUTEX);
	stack(join, 7, 3, 0x30);
	end(join, "100:7:30/2 100:8:20/2 100:7:10/2 ");
	join_free(join);
}

/* Neither types nor cookies need to be ascending. */
static void types_and_cookies_that_come_down(void)
{
	struct join *join = start();

	plain_event(join, 0, 7, SWITCH);
	plain_event(join, 0, 7, FUTEX);
	cookie(join, 0, 7, 3, FUTEX);
	cookie(join, 0, 7, 2, SWITCH);
	cookie(join, 0, 7, 1, FUTEX);
	stack(join, 7, 1, 0x10);
	stack(join, 7, 2, 0x20);
	stack(join, 7, 3, 0x30);
	end(join, "100:7:10/2 101:7:20/2 100:7:30/2 ");
	join_free(join);
}

/* A stack is not complete while other CPUs may still deliver parts. */
static void a_pass_without_more(void)
{
	struct join *join = start();

	event(join, 0, 7, 1, FUTEX);
	stack(join, 7, 1, 0x10);
	join_pass(join);
	CHECK(!*got);
	join_pass(join);
	CHECK(!strcmp(got, "100:7:10/2 "));
	end(join, "100:7:10/2 ");
	join_free(join);
}

static void cookies_of_no_event(void)
{
	struct join *join = start();

	plain_event(join, 0, 7, FUTEX);
	cookie(join, 1, 7, 1, FUTEX);	/* another CPU */
	cookie(join, 0, 8, 1, FUTEX);	/* another task */
	cookie(join, 0, 7, 1, SWITCH);	/* another type */
	stack(join, 7, 1, 0x10);
	end(join, "");
	CHECK(join_counts(join)->stray_cookies == 3);
	CHECK(join_counts(join)->stray_stacks == 1);
	join_free(join);
}

/* A thread id may be reused, and the event that shows this may be lost. */
static void lost_records_part_event_and_cookie(void)
{
	struct join *join = start();

	plain_event(join, 0, 7, FUTEX);
	plain_event(join, 1, 7, FUTEX);
	join_lost(join, 0);
	cookie(join, 0, 7, 1, FUTEX);
	stack(join, 7, 1, 0x10);
	cookie(join, 1, 7, 2, FUTEX);
	stack(join, 7, 2, 0x20);
	end(join, "100:7:20/2 ");
	CHECK(join_counts(join)->stray_cookies == 1);
	join_free(join);
}

static void lost_stacks_leave_events_pending(void)
{
	struct join *join = start();

	event(join, 0, 7, 1, FUTEX);
	event(join, 0, 7, 2, FUTEX);
	join_lost(join, 0);
	stack(join, 7, 2, 0x20);
	end(join, "100:7:20/2 ");
	CHECK(join_counts(join)->pending == 1);
	join_free(join);
}

static void stacks_in_parts(void)
{
	struct join *join = start();

	event(join, 0, 7, 1, FUTEX);
	part(join, 7, 1, 5, 3, 2, 0x10);
	join_pass(join);
	join_pass(join);
	CHECK(!*got);
	part(join, 7, 1, 5, 0, 3, 0x10);
	end(join, "100:7:10/5 ");
	join_free(join);
}

/* Frames are put at their numbers, and duplicates do not count. */
static void a_part_that_comes_twice(void)
{
	struct join *join = start();

	event(join, 0, 7, 1, FUTEX);
	part(join, 7, 1, 3, 2, 1, 0x10);
	part(join, 7, 1, 3, 2, 1, 0x10);
	part(join, 7, 1, 3, 2, 1, 0x10);
	end(join, "");
	CHECK(join_counts(join)->incomplete == 1);
	join_free(join);

	join = start();
	event(join, 0, 7, 1, FUTEX);
	part(join, 7, 1, 3, 0, 2, 0x10);
	part(join, 7, 1, 3, 0, 2, 0x10);
	part(join, 7, 1, 3, 2, 1, 0x10);
	end(join, "100:7:10/3 ");
	join_free(join);
}

/* An event with its stack waits one more pass after each record. */
static void a_cookie_a_pass_after_the_stack(void)
{
	struct join *join = start();

	join_pass(join);
	event(join, 0, 7, 1, FUTEX);
	stack(join, 7, 1, 0x10);
	join_pass(join);
	CHECK(!*got);
	event(join, 1, 7, 1, SWITCH);
	join_pass(join);
	CHECK(!*got);
	end(join, "100:7:10/2 101:7:10/2 ");
	CHECK(join_counts(join)->stray_stacks == 0);
	join_free(join);
}

static void stacks_with_a_part_missing(void)
{
	struct join *join = start();

	event(join, 0, 7, 1, FUTEX);
	part(join, 7, 1, 5, 0, 3, 0x10);
	part(join, 7, 1, 5, 0, 3, 0x10);	/* a duplicate */
	part(join, 7, 1, 6, 3, 2, 0x10);	/* of another stack */
	part(join, 8, 1, 5, 3, 2, 0x10);	/* of another task */
	end(join, "");
	CHECK(join_counts(join)->incomplete == 1 && !join_counts(join)->joined);
	join_free(join);
}

static void truncated_and_empty_stacks(void)
{
	static struct stack_record record = { .cookie = 1, .stop = STOP_FAULT };
	struct join *join = start();

	event(join, 0, 7, 1, FUTEX);
	join_stack(join, 7, &record);
	end(join, "100:7:0/0 ");
	CHECK(join_counts(join)->truncated == 1 && join_counts(join)->joined == 1);
	join_free(join);
}

/* Enough threads to forget the first ones. */
static void many_threads(void)
{
	struct join *join = start();

	for (int tid = 1; tid <= 20000; tid++) {
		plain_event(join, 0, tid, FUTEX);
		if (tid % 5000 == 0)
			join_pass(join);
	}
	cookie(join, 0, 1, 1, FUTEX);
	cookie(join, 0, 20000, 2, FUTEX);
	stack(join, 20000, 2, 0x20);
	end(join, "100:20000:20/2 ");
	CHECK(join_counts(join)->stray_cookies == 1);
	join_free(join);
}

static void wait_event(struct join *join, int tid, uint64_t value, uint32_t kind, uint64_t time)
{
	const struct traced_event waited = { .type = SWITCH, .kind = kind, .ns = time };

	join_event(join, 0, tid, 0, &waited);
	cookie(join, 0, tid, value, SWITCH);
}

/* A task waits several times on its way, in more than one way. */
static void kinds_of_one_type(void)
{
	struct join *join = start();

	kinds = 0;
	ns = 0;
	wait_event(join, 7, 1, 2, 100);
	wait_event(join, 7, 1, 3, 10);
	wait_event(join, 7, 1, 2, 1);
	stack(join, 7, 1, 0x10);
	join_finish(join);
	CHECK(!strcmp(got, "101:7:10/2 101:7:10/2 101:7:10/2 "));
	CHECK(kinds == 23);
	CHECK(ns == 111);
	CHECK(join_counts(join)->joined == 3);
	join_free(join);
}

static void wake_event(struct join *join, int tid, uint64_t value, int32_t woken)
{
	const struct traced_event wakes = { .type = SWITCH, .woken = woken };

	join_event(join, 0, tid, 0, &wakes);
	cookie(join, 0, tid, value, SWITCH);
}

/* A task wakes others on its way, and one of them twice. */
static void those_that_are_woken(void)
{
	struct join *join = start();

	woken = 0;
	wake_event(join, 7, 1, 3);
	wake_event(join, 7, 1, 4);
	wake_event(join, 7, 1, 3);
	stack(join, 7, 1, 0x10);
	join_finish(join);
	CHECK(!strcmp(got, "101:7:10/2 101:7:10/2 101:7:10/2 "));
	CHECK(woken == 34);
	join_free(join);
}

/* Adds an event; its kernel stack has the same @context. */
static void event_in(struct join *join, uint32_t context, uint32_t type)
{
	const struct traced_event event = { .type = type };

	join_event(join, 0, 7, context, &event);
}

static void note_kernel(void *context, const struct traced_event *event, unsigned long count,
			struct join_stack *stack)
{
	size_t len = strlen(got);

	(void)context;
	(void)stack;
	snprintf(got + len, sizeof(got) - len, "%u:%u*%lu ", event->type, event->kernel, count);
}

/* An interrupt between an event and its kernel stack requests a stack of its own. */
static void stacks_of_the_kernel(void)
{
	struct join *join = join_new(note_kernel, NULL);

	got[0] = '\0';
	event_in(join, 1, FUTEX);
	event_in(join, 2, SWITCH);
	cookie(join, 0, 7, 1, SWITCH);
	join_kernel(join, 0, 7, 2, 20);
	cookie(join, 0, 7, 1, FUTEX);
	join_kernel(join, 0, 7, 1, 10);
	/* The kernel stacks of another task, of another CPU, and of no event. */
	event_in(join, 1, FUTEX);
	join_kernel(join, 0, 8, 1, 30);
	join_kernel(join, 1, 7, 1, 30);
	join_kernel(join, 0, 7, 3, 30);
	cookie(join, 0, 7, 1, FUTEX);
	event_in(join, 1, FUTEX);
	cookie(join, 0, 7, 1, FUTEX);
	join_kernel(join, 0, 7, 1, 10);
	join_kernel(join, 0, 7, 1, 30);
	/* An event without a user stack. */
	event_in(join, 1, FUTEX);
	join_kernel(join, 0, 7, 1, 10);
	stack(join, 7, 1, 0x10);
	join_finish(join);
	CHECK(!strcmp(got, "101:20*1 100:10*2 100:0*1 "));
	join_free(join);
}

/* Events that were dropped have no stack. */
static void a_stack_of_the_kernel_that_comes_late(void)
{
	struct join *join = join_new(note_kernel, NULL);

	for (int tid = 1; tid <= 5000; tid++)
		plain_event(join, 0, tid, FUTEX);
	join_pass(join);
	join_kernel(join, 0, 5000, 0, 30);
	join_lost(join, 0);
	join_kernel(join, 0, 5000, 0, 30);
	CHECK(join_counts(join)->events == 5000);
	join_free(join);
}

/* Sums of values in the trace must not wrap to 0. */
static void times_that_are_too_long(void)
{
	struct join *join = start();

	ns = 0;
	wait_event(join, 7, 1, 2, UINT64_MAX - 1);
	wait_event(join, 7, 1, 2, 2);
	stack(join, 7, 1, 0x10);
	join_finish(join);
	CHECK(ns == UINT64_MAX);
	join_free(join);
}

/* Otherwise a long recording that loses stacks would take all memory. */
static void old_cookies_are_given_up(void)
{
	const size_t most = join_max_waiting;
	struct join *join = start();

	join_max_waiting = 2;
	for (int i = 1; i <= 4; i++) {
		event(join, 0, i, i, FUTEX);
		join_pass(join);
		join_pass(join);
	}
	CHECK(join_counts(join)->pending == 4);
	stack(join, 1, 1, 0x10);
	stack(join, 4, 4, 0x40);
	join_finish(join);
	CHECK(join_counts(join)->pending == 3 && join_counts(join)->stray_stacks == 1);
	CHECK(!strcmp(got, "100:4:40/2 "));
	join_free(join);
	join_max_waiting = most;
}

int main(void)
{
	RUN(a_stack_for_all_events_of_an_entry);
	RUN(an_interrupt_between_event_and_cookie);
	RUN(records_of_other_cpus_in_any_order);
	RUN(entries_of_one_task_and_of_others);
	RUN(types_and_cookies_that_come_down);
	RUN(a_pass_without_more);
	RUN(cookies_of_no_event);
	RUN(lost_records_part_event_and_cookie);
	RUN(lost_stacks_leave_events_pending);
	RUN(old_cookies_are_given_up);
	RUN(stacks_in_parts);
	RUN(a_part_that_comes_twice);
	RUN(a_cookie_a_pass_after_the_stack);
	RUN(stacks_with_a_part_missing);
	RUN(truncated_and_empty_stacks);
	RUN(many_threads);
	RUN(kinds_of_one_type);
	RUN(those_that_are_woken);
	RUN(stacks_of_the_kernel);
	RUN(a_stack_of_the_kernel_that_comes_late);
	RUN(times_that_are_too_long);
	return check_end();
}

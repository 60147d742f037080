/* SPDX-License-Identifier: MIT */
/*
 * Assigns the user stacks of a trace to the events that asked for them: a cookie record
 * belongs to the latest event before it on its CPU, of its task and of the type that it
 * names, unless records were lost in between; a stack belongs to all events whose
 * cookie record has its cookie.
 *
 * Records of one CPU come in order.  Those of different CPUs may not, but each
 * comes before the end of the pass after the one in which the next record of
 * its cookie came.
 */
#ifndef JOIN_H
#define JOIN_H

#include "trace_record.h"

struct join;

struct join_stack {
	uint64_t cookie;
	uint64_t time;		/* of its first record */
	uint32_t nr, stop;
	int32_t tid;
	struct frame frames[];
};

/* What is known of an event, except its stack. */
struct traced_event {
	uint32_t type;		/* of its record */
	uint32_t kind;		/* what else distinguishes it, by the caller's number */
	int32_t woken;		/* the thread that it has woken, or 0 */
	uint32_t kernel;	/* its kernel stack, by the caller's number, or 0 */
	uint64_t ns;		/* how long it took */
};

/*
 * So many events of that kind have that stack, which the function may change; their sum
 * of ns.
 */
typedef void (*join_fn)(void *context, const struct traced_event *event,
			unsigned long count, struct join_stack *stack);

struct join_counts {
	unsigned long events;		/* records that are not ours */
	unsigned long joined;		/* events with a complete stack */
	unsigned long truncated;	/* joined, but the stack ends early */
	unsigned long incomplete;	/* parts of the stack are missing */
	unsigned long asked;		/* events with their cookie record */
	unsigned long pending;		/* no stack came */
	unsigned long stray_cookies;	/* cookie records without their event */
	unsigned long stray_stacks;	/* stacks without a known event */
};

/* Cookies whose stack has not come, before the oldest ones are given up. */
extern size_t join_max_waiting;

struct join *join_new(join_fn joined, void *context);
void join_free(struct join *join);

/* @context: what the records of an event have in common. */
void join_event(struct join *join, int cpu, int32_t tid, uint32_t context,
		const struct traced_event *event);
/*
 * The latest event of the task on that CPU in that context has that kernel stack: its
 * record comes after that of the cookie, if there is one.
 */
void join_kernel(struct join *join, int cpu, int32_t tid, uint32_t context, uint32_t kernel);

void join_cookie(struct join *join, int cpu, int32_t tid,
		 const struct cookie_record *record);
void join_stack(struct join *join, int32_t tid,
		const struct stack_record *record);

/* Records were lost on that CPU before the next one. */
void join_lost(struct join *join, int cpu);

/* All buffers have been read until they were empty. */
void join_pass(struct join *join);

/* Nothing more will come. */
void join_finish(struct join *join);

/* For what join_pass() or join_finish() has settled; pending is up to date. */
const struct join_counts *join_counts(const struct join *join);

#endif

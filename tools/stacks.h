/* SPDX-License-Identifier: MIT */
/*
 * Stacks with their events, until it is known what their frames are.
 */
#ifndef STACKS_H
#define STACKS_H

#include "frames.h"
#include "join.h"
#include "kernel_stacks.h"

struct stacks;

/*
 * The names of events, and whether they take time: @describe is called with @context;
 * and their kernel stacks, or NULL.
 */
struct event_names {
	struct profile_event (*describe)(void *context, uint32_t type, uint32_t kind);
	void *context;
	struct kernel_stacks *kernel;
};

struct stacks *stacks_new(void);
void stacks_free(struct stacks *stacks);

/* The time of the first record, by the clock of stacks, whose times count from then. */
void stacks_begin(struct stacks *stacks, uint64_t time);

/* Memory limit for all: 1 GiB. */
extern size_t stacks_max_bytes;

/* As join_fn.  False if it is dropped: there are too many different ones. */
bool stacks_add(struct stacks *stacks, const struct traced_event *event, unsigned long count,
		const struct join_stack *stack);

/*
 * The process of a thread; that with the number @otherwise if it had ended before that was
 * looked up.
 */
struct process_id stacks_process(struct stacks *stacks, int32_t tid, pid_t otherwise);

/* Does some frame have an id that @frames does not know? */
bool stacks_lack_ids(const struct stacks *stacks, const struct frames *frames);

/*
 * Finds the process and the name of each thread that had ended when its stack came, in
 * the texts of tracefs's saved_tgids and saved_cmdlines.
 */
void stacks_find_processes(struct stacks *stacks, const char *saved_tgids);
void stacks_find_names(struct stacks *stacks, const char *saved_cmdlines);

/* Adds all to @profile; returns how many events it refuses, as their sum is too large. */
unsigned long stacks_fill(struct stacks *stacks, struct frames *frames,
			  const struct event_names *names, struct profile *profile);

#endif

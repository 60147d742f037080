/* SPDX-License-Identifier: MIT */
/*
 * Stacks with their events, each kept once and counted.
 */
#ifndef STACKS_H
#define STACKS_H

#include <stdio.h>

#include "frames.h"
#include "join.h"

struct stacks;

/* What events are called: @name is called with @context. */
struct event_names {
	const char *(*name)(void *context, uint32_t type);
	void *context;
};

struct stacks *stacks_new(void);
void stacks_free(struct stacks *stacks);

void stacks_add(struct stacks *stacks, uint32_t type, const struct join_stack *stack);

/* The process of a thread, or 0 where it had ended before that was asked for. */
pid_t stacks_process(struct stacks *stacks, int32_t tid);

bool stacks_any(const struct stacks *stacks);

/* Whether some frame has an id that @frames does not know. */
bool stacks_lack_ids(const struct stacks *stacks, const struct frames *frames);

/*
 * The process of each thread that had ended when its stack came, as the text of
 * tracefs's saved_tgids says.
 */
void stacks_find_processes(struct stacks *stacks, const char *saved_tgids);

/* For a reader; returns how many that are. */
size_t stacks_print(const struct stacks *stacks, struct frames *frames,
		    const struct event_names *names, FILE *to);

/* A line each for a flame graph. */
void stacks_fold(const struct stacks *stacks, struct frames *frames,
		 const struct event_names *names, FILE *to);

#endif

/* SPDX-License-Identifier: GPL-2.0 */
/* The kernel's cost of walking a stack of this process. */
#ifndef CODECTL_WALKS_H
#define CODECTL_WALKS_H

/*
 * Starts taking and measuring stacks.  A walk is a call of @function in the kernel, between two
 * probes, whose cost is subtracted.
 */
void walks_open(const char *function);

enum walk_kind {
	WALK_WARM,	/* the same stack has just been walked */
	WALK_ELSEWHERE,	/* as WALK_WARM, but something else was registered since */
	WALK_COLD,	/* by a new thread, whose process has walked the stack */
	WALK_FIRST,	/* by a new thread, whose process has walked none */
	WALK_SECOND,	/* by one whose process has walked one other stack */
};

/*
 * Calls @run, which takes one stack of @frames frames, several times; returns the
 * instructions of the cheapest walk.  Runs @before, if any, before each.
 */
double walk_cost(void (*run)(void *), void *arg, unsigned int frames,
		 enum walk_kind kind, void (*before)(void));
/* Page faults in the last walk of the above, if the task was a new one. */
long walk_faults(void);
/* The frames of the stack that @run takes. */
unsigned int walk_frames(void (*run)(void *), void *arg);

/* The frames of the stacks to measure. */
#define WALK_DEPTHS 3
extern const unsigned int walk_depths[WALK_DEPTHS];

/*
 * The cost of a stack of @frames; after the last of them, also the cost per frame, as
 * the slope from the first one.
 */
void walk_result(const char *name, unsigned int frames, double cost);

/* Measures chain_call() with a stack of each depth. */
void chain_walks(const char *name, enum walk_kind kind);

/* Changes the registrations of this process, far from all that runs. */
void change_registry(void);

#endif /* CODECTL_WALKS_H */

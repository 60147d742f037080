/* SPDX-License-Identifier: MIT */
/*
 * Threads of a process that wait when a recording ends: their stacks come as they run
 * again, so they are made to, for a moment.
 */
#ifndef BLOCKED_H
#define BLOCKED_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct symbols;
struct blocked;

/* Those of @pid that wait now, and the locks that they wait for. */
struct blocked *blocked_find(pid_t pid);
void blocked_free(struct blocked *blocked);

/*
 * Stops each that waits in a call which goes on by itself after that, and lets it go on.
 * Returns how many have been left alone.
 */
unsigned long blocked_interrupt(struct blocked *blocked);

/* What an event task_waited of @tid at @time, of CLOCK_MONOTONIC in ns, is of. */
enum blocked_event {
	BLOCKED_NOT,		/* a wait that was over */
	BLOCKED_STILL,		/* one that goes on */
	BLOCKED_STOP,		/* that stop */
};

enum blocked_event blocked_event(struct blocked *blocked, int32_t tid, uint64_t time, char state);

/*
 * Calls @tell with each circle of threads that wait for locks of one another: how many they
 * are, and who they are, as a text that stays the caller's.  Locks that are variables have
 * their names.
 */
void blocked_deadlocks(struct blocked *blocked, struct symbols *symbols,
		       void (*tell)(void *context, unsigned long nr, const char *text),
		       void *context);

#endif

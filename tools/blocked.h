/* SPDX-License-Identifier: MIT */
/*
 * Threads of a process that are waiting when a recording ends: their stacks come when
 * they run again, so they are made to, for a moment.
 */
#ifndef BLOCKED_H
#define BLOCKED_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct blocked;

/* The threads of @pid that are waiting now, and the locks that they wait for. */
struct blocked *blocked_find(pid_t pid);
void blocked_free(struct blocked *blocked);

/* A number of threads, and a text that continues it, which stays the caller's. */
typedef void (*blocked_tell)(void *context, unsigned long nr, const char *text);

/*
 * Stops each thread that waits in a call which continues after that as if nothing had
 * happened, and lets it continue.
 */
void blocked_interrupt(struct blocked *blocked);

/*
 * Is there a thread which a stop would disturb, but whose wait will end by itself within a
 * second of that?  Records are to be read meanwhile.
 */
bool blocked_will_run(struct blocked *blocked);

/* Tells which have been left alone and have not run: how many in each call. */
void blocked_left(struct blocked *blocked, blocked_tell tell, void *context);

/*
 * Tells each circle of threads that wait for locks of one another.  Locks that are
 * variables are named, but not more than some.  To be called once.
 */
void blocked_deadlocks(struct blocked *blocked, blocked_tell tell, void *context);

#endif

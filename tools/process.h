/* SPDX-License-Identifier: MIT */
#ifndef PROCESS_H
#define PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* A process: others may have had its number before, or get it later. */
struct process_id {
	pid_t pid;
	uint64_t life;		/* distinguishes those with the same number */
};

/*
 * Distinguishes processes, or threads, with the same number; 0 if there is none.  The process
 * cannot delay the answer, as it can that of process_start().
 */
uint64_t process_life(pid_t tid);

/* When it started, in clock ticks since boot; 0 if it has ended. */
uint64_t process_start(pid_t pid);

/* That in ns of CLOCK_REALTIME, as this is set now. */
uint64_t process_start_time(uint64_t start);

/* A descriptor of the process with that id; -1 if there is none. */
int process_open(pid_t pid);

/* Also if nobody has waited for it; but not while it has threads.  @process may be -1. */
bool process_has_ended(int process);

/*
 * Does it run, or wait for a CPU, as opposed to anything else?  Stores how many clock ticks
 * of CPU time it has taken.
 */
bool process_runs(pid_t pid, uint64_t *ticks);

#endif

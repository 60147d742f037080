/* SPDX-License-Identifier: MIT */
/* What processes map from now on. */
#ifndef ATTACH_FOLLOW_H
#define ATTACH_FOLLOW_H

#include <stdbool.h>
#include <sys/types.h>

struct follow;

/* Takes a mapping [start, end) of a process that it can execute. */
typedef void follow_take(void *arg, pid_t pid, unsigned long start, unsigned long end,
			 const char *name);

/* Exits with the reason if it cannot be done. */
struct follow *follow_start(void);

/*
 * Gives @take what was mapped since; waits for up to @ms milliseconds.  Whether it missed
 * some, so that all processes are to be looked at.
 */
bool follow_wait(struct follow *follow, int ms, follow_take *take, void *arg);

#endif

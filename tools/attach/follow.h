/* SPDX-License-Identifier: MIT */
/* What processes map from now on. */
#ifndef ATTACH_FOLLOW_H
#define ATTACH_FOLLOW_H

#include <stdbool.h>
#include <sys/types.h>

struct follow;

/* Takes an executable mapping [start, end) of a process. */
typedef void follow_take(void *arg, pid_t pid, unsigned long start, unsigned long end,
			 const char *name);

/* Exits with the reason on failure. */
struct follow *follow_start(void);

/*
 * Passes new mappings to @take; waits for up to @ms milliseconds.  Returns whether it
 * missed some, so that all processes must be looked at.
 */
bool follow_wait(struct follow *follow, int ms, follow_take *take, void *arg);

#endif

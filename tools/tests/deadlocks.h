/* SPDX-License-Identifier: MIT */
/*
 * What is said about threads that wait.
 */
#ifndef DEADLOCKS_H
#define DEADLOCKS_H

#include <stdio.h>
#include <string.h>

static char deadlocks[1024];
static unsigned long in_deadlocks;

static inline void note_deadlock(void *context, unsigned long nr, const char *text)
{
	size_t len = strlen(deadlocks);

	(void)context;
	in_deadlocks += nr;
	snprintf(deadlocks + len, sizeof(deadlocks) - len, "%s.", text);
}

#endif

/* SPDX-License-Identifier: MIT */
/*
 * codectl attach as a child, so that what is recorded has tables.
 */
#ifndef ATTACH_CHILD_H
#define ATTACH_CHILD_H

#include <sys/types.h>

struct attach_child {
	pid_t pid;		/* 0 if there is none */
};

/*
 * Attaches tables to what process @pid has mapped, and to what it and its children map
 * later; for all processes if @pid is 0.  Returns when every file that can have a table
 * has one, or after some seconds.  Does nothing if the kernel takes no tables, or not
 * from this user.
 */
void attach_child_start(struct attach_child *child, pid_t pid);

void attach_child_end(struct attach_child *child);

#endif

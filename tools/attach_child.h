/* SPDX-License-Identifier: MIT */
/*
 * codectl attach as a child, so that what is recorded has tables.
 */
#ifndef ATTACH_CHILD_H
#define ATTACH_CHILD_H

#include <sys/types.h>

struct attach_child {
	pid_t pid;		/* 0: there is none */
};

/*
 * Gives tables to what the process @pid has mapped, and to what it and its children map
 * later; to what all have if @pid is 0.  Returns when all have one that can, or after some
 * seconds.  Nothing is done where the kernel takes no tables, or not from this user.
 */
void attach_child_start(struct attach_child *child, pid_t pid);

void attach_child_end(struct attach_child *child);

#endif

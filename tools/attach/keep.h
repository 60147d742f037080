/* SPDX-License-Identifier: MIT */
/*
 * A process that attaches tables to what one owner's processes have mapped.  The
 * servers of these file systems need not answer, and then no signal would end it: it is
 * only ever waited for with a time limit.
 */
#ifndef ATTACH_KEEP_H
#define ATTACH_KEEP_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* A message to it: a mapping [start, end); or up to the end of the name. */
struct keep_told {
	pid_t pid;		/* 0: look at all processes again */
	unsigned long start, end;
	char name[4096];
};

enum keep_state {
	KEEP_BUSY,		/* also with files that not anybody may have made */
	KEEP_ANYBODYS,		/* with files that anybody may have made */
	KEEP_DONE,		/* with everything it was told */
};

/* Its report, at least once in KEEP_SECONDS while it runs. */
struct keep_counts {
	enum keep_state state;
	size_t nr, without, pending, unopened;
	int error;		/* why the last one could not be opened */
	unsigned long long bytes;
};

#define KEEP_SECONDS	10

/*
 * Runs until SIGTERM, or until process @parent ends; looks again at SIGHUP.  The one of
 * a user who has had nothing mapped for FILES_UNMAPPED seconds ends with status 0, and
 * no other does.
 */
void keep(uid_t owner, int store, int channel, bool verbose, pid_t parent)
	__attribute__((noreturn));

#endif

/* SPDX-License-Identifier: MIT */
/*
 * A process that gives tables to what one owner's processes have mapped.  Whoever serves
 * the file systems of these files need not answer, and there is no signal then that would
 * end it: nobody waits for it but with a limit.
 */
#ifndef ATTACH_KEEP_H
#define ATTACH_KEEP_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* What it is told, in a message each: of a mapping [start, end), up to the end of the name. */
struct keep_told {
	pid_t pid;		/* 0: to look at all processes again */
	unsigned long start, end;
	char name[4096];
};

enum keep_state {
	KEEP_BUSY,		/* with what is not anybody's, too */
	KEEP_ANYBODYS,		/* with what anybody may have made */
	KEEP_DONE,		/* with all that it was told */
};

/* What it tells, at least once in KEEP_SECONDS while it runs. */
struct keep_counts {
	enum keep_state state;
	size_t nr, without, pending, unopened;
	int error;		/* why the last of these could not be opened */
	unsigned long long bytes;
};

#define KEEP_SECONDS	10

/*
 * Until SIGTERM, or until the end of process @parent; looks again at SIGHUP.  That of a user
 * who has had nothing mapped for FILES_UNMAPPED seconds ends with status 0, and no other.
 */
void keep(uid_t owner, int store, int channel, bool verbose, pid_t parent)
	__attribute__((noreturn));

#endif

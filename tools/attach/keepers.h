/* SPDX-License-Identifier: MIT */
/* A process for each owner of processes: none waits for the files of another one. */
#ifndef ATTACH_KEEPERS_H
#define ATTACH_KEEPERS_H

#include <time.h>

#include "keep.h"

/* How many of one owner may hang: each keeps its tables, and what it was to look at. */
#define KEEPERS_HUNG	3

struct keeper {
	uid_t owner;
	pid_t pid;		/* 0: it has gone */
	int channel;
	bool missed;		/* it could not be told all */
	pid_t hung[KEEPERS_HUNG];	/* those that did not answer, and have not ended */
	unsigned int nr_hung;
	time_t heard;		/* when it was heard of, or has gone */
	struct keep_counts counts;
};

struct keepers {
	struct keeper *keeper;	/* root's is the first */
	size_t nr;
	int store;
	bool verbose;
};

/*
 * Tells the one of the process's owner, who has one from then on, of a mapping.  As
 * follow_take.
 */
void keepers_tell(void *keepers, pid_t pid, unsigned long start, unsigned long end,
		  const char *name);

/* Has all processes looked at; false if there was no room to look at some. */
bool keepers_look(struct keepers *keepers);

/*
 * What they have told.  Starts those that have gone again, in a while; one whose owner has
 * nothing mapped any more is forgotten.
 */
void keepers_hear(struct keepers *keepers);

/* Of all of them together. */
struct keep_counts keepers_sum(const struct keepers *keepers);

void keepers_signal(const struct keepers *keepers, int sig);

/* Has them end, and waits for those that do within some seconds. */
void keepers_end(struct keepers *keepers);

#endif

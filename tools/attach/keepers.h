/* SPDX-License-Identifier: MIT */
/* A process for each owner of processes: none waits for files of another owner. */
#ifndef ATTACH_KEEPERS_H
#define ATTACH_KEEPERS_H

#include <time.h>

#include "keep.h"

/* How many of one owner may hang: each keeps its tables, and what it was to look at. */
#define KEEPERS_HUNG	3

struct keeper {
	uid_t owner;
	pid_t pid;		/* 0: it is gone */
	int channel;
	bool missed;		/* not everything could be sent to it */
	pid_t hung[KEEPERS_HUNG];	/* those that did not answer, and have not ended */
	unsigned int nr_hung;
	time_t heard;		/* when it last reported, or went */
	struct keep_counts counts;
};

struct keepers {
	struct keeper *keeper;	/* root's is the first */
	size_t nr;
	int store;
	bool verbose;
};

/*
 * Tells the process for the owner of @pid, which is created if necessary, of a mapping.
 * As follow_take.
 */
void keepers_tell(void *keepers, pid_t pid, unsigned long start, unsigned long end,
		  const char *name);

/* Looks at all processes; false if there was no room to look at some. */
bool keepers_look(struct keepers *keepers);

/*
 * Takes their reports.  Restarts those that have gone, after a while; forgets those
 * whose owner has nothing mapped any more.
 */
void keepers_hear(struct keepers *keepers);

/* The sum of all of them. */
struct keep_counts keepers_sum(const struct keepers *keepers);

void keepers_signal(const struct keepers *keepers, int sig);

/* Tells them to end, and waits some seconds for those that do. */
void keepers_end(struct keepers *keepers);

#endif

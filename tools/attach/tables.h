/* SPDX-License-Identifier: MIT */
/* Files get tables, and lose them. */
#ifndef ATTACH_TABLES_H
#define ATTACH_TABLES_H

#include <signal.h>
#include <time.h>

#include "converter.h"
#include "files.h"

/*
 * Quarters of the room for tables, for files that anybody may have made.  They get none beyond
 * the first three, whosever tables these are.
 */
enum {
	TABLES_ANYBODYS = 3,
	TABLES_ONE_USERS = 1,	/* where there may be other users */
};

struct tables {
	struct files files;
	int store;
	struct converter converter;
	const volatile sig_atomic_t *ended;	/* gives up what takes long once it is set */
	unsigned int quarters;	/* of the room: TABLES_ANYBODYS, TABLES_ONE_USERS */
	bool all;		/* of all processes there are; not of files that were named */
	bool verbose;
	bool full;		/* some have no table for lack of room */
	bool unseen;		/* some processes could not be looked at */
	time_t looked, looked_unmapped;	/* when tables_drop_stale() did */
};

/*
 * Gives tables to what was added to @t->files, without waiting for who makes them.  Whether
 * some are still to come.
 */
bool tables_make(struct tables *t);

/* How many files have a table now, have none, and are to be converted. */
struct tables_sum {
	size_t nr, without, pending;
	bool only_anybodys;	/* what is to come is all what anybody may have made */
	unsigned long long bytes; /* of the tables */
};

struct tables_sum tables_sum(const struct tables *t);

/*
 * Where it is time, or with @asked: takes away what is of no use any more, and looks again
 * for what there is.
 */
void tables_drop_stale(struct tables *t, bool asked);

#endif

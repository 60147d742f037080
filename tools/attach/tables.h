/* SPDX-License-Identifier: MIT */
/* Attaches tables to files, and detaches them. */
#ifndef ATTACH_TABLES_H
#define ATTACH_TABLES_H

#include <signal.h>
#include <time.h>

#include "converter.h"
#include "files.h"

/*
 * Quarters of the space for tables, for files that anybody may have made.  They get
 * none beyond the first three, whoever's tables these are.
 */
enum {
	TABLES_ANYBODYS = 3,
	TABLES_ONE_USERS = 1,	/* if there may be other users */
};

struct tables {
	struct files files;
	int store;
	struct converter converter;
	const volatile sig_atomic_t *ended;	/* once set, gives up what takes long */
	unsigned int quarters;	/* of the space: TABLES_ANYBODYS, TABLES_ONE_USERS */
	bool all;		/* for all processes; not for files that were named */
	bool verbose;
	bool full;		/* some have no table for lack of space */
	bool unseen;		/* some processes could not be looked at */
	time_t looked, looked_unmapped;	/* by tables_drop_stale() */
};

/*
 * Attaches tables to what was added to @t->files, without waiting for the converter.
 * Returns whether some are still to come.
 */
bool tables_make(struct tables *t);

/* How many files have a table now, have none, or are yet to be converted. */
struct tables_sum {
	size_t nr, without, pending;
	bool only_anybodys;	/* all that is to come anybody may have made */
	unsigned long long bytes; /* size of the tables */
};

struct tables_sum tables_sum(const struct tables *t);

/*
 * When it is time, or with @asked: drops what is no longer useful, and looks again for
 * what there is.
 */
void tables_drop_stale(struct tables *t, bool asked);

#endif

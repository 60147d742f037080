/* SPDX-License-Identifier: MIT */
#ifndef SFRAME_WORK_H
#define SFRAME_WORK_H

#include <signal.h>

#include "report.h"
#include "store.h"

/* Of a text in shared memory, which is cut to fit. */
#define WRONG_SIZE	96

/* One of them: another one may have more memory. */
extern const char work_killed[];

/*
 * What is to be done with files.  Either @store or @output.
 */
struct work {
	char **paths;
	size_t nr;
	int store;		/* descriptor of the store */
	const char *output;	/* of the one file */
	bool force;		/* convert what is in the store, too */
	bool by_content;	/* do not believe a build-id */
	bool tree;		/* most files are none that could be converted */
	bool quiet;		/* say nothing */
	char (*wrong)[WRONG_SIZE]; /* shared memory: what is wrong with each, or "" */
	unsigned long jobs;	/* processes */
};

/*
 * Converts them, and says on standard error what went wrong and, if that is a
 * terminal, how far it is.  A process that is killed counts as a file that failed.
 */
struct totals work_run(const struct work *work);

/*
 * The key by which the table of a file is kept, and whether it is believed; what is wrong,
 * or NULL.  That of a file which is not believed is given up once a signal handler sets
 * *@stop.
 */
const char *work_key(const char *path, struct store_key *key, bool *believed,
		     const volatile sig_atomic_t *stop);

#endif

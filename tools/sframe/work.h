/* SPDX-License-Identifier: MIT */
#ifndef SFRAME_WORK_H
#define SFRAME_WORK_H

#include <signal.h>

#include "report.h"
#include "store.h"

/* What is wrong with a file: the text is cut to fit, and empty if nothing is. */
#define WRONG_SIZE	96
struct wrong {
	bool lasting;		/* until the file is changed */
	char text[WRONG_SIZE];
};

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
	struct wrong *wrong;	/* of each, in shared memory */
	unsigned long jobs;	/* processes */
};

/*
 * Converts them, and says on standard error what went wrong and, if that is a
 * terminal, how far it is.  A process that is killed counts as a file that failed.
 */
struct totals work_run(const struct work *work);

/* What is known of a file that is not converted. */
struct known {
	struct store_key key;	/* by which its table is kept */
	bool believed;
	bool lasting;		/* what is wrong stays so until it is changed */
	uint32_t nr_segments;	/* if the key is its build-id; else 0 */
	struct segment segments[MAX_SEGMENTS];
};

/*
 * What is wrong, or NULL.  That of a file which has to be read as a whole is given up once
 * a signal handler sets *@stop.
 */
const char *work_know(const char *path, struct known *known,
		      const volatile sig_atomic_t *stop);

#endif

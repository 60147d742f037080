/* SPDX-License-Identifier: MIT */
#ifndef SFRAME_WORK_H
#define SFRAME_WORK_H

#include <signal.h>

#include "report.h"
#include "store.h"

/* What is wrong with a file: the text is cut to fit, and empty if it is fine. */
#define WRONG_SIZE	96
struct wrong {
	bool lasting;		/* until the file is changed */
	char text[WRONG_SIZE];
};

/*
 * What to do with files.  Either @store or @output.
 */
struct work {
	char **paths;
	size_t nr;
	int store;		/* descriptor of the store */
	const char *output;	/* for the only file */
	bool force;		/* also convert what is in the store */
	bool by_content;	/* do not trust a build-id */
	bool tree;		/* most files cannot be converted anyway */
	bool quiet;		/* print nothing */
	struct wrong *wrong;	/* for each file, in shared memory */
	unsigned long jobs;	/* processes */
};

/*
 * Converts them, and reports on standard error what went wrong and, if that is a
 * terminal, the progress.  A killed process counts as a file that failed.
 */
struct totals work_run(const struct work *work);

/* What is known of a file that is not converted. */
struct known {
	struct store_key key;	/* the key of its table */
	bool believed;
	bool lasting;		/* what is wrong stays so until it is changed */
	uint32_t nr_segments;	/* if the key is its build-id; else 0 */
	struct segment segments[MAX_SEGMENTS];
};

/*
 * Returns what is wrong, or NULL.  For a file that has to be read as a whole it gives
 * up once a signal handler sets *@stop.
 */
const char *work_know(const char *path, struct known *known,
		      const volatile sig_atomic_t *stop);

#endif

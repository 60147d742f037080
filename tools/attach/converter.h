/* SPDX-License-Identifier: MIT */
/* A separate process that makes the tables missing from the store. */
#ifndef ATTACH_CONVERTER_H
#define ATTACH_CONVERTER_H

#include "../sframe/work.h"
#include "files.h"

/*
 * Files given to one converter, so that new mappings need not wait for all; fewer of
 * those that anybody may have made, as the store is pruned after all of them.
 */
#define CONVERTER_FILES		64
#define CONVERTER_ANYBODYS	8

struct converter {
	pid_t pid;		/* 0 if there is none */
	size_t nr;		/* number of files that it was given */
	struct wrong *wrong;	/* one for each; shared with it */
};

/*
 * Starts one for some of the pending files, first those that not anybody may have made,
 * and notes each file's number there.  It puts the tables into the store, which it
 * prunes before and from time to time; and it ends with this process.  False if there
 * was no memory or process for it: try again.
 */
bool converter_start(struct converter *converter, struct files *files, int store);

/* Has it done everything?  Until converter_free(), what was wrong can be asked for. */
bool converter_has_ended(struct converter *converter);

/*
 * The problem of a file that it was given and that has no table, as a string of its
 * own, and whether it is permanent; NULL if it did not get that far.
 */
char *converter_wrong(const struct converter *converter, const struct file *file,
		      bool *lasting);

void converter_free(struct converter *converter);

#endif

/* SPDX-License-Identifier: MIT */
/* A process beside this one that makes the tables which are not in the store. */
#ifndef ATTACH_CONVERTER_H
#define ATTACH_CONVERTER_H

#include "../sframe/work.h"
#include "files.h"

/*
 * Files that one is given, so that what is mapped meanwhile need not wait for all; of what
 * anybody may have made fewer, as the store is pruned after all of them.
 */
#define CONVERTER_FILES		64
#define CONVERTER_ANYBODYS	8

struct converter {
	pid_t pid;		/* 0: there is none */
	size_t nr;		/* files that it was given */
	struct wrong *wrong;	/* of each; shared with it */
};

/*
 * Starts one for some of the files that are pending, those that not anybody may have made
 * first, and tells each which one it is.  It leaves the tables in the store, of which it
 * removes what is too much before and then; and ends with this process.  False if there
 * was no memory or process for it, which may be tried again.
 */
bool converter_start(struct converter *converter, struct files *files, int store);

/* Whether it has done all; until converter_free(), what was wrong can be asked for. */
bool converter_has_ended(struct converter *converter);

/*
 * Of a file that it was given and that has no table, as a string of its own, and whether
 * that lasts; NULL if it did not get that far.
 */
char *converter_wrong(const struct converter *converter, const struct file *file,
		      bool *lasting);

void converter_free(struct converter *converter);

#endif

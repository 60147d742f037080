/* SPDX-License-Identifier: MIT */
/*
 * The files that codectl record writes.
 */
#ifndef RECORD_OUTPUTS_H
#define RECORD_OUTPUTS_H

#include <stdio.h>

#include "record_options.h"
#include "report/select.h"

/* NULL: not wanted. */
struct outputs {
	FILE *folded, *svg, *recording;
	int unlisted;		/* errno: stacks could not be printed; 0: they were */
};

/*
 * Find out before recording whether a file cannot be written, and replace an existing
 * one only if something can be written.
 */
struct outputs outputs_open(const struct record_options *options);

/*
 * Prints the stacks, unless they are saved, and returns how many different ones there are.
 * Whoever reads them may go before the end: files are still written then.
 */
size_t outputs_list(struct outputs *outputs, const struct selection *selection);

/*
 * What a recording lacks, unless @count is 0: printed on standard error, and stored in
 * it.
 */
void outputs_note(struct profile *profile, unsigned long count, const char *what);

/* Writes and closes them; ends the program if stacks could not be printed. */
void outputs_write(const struct outputs *outputs, const struct selection *selection,
		   const struct record_options *options);

#endif

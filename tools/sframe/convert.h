/* SPDX-License-Identifier: MIT */
#ifndef CONVERT_H
#define CONVERT_H

#include "../sandbox.h"
#include "rows.h"
#include "table.h"

/* Bytes of a table: 64 MiB.  That of libLLVM has 6; all that are attached have 256. */
extern size_t convert_max_table;

/* A file whose CFI a confined process reads. */
struct conversion {
	struct sandbox sandbox;
	struct object object;
	struct table table;
	bool lasting;		/* what is wrong is the file, and not where it was read */
};

/* Seconds of CPU for all of it, and for what convert_start() alone reads. */
#define CONVERT_SECONDS	60
#define START_SECONDS	3

/*
 * Starts to read the ELF file in the @size bytes at @image, which is private and may be
 * written to by the process: sets type, build-id and segments of @conversion->object.  The
 * process has @seconds, as of sandbox_start().  What is wrong, to be shown, or NULL; then
 * convert_finish() or convert_cancel() has to follow.
 */
const char *convert_start(struct conversion *conversion, void *image, size_t size,
			  unsigned int seconds);

/* Reads the rest, checks all of it, and writes the table; what is wrong, or NULL. */
const char *convert_finish(struct conversion *conversion);

void convert_cancel(struct conversion *conversion);

/* Whether what was wrong is that there is nothing to be converted. */
bool convert_is_passed_over(const struct conversion *conversion);

/* Of enum object_error, and of enum cause. */
const char *convert_error(unsigned int error);
const char *convert_cause(unsigned int cause);

#endif

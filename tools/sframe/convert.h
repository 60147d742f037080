/* SPDX-License-Identifier: MIT */
#ifndef CONVERT_H
#define CONVERT_H

#include "../sandbox.h"
#include "rows.h"
#include "table.h"

/* Limit for the size of a table: 64 MiB.  libLLVM's takes 6; all attached ones have 256. */
extern size_t convert_max_table;

/* A file whose CFI is read by a confined process. */
struct conversion {
	struct sandbox sandbox;
	struct object object;
	struct table table;
	bool lasting;		/* the problem is the file, not how it was read */
};

/* Seconds of CPU for everything, including what convert_start() alone reads. */
#define CONVERT_SECONDS	60
#define START_SECONDS	3

/*
 * Starts to read the ELF file in the @size bytes at @image, which is private and may be
 * written to by the process: sets type, build-id and segments of @conversion->object.
 * The process has @seconds, as in sandbox_start().  Returns what is wrong, for display,
 * or NULL; then call convert_finish() or convert_cancel().
 */
const char *convert_start(struct conversion *conversion, void *image, size_t size,
			  unsigned int seconds);

/*
 * Reads the rest, checks everything, and writes the table; returns what is wrong, or
 * NULL.
 */
const char *convert_finish(struct conversion *conversion);

void convert_cancel(struct conversion *conversion);

/* Was it refused because there is nothing to convert? */
bool convert_is_passed_over(const struct conversion *conversion);

/* Of enum object_error, and of enum cause. */
const char *convert_error(unsigned int error);
const char *convert_cause(unsigned int cause);

#endif

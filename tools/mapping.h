/* SPDX-License-Identifier: MIT */
#ifndef MAPPING_H
#define MAPPING_H

#include "span.h"

/* A mapping with a file, or with a name from the kernel. */
struct mapping {
	uint64_t start, end, offset;
	uint64_t major, minor, inode;	/* of its file, or 0 */
	struct span path;	/* empty without one */
};

/*
 * A line of /proc/PID/maps, with or without its newline.  The span points into the
 * line.  False if the @len bytes at @text are not such a line.
 */
bool mapping_parse(struct mapping *mapping, const char *text, size_t len);

#endif

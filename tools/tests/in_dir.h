/* SPDX-License-Identifier: MIT */
/*
 * Files in a directory of the test.
 */
#ifndef IN_DIR_H
#define IN_DIR_H

#include "check.h"
#include "tool.h"

static char dir[] = "/tmp/symbol-XXXXXX";

static inline char *in_dir(const char *name)
{
	return format("%s/%s", dir, name);
}

static inline void write_file(const char *path, const void *data, size_t len)
{
	FILE *file = fopen(path, "w");

	CHECK(file && fwrite(data, 1, len, file) == len && !fclose(file));
}

static inline void write_text(const char *path, const char *text)
{
	write_file(path, text, strlen(text));
}

#endif

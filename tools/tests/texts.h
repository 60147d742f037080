/* SPDX-License-Identifier: MIT */
/*
 * The text forms of frames and stacks, for the tests of both.
 */
#ifndef TEXTS_H
#define TEXTS_H

#include <stdio.h>

#include "profiles.h"

static inline char *folded(const struct selection *selection)
{
	return written_tree(selection, TREE_FUNCTIONS, false, folded_write);
}

static inline void write_text(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	CHECK(file && fputs(text, file) >= 0 && !fclose(file));
}

#endif

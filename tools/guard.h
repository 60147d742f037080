/* SPDX-License-Identifier: MIT */
#ifndef GUARD_H
#define GUARD_H

#include <stdbool.h>

/* A file to reset to @before, if it still contains @ours. */
struct guard_setting {
	const char *path, *ours, *before;
};

/* What to append to a file, which may fail. */
struct guard_line {
	const char *path, *text;
};

/*
 * Starts a process that resets @set, removes the directories @paths, instances of
 * tracefs, and writes @last, as soon as this one has ended, in whatever way, or calls
 * guard_end().  @set and @last may be NULL.  A NULL ends the paths.
 */
void guard_start(const char *const *paths, const struct guard_setting *set,
		 const struct guard_line *last);

/* False if one of them could not be removed. */
bool guard_end(void);

#endif

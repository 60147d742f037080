/* SPDX-License-Identifier: MIT */
#ifndef GUARD_H
#define GUARD_H

#include <stdbool.h>

/* A file to reset to @before, if it still contains @ours. */
struct guard_setting {
	const char *path, *ours, *before;
};

/*
 * Starts a process that removes the directories @paths, instances of tracefs, as soon
 * as this one has ended, in whatever way, or calls guard_end(), and then resets @set,
 * unless that is NULL.  A NULL ends the paths.
 */
void guard_start(const char *const *paths, const struct guard_setting *set);

/* False if one of them could not be removed. */
bool guard_end(void);

#endif

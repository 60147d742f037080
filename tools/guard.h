/* SPDX-License-Identifier: MIT */
#ifndef GUARD_H
#define GUARD_H

#include <stdbool.h>

/*
 * Starts a process that removes the directories @paths, instances of tracefs, as soon
 * as this one has ended, however it ends, or calls guard_end().  A NULL ends them.
 */
void guard_start(const char *const *paths);

/* False if one of them could not be removed. */
bool guard_end(void);

#endif

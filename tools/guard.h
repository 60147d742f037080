/* SPDX-License-Identifier: MIT */
#ifndef GUARD_H
#define GUARD_H

#include <stdbool.h>

/*
 * Starts a process that removes directory @path, an instance of tracefs, as soon
 * as this one has ended, however it ends, or calls guard_end().
 */
void guard_start(const char *path);

/* False if the directory could not be removed. */
bool guard_end(void);

#endif

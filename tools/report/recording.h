/* SPDX-License-Identifier: MIT */
/*
 * Recordings as files: codectl_recording(5).
 */
#ifndef RECORDING_H
#define RECORDING_H

#include <stdbool.h>
#include <stdio.h>

struct profile;

/* Writes the first recording, not the base; returns 0 or an errno. */
int recording_write(struct profile *profile, FILE *to);

/*
 * Adds a recording, or the base of one.  NULL if all is well; otherwise what is wrong,
 * in *@line.  Then @profile can only be freed.
 */
const char *recording_read(struct profile *profile, FILE *from, bool base,
			   unsigned long *line);

#endif

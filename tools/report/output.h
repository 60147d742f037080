/* SPDX-License-Identifier: MIT */
#ifndef OUTPUT_H
#define OUTPUT_H

#include <stdio.h>

/*
 * Files to write.  Failures are reported, and end the program.  A path of "-" is
 * standard output; NULL is no file, and stays none.
 */
FILE *output_open(const char *path);

/* For its user alone. */
FILE *output_open_private(const char *path);

/* Removes a file that could not be written; errno must say why, as left by writing. */
void output_close(FILE *file, const char *path);

/* Removes it; devices and pipes stay. */
void output_drop(FILE *file, const char *path);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * A terminal that one program has for itself, until it ends in whatever way but SIGKILL.
 */
#ifndef SCREEN_H
#define SCREEN_H

#include <stdbool.h>
#include <stddef.h>

/* Takes it; false if standard input and output are no terminal. */
bool screen_begin(void);

/* Gives it back as it was; at exit it is called, too. */
void screen_end(void);

/* As much of the lines of @text, which is clean, as there is room for. */
void screen_show(const char *text);

/* A key that was pressed since, or 0. */
char screen_key(void);

/* @text cut off for a line of @columns, as bytes; a character takes one column. */
size_t screen_fits(const char *text, size_t len, size_t columns);

#endif

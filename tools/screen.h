/* SPDX-License-Identifier: MIT */
/*
 * A terminal that one program has to itself, until it ends in any way but SIGKILL.
 */
#ifndef SCREEN_H
#define SCREEN_H

#include <stdbool.h>
#include <stddef.h>

/* Takes the terminal; false if standard input and output are not one. */
bool screen_begin(void);

/* Restores it; also called at exit. */
void screen_end(void);

/* As much of the lines of @text, which is clean, as there is room for. */
void screen_show(const char *text);

/* A key that was pressed since, or 0. */
char screen_key(void);

/* @text cut for a line of @columns, in bytes; a character takes one column. */
size_t screen_fits(const char *text, size_t len, size_t columns);

#endif

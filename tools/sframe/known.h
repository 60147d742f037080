/* SPDX-License-Identifier: MIT */
/*
 * Functions known for what they do, and whose CFI says something else: Go's treats all
 * of them as functions that return.
 */
#ifndef SFRAME_KNOWN_H
#define SFRAME_KNOWN_H

#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rows.h"

#define MAX_TOPMOST	16

/* Functions of the Go runtime that nothing has called. */
struct topmost {
	uint64_t start[MAX_TOPMOST];
	size_t nr;
};

/* By the symbols of the file, if it has any. */
void known_find_topmost(Elf *elf, struct topmost *topmost);

bool known_is_topmost(const struct topmost *topmost, uint64_t start);

#define KNOWN_RESTORER_SIZE	9

/* Are the KNOWN_RESTORER_SIZE bytes where signal handlers return to? */
bool known_is_restorer(const uint8_t *code);

/* The rule there: struct rt_sigframe of the kernel, after the return address. */
extern const struct row known_restorer;

#endif

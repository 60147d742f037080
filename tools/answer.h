/* SPDX-License-Identifier: MIT */
/*
 * What the process that reads a file reports for each address it was asked for.
 */
#ifndef ANSWER_H
#define ANSWER_H

#include <stdio.h>

#include "span.h"
#include "symbol.h"

/* Functions that are inlined into another one, and bytes of a name. */
#define ANSWER_MAX_INLINED	64
#define ANSWER_MAX_TEXT		4096

/* Of the file, before all addresses; one that is longer than BUILD_ID_MAX is left out. */
void answer_write_build_id(const void *bits, size_t len, FILE *to);
bool answer_take_build_id(struct span *rest, uint8_t build_id[BUILD_ID_MAX], uint32_t *len);

/*
 * Texts that are too long are cut; of too many inlined functions the outermost are
 * dropped.
 */
void answer_write(const struct symbol *symbol, FILE *to);

/* Takes one from @rest; false if it is not one, whatever it is. */
bool answer_take(struct span *rest, struct symbol *symbol);

#endif

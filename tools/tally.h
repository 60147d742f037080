/* SPDX-License-Identifier: MIT */
#ifndef TALLY_H
#define TALLY_H

#include <stddef.h>

/* Counts texts. */
struct tally;

struct tally_line {
	char *text;
	unsigned long count;
	size_t order;		/* in which they came */
};

struct tally *tally_new(void);
void tally_free(struct tally *tally);

void tally_add(struct tally *tally, const char *text, unsigned long count);

/* The most frequent first, @nr of them, to be freed; the lines stay the tally's. */
struct tally_line **tally_sorted(const struct tally *tally, size_t *nr);

#endif

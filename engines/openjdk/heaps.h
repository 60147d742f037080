/* SPDX-License-Identifier: MIT */
#ifndef HEAPS_H
#define HEAPS_H

/*
 * A region for each heap of the code cache.  One thread at a time.
 */

#include <stdbool.h>
#include <stdint.h>

#include <codectl.h>

/* Granule size of the heap with the stubs, in bytes. */
#define GRANULE		16

/* Return: 0 or a negative error number; -EAGAIN: there are no heaps yet. */
int heaps_open(void);
bool heaps_opened(void);

/* As codectl_region_add(), but first removes what is published there. */
int heaps_add(uint64_t start, uint64_t len, const struct code_jit_unwind_fre *fre,
	      unsigned int nr, const char *name);

/* Removes everything that overlaps the range. */
void heaps_retire(uint64_t start, uint64_t len);

#endif /* HEAPS_H */

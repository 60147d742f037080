/* SPDX-License-Identifier: MIT */
#ifndef HEAPS_H
#define HEAPS_H

/*
 * A region for each heap of the code cache.  One thread at a time.
 */

#include <stdbool.h>
#include <stdint.h>

#include <codectl.h>

/* Where stubs are, no two functions share so many bytes. */
#define GRANULE		16

/* 0, or a negative error number; -EAGAIN: there are no heaps yet. */
int heaps_open(void);
bool heaps_opened(void);

/* As codectl_region_add(), but removes what was published there before. */
int heaps_add(uint64_t start, uint64_t len, const struct code_jit_unwind_fre *fre,
	      unsigned int nr, const char *name);

/* Removes what was published at least partly in the range. */
void heaps_retire(uint64_t start, uint64_t len);

#endif /* HEAPS_H */

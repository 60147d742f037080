/* SPDX-License-Identifier: MIT */
#ifndef STUBS_H
#define STUBS_H

/*
 * The parts of the code cache that are no methods: the interpreter, adapters, stubs.
 * One thread at a time.
 */

#include <stdint.h>

/* The VM has made a stub; 0 or a negative error number. */
int stubs_add(uint64_t start, uint64_t len, const char *name);

#endif /* STUBS_H */

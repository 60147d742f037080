/* SPDX-License-Identifier: MIT */
#ifndef STUBS_H
#define STUBS_H

/*
 * The parts of the code cache other than methods: the interpreter, adapters, stubs.
 * One thread at a time.
 */

#include <stdint.h>

/* Adds a stub that the VM has made.  Return: 0 or a negative error number. */
int stubs_add(uint64_t start, uint64_t len, const char *name);

#endif /* STUBS_H */

/* SPDX-License-Identifier: MIT */
#ifndef LOCK_NAME_H
#define LOCK_NAME_H

#include <stdint.h>
#include <sys/types.h>

struct symbols;

/*
 * What is at an address in the data of @pid: the variable, as VARIABLE or VARIABLE+0x8,
 * or the address and its mapping.  A string of its own, clean.
 */
char *lock_name(struct symbols *symbols, pid_t pid, uint64_t address);

#endif

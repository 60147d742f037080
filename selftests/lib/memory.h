/* SPDX-License-Identifier: GPL-2.0 */
/* Does the kernel free the memory that a test makes it allocate? */
#ifndef CODECTL_MEMORY_H
#define CODECTL_MEMORY_H

#include "codectl_test.h"

/**
 * struct memory - what is in use
 * @slab: in slabs that the kernel cannot give back by itself, in kB
 * @regions: registrations, with those of which a part is still to be freed
 */
struct memory {
	long slab;
	long regions;
};

/* False if it cannot be known. */
bool memory_now(struct memory *m);
/*
 * Is no more in use than @before, except what caches keep?  Memory is freed with a
 * delay; where KASAN keeps it for good, kmemleak looks for leaks, and this says nothing.
 */
bool memory_is_back(const struct memory *before);

/* A memory cgroup of that name, new or left over; this process goes in. */
bool memory_group_enter(const char *name);
/* Leaves it, with nobody left in it. */
void memory_group_leave(const char *name);
/*
 * Bytes by the line of its memory.stat that starts so, or all of them with NULL; -1 if
 * that cannot be known.
 */
long memory_group_bytes(const char *name, const char *line);

#endif /* CODECTL_MEMORY_H */

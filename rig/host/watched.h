/* SPDX-License-Identifier: GPL-2.0 */
/* The accesses of a reader, as seen by a watcher. */
#ifndef WATCHED_H
#define WATCHED_H

#include <kunit/test.h>
#include <linux/types.h>

/* Loads by their address, barriers by 0. */
static unsigned long seen[256];
static unsigned int nr_seen;

static inline void note(unsigned long addr)
{
	if (nr_seen < ARRAY_SIZE(seen))
		seen[nr_seen++] = addr;
}

/* The index of the first load in the range, from @from on. */
static inline unsigned int first(unsigned int from, const void *start, size_t len)
{
	while (from < nr_seen && seen[from] - (unsigned long)start >= len)
		from++;

	return from;
}

static inline bool barrier_between(unsigned int from, unsigned int to)
{
	for (; from < to; from++)
		if (!seen[from])
			return true;

	return false;
}

#define FIRST(from, field)	first(from, &(field), sizeof(field))

#endif /* WATCHED_H */

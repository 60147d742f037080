/* SPDX-License-Identifier: MIT */
/*
 * A region, what is added to it, and which of the noted accesses are to its tables.
 */
#ifndef TABLE_ACCESSES_H
#define TABLE_ACCESSES_H

#include "accesses.h"
#include "../src/internal.h"

#define LEN	(16 * PAGE)

static struct codectl_region *region;
static uint64_t text;

static inline bool is_in_tables(const struct event *e)
{
	uint64_t start = (uintptr_t)region->tables;

	return e->at - start < region->max_tables * region->table_size;
}

static inline bool is_link(const struct event *e)
{
	uint64_t off = e->at - (uintptr_t)region->tables;

	off %= region->table_size;

	return is_in_tables(e) &&
	       (off == offsetof(struct code_jit_unwind_table, used_len) ||
		off == offsetof(struct code_jit_unwind_table, next));
}

static inline void open_region(uint32_t flags, uint32_t jit_flags, uint64_t per_table)
{
	struct codectl_region_attr attr = {
		.flags = flags, .jit_flags = jit_flags, .max_rows = 64,
		.table_rows = per_table,
	};

	region = test_open(LEN, &attr, &text);
}

static inline void add(uint32_t off, const char *name)
{
	nr_events = 0;
	CHECK_EQ(test_add(region, text + off, 16, 1, name), 0);
}

#endif /* TABLE_ACCESSES_H */

// SPDX-License-Identifier: MIT
/*
 * Memory for names: blocks of 32 to 1024 bytes, as long as a power of two each.
 *
 * A block that is needed is taken from those of its length that are free, else it
 * is cut off a longer one; what is free is not joined again but by compacting.
 * Each change is one store, so that a child that another thread's fork() makes in
 * the middle of one has lost a block at most.
 */
#include "internal.h"

#define LARGEST		(CODECTL_NAME_ORDERS - 1)

_Static_assert(CODECTL_NAME_UNIT << LARGEST == CODECTL_NAME_RECORD,
	       "the largest block takes the longest record");

static uint32_t *link_of(const struct codectl_region *region, uint32_t unit)
{
	return &codectl_name_record(region, unit)->next;
}

static void push(struct codectl_region *region, unsigned int order,
		 uint32_t unit)
{
	/* Who replays may still have it for a name. */
	__atomic_store_n(link_of(region, unit), region->names_free[order],
			 __ATOMIC_RELAXED);
	region->names_free[order] = unit;
	region->names_spare += 1U << order;
}

/* A free block, or 0. */
static uint32_t pop(struct codectl_region *region, unsigned int order)
{
	uint32_t unit = region->names_free[order];

	if (!unit)
		return 0;
	region->names_spare -= 1U << order;
	region->names_free[order] = *link_of(region, unit);

	return unit;
}

/* A block of the largest size, or 0. */
static uint32_t take_new(struct codectl_region *region)
{
	uint64_t units = 1U << LARGEST, used = region->names_used;

	if (units > region->names_max - used)
		return 0;
	region->names_used = used + units;

	/* 0 is no block. */
	return used + 1;
}

static unsigned int order_of(size_t bytes)
{
	unsigned int order = 0;

	while (CODECTL_NAME_UNIT << order < bytes)
		order++;

	return order;
}

uint32_t codectl_name_alloc(struct codectl_region *region, size_t bytes)
{
	unsigned int order = order_of(bytes), from = order;
	uint32_t unit;

	while (from < LARGEST && !region->names_free[from])
		from++;
	unit = pop(region, from);
	if (!unit)
		unit = take_new(region);
	if (!unit)
		return 0;

	while (from > order) {
		from--;
		push(region, from, unit + (1U << from));
	}

	return unit;
}

void codectl_name_free(struct codectl_region *region, uint32_t unit,
		       size_t bytes)
{
	push(region, order_of(bytes), unit);
}

void codectl_name_space_reset(struct codectl_region *region)
{
	unsigned int order;

	region->names_used = 0;
	region->names_spare = 0;
	for (order = 0; order < CODECTL_NAME_ORDERS; order++)
		region->names_free[order] = 0;
}

// SPDX-License-Identifier: MIT
/*
 * Memory for names: blocks of 32 to 1024 bytes, each as long as a power of two.
 *
 * A block is taken from the free ones of its length, or else split off a longer one.
 * If there is none, free blocks that belong together are joined.  Free blocks are
 * recorded in a map, too, ahead of the lists, so that a child that another thread's
 * fork() makes in the middle of a change has lost at most one block, until blocks are
 * joined.
 */
#include <string.h>

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
	region->name_map[unit - 1] = order + 1;
	/* A replay may still take it for a name. */
	__atomic_store_n(link_of(region, unit), region->names_free[order],
			 __ATOMIC_RELAXED);
	region->names_free[order] = unit;
}

/* A free block, or 0. */
static uint32_t pop(struct codectl_region *region, unsigned int order)
{
	uint32_t unit = region->names_free[order];

	if (!unit)
		return 0;
	region->names_free[order] = *link_of(region, unit);
	region->name_map[unit - 1] = 0;

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

/* Joins two that were one, if both are free. */
static void join_order(struct codectl_region *region, unsigned int order)
{
	uint8_t *map = region->name_map;
	uint64_t at, half = 1U << order;

	for (at = 0; at < region->names_used; at += 2 * half) {
		if (map[at] != order + 1 || map[at + half] != order + 1)
			continue;
		map[at + half] = 0;
		map[at] = order + 2;
	}
}

static void join_all(struct codectl_region *region)
{
	unsigned int order;
	uint64_t at;

	for (order = 0; order < LARGEST; order++)
		join_order(region, order);
	for (order = 0; order <= LARGEST; order++)
		region->names_free[order] = 0;
	for (at = 0; at < region->names_used; at++)
		if (region->name_map[at])
			push(region, region->name_map[at] - 1, at + 1);
	region->names_freed = 0;
}

/* Of length @order, or 0. */
static uint32_t take(struct codectl_region *region, unsigned int order)
{
	unsigned int from = order;
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

uint32_t codectl_name_alloc(struct codectl_region *region, size_t bytes)
{
	unsigned int order = order_of(bytes);
	uint32_t unit = take(region, order);

	/* This looks at all blocks: not before enough are free to make up for it. */
	if (unit || region->names_freed <= region->names_max / 16)
		return unit;
	join_all(region);

	return take(region, order);
}

void codectl_name_free(struct codectl_region *region, uint32_t unit,
		       size_t bytes)
{
	unsigned int order = order_of(bytes);

	push(region, order, unit);
	region->names_freed += 1U << order;
}

void codectl_name_space_reset(struct codectl_region *region)
{
	unsigned int order;

	memset(region->name_map, 0, region->names_used);
	region->names_used = 0;
	region->names_freed = 0;
	for (order = 0; order < CODECTL_NAME_ORDERS; order++)
		region->names_free[order] = 0;
}

/* SPDX-License-Identifier: GPL-2.0 */
/* Granule maps for rows of compiled code, and regions with them. */
#ifndef CODECTL_GRANULE_MAP_H
#define CODECTL_GRANULE_MAP_H

#include "jit_table.h"

typedef struct code_jit_record jit_record;

/**
 * struct granule_map - a map, and how much of its pool is in use
 * @slots: one for each granule
 * @pool: its used part comes first
 * @used: bytes of the pool in use
 * @room: bytes of the pool
 * @shift: binary logarithm of the granule size
 */
struct granule_map {
	uint32_t *slots;
	uint8_t *pool;
	size_t used;
	size_t room;
	unsigned int shift;
};

/* An empty map of @text bytes in @len bytes at @mem, which are 0. */
struct granule_map granule_map_init(void *mem, size_t len, size_t text,
				    unsigned int shift);
/* A function that cannot be found yet; NULL if the pool is full. */
jit_record *granule_map_record(struct granule_map *map, uint32_t start,
			       uint32_t len, const jit_row *row, unsigned int nr);
/* With release; @record NULL: the function of that record retires. */
void granule_map_store(struct granule_map *map, uint32_t start, uint32_t len,
		       const jit_record *record);
/* Both. */
jit_record *granule_map_add(struct granule_map *map, uint32_t start, uint32_t len,
			    const jit_row *row, unsigned int nr);

/* The stub's function, in a map in place of its table. */
struct granule_map stub_granules(const struct stub *stub, unsigned int shift);
/* The stub's page of text as a region with that map. */
struct code_jit_info stub_granule_info(const struct stub *stub,
				       const struct granule_map *map);

#endif /* CODECTL_GRANULE_MAP_H */

// SPDX-License-Identifier: GPL-2.0
#include "granule_map.h"

static size_t nr_slots(size_t text, unsigned int shift)
{
	return (text + (1UL << shift) - 1) >> shift;
}

struct granule_map granule_map_init(void *mem, size_t len, size_t text,
				    unsigned int shift)
{
	size_t slots = (nr_slots(text, shift) * sizeof(uint32_t) + 7) & ~7UL;

	return (struct granule_map) {
		.slots = mem,
		.pool = (uint8_t *)mem + slots,
		.used = CODE_JIT_RECORD_ALIGN,
		.room = len - slots,
		.shift = shift,
	};
}

jit_record *granule_map_record(struct granule_map *map, uint32_t start,
			       uint32_t len, const jit_row *row, unsigned int nr)
{
	size_t size = sizeof(jit_record) + nr * sizeof(*row);
	jit_record *record = (void *)(map->pool + map->used);

	if (size > map->room - map->used)
		return NULL;
	map->used += size;
	record->start = start;
	record->len = len;
	record->nr = nr;
	memcpy(record->fre, row, nr * sizeof(*row));
	return record;
}

void granule_map_store(struct granule_map *map, uint32_t start, uint32_t len,
		       const jit_record *record)
{
	uint32_t slot = record ? ((uint8_t *)record - map->pool) /
				 CODE_JIT_RECORD_ALIGN : 0;

	/* Pairs with the kernel's acquire: whoever sees the slot sees the record. */
	for (size_t i = start >> map->shift;
	     i < nr_slots((size_t)start + len, map->shift); i++)
		__atomic_store_n(&map->slots[i], slot, __ATOMIC_RELEASE);
}

jit_record *granule_map_add(struct granule_map *map, uint32_t start, uint32_t len,
			    const jit_row *row, unsigned int nr)
{
	jit_record *record = granule_map_record(map, start, len, row, nr);

	if (record)
		granule_map_store(map, start, len, record);
	return record;
}

struct granule_map stub_granules(const struct stub *stub, unsigned int shift)
{
	struct granule_map map;
	jit_row row[STUB_ROWS];

	memset(stub->table, 0, stub->table_room);
	map = granule_map_init(stub->table, stub->table_room, PAGE, shift);
	stub_jit_rows(row, 0);
	granule_map_add(&map, 0, STUB_SIZE, row, STUB_ROWS);
	return map;
}

struct code_jit_info stub_granule_info(const struct stub *stub,
				       const struct granule_map *map)
{
	return (struct code_jit_info) {
		.text_start = addr_of(stub->text),
		.text_end = addr_of(stub->text) + PAGE,
		.jit_flags = CODE_JIT_GRANULES,
		.slots = addr_of(map->slots),
		.pool = addr_of(map->pool),
		.pool_len = map->room,
		.granule_shift = map->shift,
	};
}

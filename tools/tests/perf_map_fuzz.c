// SPDX-License-Identifier: MIT
/*
 * libFuzzer target for perf maps: at both ends of each name, a lookup finds the same as a linear
 * search, the last name that covers the address.
 */
#include "fuzz.h"
#include "perf_map.h"

static void check_address(const struct perf_map *map, uint64_t address)
{
	const struct perf_name *found = perf_map_find(map, address), *want = NULL;

	for (size_t i = 0; i < map->nr; i++) {
		const struct perf_name *name = &map->names[i];

		if (name->start <= address && address < name->end &&
		    (!want || name->line > want->line))
			want = name;
	}
	require(found == want);
}

static void check_name(const struct perf_name *name, const char *text,
		       size_t size)
{
	require(name->start < name->end);
	require(name->name.len && name->name.len <= PERF_MAP_MAX_NAME);
	require(name->name.at >= text &&
		name->name.at + name->name.len <= text + size);
	require(!memchr(name->name.at, '\n', name->name.len));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = exact_copy(data, size);
	struct perf_map map;

	require(perf_map_parse(&map, text, size));
	for (size_t i = 0; i < map.nr; i++) {
		check_name(&map.names[i], text, size);
		check_address(&map, map.names[i].start - 1);
		check_address(&map, map.names[i].start);
		check_address(&map, map.names[i].end - 1);
		check_address(&map, map.names[i].end);
	}
	perf_map_free(&map);
	free(text);
	return 0;
}

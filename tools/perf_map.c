// SPDX-License-Identifier: MIT
#include <stdlib.h>

#include "perf_map.h"

static bool parse_line(struct perf_name *name, struct span line)
{
	uint64_t size;

	if (!span_hex(span_take(&line, ' '), &name->start) ||
	    !span_hex(span_take(&line, ' '), &size) || !size || !line.len ||
	    __builtin_add_overflow(name->start, size, &name->end))
		return false;
	if (line.len > PERF_MAP_MAX_NAME)
		line.len = PERF_MAP_MAX_NAME;
	name->name = line;
	return true;
}

static int by_start(const void *one, const void *other)
{
	const struct perf_name *a = one, *b = other;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return a->line < b->line ? -1 : 1;
}

bool perf_map_parse(struct perf_map *map, const char *text, size_t len)
{
	struct span rest = { text, len };
	uint64_t reach = 0;
	size_t room = 0;

	*map = (struct perf_map){ 0 };
	while (rest.len) {
		struct perf_name name;

		if (!parse_line(&name, span_take(&rest, '\n')))
			continue;
		if (map->nr == room) {
			struct perf_name *more;

			room = room ? 2 * room : 64;
			more = reallocarray(map->names, room, sizeof(*more));
			if (!more) {
				perf_map_free(map);
				return false;
			}
			map->names = more;
		}
		name.line = map->nr;
		map->names[map->nr++] = name;
	}
	if (map->nr)
		qsort(map->names, map->nr, sizeof(*map->names), by_start);
	for (size_t i = 0; i < map->nr; i++) {
		if (map->names[i].end > reach)
			reach = map->names[i].end;
		map->names[i].reach = reach;
	}
	return true;
}

void perf_map_free(struct perf_map *map)
{
	free(map->names);
	*map = (struct perf_map){ 0 };
}

const struct perf_name *perf_map_find(const struct perf_map *map,
				      uint64_t address)
{
	const struct perf_name *found = NULL;
	size_t low = 0, high = map->nr;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (map->names[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	while (low-- > 0 && map->names[low].reach > address) {
		const struct perf_name *name = &map->names[low];

		if (name->end > address && (!found || name->line > found->line))
			found = name;
	}
	return found;
}

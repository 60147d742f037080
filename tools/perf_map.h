/* SPDX-License-Identifier: MIT */
#ifndef PERF_MAP_H
#define PERF_MAP_H

#include "span.h"

/* Limits for the bytes of a perf map that are read, and of a name that are kept. */
#define PERF_MAP_MAX_BYTES	(256UL << 20)
#define PERF_MAP_MAX_NAME	1024

/**
 * struct perf_map - names of compiled code, as /tmp/perf-PID.map gives them
 * @names: by start
 * @nr: number of names
 *
 * A later line wins: the address was reused.
 */
struct perf_map {
	struct perf_name *names;
	size_t nr;
};

struct perf_name {
	uint64_t start, end;
	uint64_t reach;		/* the highest @end up to here */
	size_t line;
	struct span name;
};

/*
 * Skips malformed lines.  The names point into @text.  False without memory.
 */
bool perf_map_parse(struct perf_map *map, const char *text, size_t len);
void perf_map_free(struct perf_map *map);

/* The name that covers @address, or NULL. */
const struct perf_name *perf_map_find(const struct perf_map *map,
				      uint64_t address);

#endif

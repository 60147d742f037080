/* SPDX-License-Identifier: MIT */
/*
 * A region and the file of its names, as perf reads it.
 */
#ifndef MAP_FILE_H
#define MAP_FILE_H

#include "test.h"

#define LEN	(256 * PAGE)

static struct codectl_region *region;
static uint64_t text;
static char path[64];

static inline const char *map_path(void)
{
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());

	return path;
}

static inline void start(const struct codectl_region_attr *attr)
{
	unlink(map_path());
	region = test_open(LEN, attr, &text);
}

static inline char *read_file(void)
{
	FILE *file = fopen(map_path(), "r");
	size_t size = 0;
	char *all = NULL;

	CHECK(file);
	/* To the end: there is no byte 0. */
	if (getdelim(&all, &size, 0, file) < 0)
		all = calloc(1, 1);
	fclose(file);

	return all;
}

static inline char *line(char *to, uint32_t off, uint32_t len, const char *name)
{
	return to + sprintf(to, "%lx %x %s\n", text + off, len, name);
}

/* The file has exactly the lines. */
static inline void check_file(const char *want)
{
	char *got = read_file();

	if (strcmp(got, want))
		printf("# got:\n%s# want:\n%s", got, want);
	CHECK(!strcmp(got, want));
	free(got);
}

static inline void add(uint32_t off, const char *name)
{
	CHECK_EQ(test_add(region, text + off, 16, 1, name), 0);
}

static inline struct codectl_region_stat stat_of_region(void)
{
	struct codectl_region_stat stat;

	codectl_region_stat(region, &stat);

	return stat;
}

#endif /* MAP_FILE_H */

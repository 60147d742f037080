// SPDX-License-Identifier: GPL-2.0
/*
 * Writes inputs for jit_image_fuzz: the tables of regions of libcodectl, in both
 * directions, in one table and in many, with retired rows and compacted; recipes for the same
 * rows for jit_fuzz; and recipes for functions for granules_fuzz.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "internal.h"
#include "jit_image.h"

static void require(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "jit_seeds: %s\n", what);
	exit(1);
}

/* A function with a frame and a leaf, in turn, until the region is full. */
static void fill(struct codectl_region *region, uint64_t text, bool descending)
{
	const uint32_t ret = 30;
	const struct codectl_shape shapes[] = {
		{ .len = 31, .frame = 40, .prologue = 4, .nr_rets = 1, .rets = &ret },
		{ .len = 31 },
	};
	struct code_jit_unwind_fre rows[8];
	unsigned int i;
	int nr;

	for (i = 0; i < JIT_IMAGE_TEXT / 32; i++) {
		uint64_t at = descending ? JIT_IMAGE_TEXT - 32 * (i + 1) : 32 * i;

		nr = i % 2 ? codectl_rows_leaf(&shapes[1], rows, 8) :
			     codectl_rows_sp(&shapes[0], rows, 8);
		require(nr > 0, "no rows");
		if (codectl_region_add(region, text + at, 31, rows, nr, NULL))
			return;
	}
}

/* The chain as it would be at the address of all images. */
static void write_image(const struct codectl_region *region, const char *path)
{
	struct jit_image image = {
		.flags = region->jit_flags,
		.rule = region->rule,
	};
	uint64_t base = (uint64_t)(uintptr_t)region->tables;
	size_t len = region->table_size * region->max_tables;
	struct code_jit_unwind_table *table;
	FILE *file = fopen(path, "w");
	char *copy = malloc(len);
	uint64_t off;

	require(file && copy && len <= JIT_IMAGE_MAX, path);
	memcpy(copy, region->tables, len);
	for (off = 0; off < len; off += region->table_size) {
		table = (void *)(copy + off);
		if (table->next)
			table->next += JIT_IMAGE_BASE - base;
	}
	require(fwrite(&image, sizeof(image), 1, file) == 1 &&
		fwrite(copy, len, 1, file) == 1 && !fclose(file), path);
	free(copy);
}

/* The next row in the order of the chain; NULL after the last one. */
static const struct code_jit_unwind_fre *
next_row(const struct code_jit_unwind_table **table, unsigned int *i)
{
	while (*table && *i >= (*table)->used_len / sizeof(*(*table)->fre)) {
		*table = (const void *)(uintptr_t)(*table)->next;
		*i = 0;
	}

	return *table ? &(*table)->fre[(*i)++] : NULL;
}

/* The input of make_row() of jit_fuzz, which keeps descending rows apart. */
static void write_row(FILE *file, const struct code_jit_unwind_fre *row,
		      uint32_t *at, bool descending)
{
	uint32_t end = row->ip_off + row->size;

	fputc(descending ? *at - end : row->ip_off - *at, file);
	fputc(row->size, file);
	fputc(row->cfa_off, file);
	fputc(row->info, file);
	*at = descending ? row->ip_off : end;
}

static void write_recipe(const struct codectl_region *region, const char *path,
			 unsigned int per_table)
{
	const struct code_jit_unwind_table *table = (const void *)region->tables;
	bool descending = region->jit_flags & CODE_JIT_DESCENDING;
	uint32_t at = descending ? JIT_IMAGE_TEXT : 0, left = 0;
	const struct code_jit_unwind_fre *row;
	FILE *file = fopen(path, "w");
	unsigned int i = 0, in_table;

	require(file, path);
	while (next_row(&table, &i))
		left++;
	require(left, "no rows");
	fputc((left + per_table - 1) / per_table, file);
	fputc(region->jit_flags, file);
	table = (const void *)region->tables;
	for (i = 0; left; left -= in_table) {
		in_table = left < per_table ? left : per_table;
		fputc(in_table - 1, file);
		fputc(0, file);
		for (unsigned int nr = 0; nr < in_table; nr++) {
			row = next_row(&table, &i);
			write_row(file, row, &at, descending);
		}
	}
	require(!ferror(file) && !fclose(file), path);
}

static void write_region(const char *dir, unsigned int nr)
{
	const struct code_jit_unwind_fre rule = { .info = CODE_FRE_OUTERMOST };
	struct codectl_region_attr attr = {
		.flags = nr & 1 ? CODECTL_REGION_REWRITE : 0,
		.jit_flags = (nr & 2 ? CODE_JIT_DESCENDING : 0) |
			     (nr & 4 ? CODE_JIT_DEFAULT_RULE : 0),
		.default_rule = nr & 4 ? &rule : NULL,
		.max_rows = 96,
		.table_rows = nr & 8 ? 5 : 0,
		.name_bytes = 1,
	};
	void *mem = mmap(NULL, JIT_IMAGE_TEXT, PROT_NONE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t text = (uint64_t)(uintptr_t)mem;
	struct codectl_region *region;
	char path[4096];

	require(!codectl_region_open(mem, JIT_IMAGE_TEXT, &attr, &region),
		"no region");
	fill(region, text, nr & 2);
	if (nr & 16)
		codectl_region_retire(region, text + 64, 256);
	if ((nr & 17) == 17)
		codectl_region_compact(region);
	snprintf(path, sizeof(path), "%s/jit_image/%u", dir, nr);
	write_image(region, path);
	snprintf(path, sizeof(path), "%s/jit/%u", dir, nr);
	write_recipe(region, path, nr & 8 ? 5 : 16);
	codectl_region_close(region);
	munmap(mem, JIT_IMAGE_TEXT);
}

/* The input of make_map() of granules_fuzz: functions of one to four granules. */
static void write_granules(const char *dir, unsigned int nr)
{
	const unsigned int functions = 1 + 4 * (nr % 8);
	char path[4096];
	FILE *file;

	snprintf(path, sizeof(path), "%s/granules/%u", dir, nr);
	file = fopen(path, "w");
	require(file, path);
	fputc(functions, file);
	fputc(nr & 3, file);
	for (unsigned int i = 0; i < functions; i++) {
		const unsigned int rows = 1 + i % 7;

		/* gap, rows, granules, kind, bytes that are left at the end */
		fprintf(file, "%c%c%c%c%c", nr / 8 % 4, rows, i % 4, i % 64, nr % 16);
		for (unsigned int row = 0; row < rows; row++)
			fprintf(file, "%c%c%c", 0, 4 + row, CODE_FRE_BASE_SP);
	}
	require(!ferror(file) && !fclose(file), path);
}

int main(int argc, char **argv)
{
	unsigned int nr;

	require(argc == 2, "usage: jit_seeds DIR");
	for (nr = 0; nr < 32; nr++) {
		write_region(argv[1], nr);
		write_granules(argv[1], nr);
	}

	return 0;
}

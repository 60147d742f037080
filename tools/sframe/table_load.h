/* SPDX-License-Identifier: MIT */
#ifndef TABLE_LOAD_H
#define TABLE_LOAD_H

#include <libelf.h>

#include "rows.h"

/* A table as written by table_file_write(). */
struct loaded_table {
	Elf *elf;
	const void *data;
	size_t size;
	uint64_t addr;		/* its link-time address */
	uint32_t nr_segments;
	const struct segment *segments;
};

/*
 * Reads the table in the file at @fd, which has to stay open until table_unload().
 * False if it is damaged, or of another version.
 */
bool table_load(int fd, struct loaded_table *table);
void table_unload(struct loaded_table *table);

#endif

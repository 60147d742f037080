/* SPDX-License-Identifier: MIT */
#ifndef SFRAME_TABLE_H
#define SFRAME_TABLE_H

#include "rows.h"

/* An SFrame section, version 3.  What is ROW_NOTHING has an FDE without FREs. */
struct table {
	char *data;
	size_t size;		/* in bytes */
	size_t nr_fdes;
	size_t nr_fres;
};

/*
 * Whether @row may follow one that ends at @end, or be the first with 0: all that
 * table_write() relies on.
 */
bool table_takes(const struct row *row, uint64_t end);

/*
 * Writes a table for the rows, which table_takes(), as if it were linked to lie at
 * @table_addr: starts of functions are relative to the fields that say them
 * (SFRAME_F_FDE_FUNC_START_PCREL).  False without memory, or beyond 4 GiB.
 */
bool table_write(const struct row *rows, size_t nr, uint64_t table_addr,
		 struct table *table);

void table_free(struct table *table);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef SFRAME_TABLE_H
#define SFRAME_TABLE_H

#include "rows.h"

/* An SFrame section, version 3.  ROW_NOTHING becomes an FDE without FREs. */
struct table {
	char *data;
	size_t size;		/* in bytes */
	size_t nr_fdes;
	size_t nr_fres;
};

/*
 * May @row follow one that ends at @end, or be the first with 0?  table_write() relies
 * on nothing else.
 */
bool table_takes(const struct row *row, uint64_t end);

/*
 * Writes a table for the rows, which table_takes(), as if it were linked at
 * @table_addr: starts of functions are relative to their own fields
 * (SFRAME_F_FDE_FUNC_START_PCREL).  False without memory, or if it exceeds 4 GiB.
 */
bool table_write(const struct row *rows, size_t nr, uint64_t table_addr,
		 struct table *table);

void table_free(struct table *table);

#endif

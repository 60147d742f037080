// SPDX-License-Identifier: MIT
/*
 * Moving along the rows of a chain.
 */
#include "internal.h"

/* Does the row come before all that starts at or after @off, in the table? */
static bool is_before(const struct codectl_region *region,
		      const struct code_jit_unwind_fre *row, uint64_t off)
{
	return codectl_descending(region) ? row->ip_off >= off :
					    row->ip_off < off;
}

/*
 * The first row that does not come before @off: in ascending order, the first that
 * starts there or after it; in descending order, that starts below.
 */
void codectl_rows_find(const struct codectl_region *region, uint64_t off,
		       struct codectl_cursor *pos)
{
	struct code_jit_unwind_table *table = codectl_table(region, 0), *next;
	uint64_t low = 0, high = codectl_used(table), mid;

	while (high && is_before(region, &table->fre[high - 1], off)) {
		next = codectl_next(table);
		if (!next) {
			low = high;
			break;
		}
		table = next;
		high = codectl_used(table);
	}

	while (low < high) {
		mid = low + (high - low) / 2;
		if (is_before(region, &table->fre[mid], off))
			low = mid + 1;
		else
			high = mid;
	}
	pos->table = table;
	pos->row = low;
}

void codectl_cursor_next(struct codectl_cursor *pos)
{
	struct code_jit_unwind_table *next;

	if (pos->row + 1 < codectl_used(pos->table)) {
		pos->row++;
		return;
	}

	next = codectl_next(pos->table);
	if (next) {
		pos->table = next;
		pos->row = 0;
	} else {
		pos->row = codectl_used(pos->table);
	}
}

bool codectl_cursor_prev(const struct codectl_region *region,
			 struct codectl_cursor *pos)
{
	if (!pos->row) {
		uint64_t nr = codectl_table_nr(region, pos->table);

		if (!nr)
			return false;
		pos->table = codectl_table(region, nr - 1);
		pos->row = codectl_used(pos->table);
	}
	pos->row--;

	return true;
}

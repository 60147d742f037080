// SPDX-License-Identifier: MIT
/*
 * Publishing functions by appending them, and retiring them.
 */
#include <errno.h>

#include "internal.h"
#include "reader.h"

static bool rows_valid(const struct codectl_func *func)
{
	uint64_t end = 0;
	bool bad = false;
	uint32_t i;

	for (i = 0; i < func->nr; i++) {
		bad |= func->rows[i].ip_off < end || !func->rows[i].size ||
		       !jit_fre_known(&func->rows[i]);
		end = (uint64_t)func->rows[i].ip_off + func->rows[i].size;
	}

	return !bad && end <= func->len;
}

/* Does the function come after all that the table has? */
static bool is_behind(const struct codectl_region *region,
		      const struct code_jit_unwind_fre *last,
		      const struct codectl_func *func)
{
	if (codectl_descending(region))
		return (uint64_t)func->off + func->len <= last->ip_off;

	return func->off >= (uint64_t)last->ip_off + last->size;
}

/* The table that begins with the function, or NULL. */
static struct code_jit_unwind_table *
next_table(const struct codectl_region *region, const struct codectl_func *func)
{
	const struct code_jit_unwind_table *table = region->tail;
	uint64_t nr = codectl_table_nr(region, table);

	/* Even a retired row has to start before those in the next table. */
	if (func->nr > region->table_rows || nr + 1 == region->max_tables ||
	    (!codectl_descending(region) &&
	     table->fre[codectl_used(table) - 1].ip_off ==
	     func->off + func->rows[0].ip_off))
		return NULL;

	return codectl_table(region, nr + 1);
}

static void write_rows(struct codectl_region *region,
		       struct code_jit_unwind_table *table, uint64_t used,
		       const struct codectl_func *func)
{
	struct code_jit_unwind_fre *to = (void *)((char *)table->fre + used);
	uint32_t i;

	if (codectl_descending(region))
		to += func->nr - 1;
	for (i = 0; i < func->nr; i++)
		codectl_store_row(codectl_descending(region) ? to - i : to + i,
				  &func->rows[i], func->off);
}

/* -EAGAIN: the function does not come after all that the region has. */
static int append(struct codectl_region *region,
		  const struct codectl_func *func)
{
	struct code_jit_unwind_table *table = region->tail, *tail;
	uint64_t bytes = func->nr * CODECTL_FRE_SIZE, used;

	while (CODECTL_UNLIKELY(table->next)) {
		table = (void *)(uintptr_t)table->next;
		region->tail = table;
	}

	used = table->used_len;
	if (used && !is_behind(region, (void *)((char *)table->fre + used -
						CODECTL_FRE_SIZE), func))
		return -EAGAIN;

	if (CODECTL_UNLIKELY(bytes > table->reserved_len - used)) {
		if (!used)
			return -ENOSPC;
		tail = table;
		table = next_table(region, func);
		if (!table)
			return -ENOSPC;
		write_rows(region, table, 0, func);
		codectl_init_table(region, table, func->nr);
		/*
		 * After the rows and used_len: pairs with the read barrier
		 * after next in the kernel's jit_skip_table().
		 */
		__atomic_store_n(&tail->next, (uintptr_t)table,
				 __ATOMIC_RELEASE);
		return 0;
	}

	write_rows(region, table, used, func);
	/*
	 * After the rows: pairs with the read barrier after used_len in the
	 * kernel's jit_get_nr().
	 */
	__atomic_store_n(&table->used_len, used + bytes, __ATOMIC_RELEASE);

	return 0;
}

/*
 * If the default rule is enough, a row with it lets the function have a name and be
 * retired.
 */
static bool add_default_row(const struct codectl_region *region,
			    struct codectl_func *func,
			    struct code_jit_unwind_fre *row)
{
	if (!(region->jit_flags & CODE_JIT_DEFAULT_RULE))
		return false;

	*row = region->rule;
	row->ip_off = 0;
	row->size = func->len;
	func->rows = row;
	func->nr = 1;

	return true;
}

/* Assigns a number, after which codectl_name_end() must be called, if it has a name. */
static int publish_in_map(struct codectl_region *region,
			  struct codectl_func *func)
{
	int ret;

	func->id = codectl_name_begin(region);
	ret = codectl_granules_add(region, func);
	if (ret || !func->name)
		codectl_name_end(region);

	return ret;
}

/* With @row as its only row, if it has none. */
static int publish(struct codectl_region *region, struct codectl_func *func,
		   struct code_jit_unwind_fre *row)
{
	int ret;

	if (CODECTL_UNLIKELY(region->flags & CODECTL_REGION_NO_ROWS))
		return func->nr ? -EINVAL : 0;
	if (func->nr ? !rows_valid(func) : !add_default_row(region, func, row))
		return -EINVAL;
	if (region->granule_shift)
		return publish_in_map(region, func);

	ret = append(region, func);
	if (CODECTL_UNLIKELY(ret))
		ret = codectl_rewrite_add(region, func, ret);

	return ret;
}

/* -EINVAL: the range is not within the text; -ESTALE: nothing is any more. */
static int check_range(const struct codectl_region *region, uint64_t off,
		       uint64_t len)
{
	if (CODECTL_UNLIKELY(__atomic_load_n(&region->stale, __ATOMIC_RELAXED)))
		return -ESTALE;

	return len && off < region->text_len && len <= region->text_len - off ?
	       0 : -EINVAL;
}

int codectl_region_add(struct codectl_region *region, uint64_t start,
		       uint64_t len, const struct code_jit_unwind_fre *rows,
		       unsigned int nr, const char *name)
{
	uint64_t off = start - region->text_start;
	struct codectl_func func = {
		.off = off,
		.len = len,
		.nr = nr,
		.rows = rows,
		.name = name,
	};
	struct code_jit_unwind_fre row;
	int ret;

	ret = check_range(region, off, len);
	if (CODECTL_UNLIKELY(ret))
		return ret;
	/* The size of a row, and of a name. */
	if (CODECTL_UNLIKELY(len > UINT32_MAX))
		return -EINVAL;
	ret = publish(region, &func, &row);
	if (CODECTL_UNLIKELY(ret))
		return ret;

	/* A function may have retired except for a part without a row. */
	if (region->names_kept)
		func.replaces = codectl_names_forget(region, off, off + len);
	func.kept = name && codectl_name_keep(region, &func);
	if (codectl_names_wanted(CODECTL_NAMES_ANY))
		codectl_names_added(region, &func);

	return 0;
}

/*
 * Counts the rows in a range, and retires them if @store.  -EINVAL if one of them is
 * only partly in it.
 */
static int retire_rows(struct codectl_region *region, uint64_t off,
		       uint64_t end, bool store)
{
	bool descending = codectl_descending(region);
	struct codectl_cursor pos;
	int nr = 0;

	codectl_rows_find(region, descending ? end : off, &pos);
	/*
	 * In increasing order the row before may reach into the range; none before that
	 * does, as no row begins within an earlier one, whether it is retired or not.
	 */
	if (!descending)
		codectl_cursor_prev(region, &pos);
	for (; codectl_cursor_valid(&pos); codectl_cursor_next(&pos)) {
		struct code_jit_unwind_fre *row = codectl_row(&pos);
		uint64_t row_end = (uint64_t)row->ip_off + row->size;

		if (descending ? row_end <= off : row->ip_off >= end)
			break;
		if (!row->size || row_end <= off || row->ip_off >= end)
			continue;
		if (row->ip_off < off || row_end > end)
			return -EINVAL;
		nr++;
		if (store)
			__atomic_store_n(&row->size, 0, __ATOMIC_RELAXED);
	}

	return nr;
}

/* Rows, and names that may be left of a function whose rows are already gone. */
static int retire(struct codectl_region *region, uint64_t off, uint64_t end,
		  int *names)
{
	int ret = 0;

	if (region->granule_shift)
		ret = codectl_granules_retire(region, off, end);
	else if (region->max_tables)
		ret = retire_rows(region, off, end, false);
	if (ret > 0 && region->max_tables)
		retire_rows(region, off, end, true);
	*names = ret < 0 ? 0 : codectl_names_forget(region, off, end);

	return region->flags & CODECTL_REGION_NO_ROWS ? *names : ret;
}

int codectl_region_retire(struct codectl_region *region, uint64_t start,
			  uint64_t len)
{
	uint64_t off = start - region->text_start;
	int ret, names = 0;

	ret = check_range(region, off, len);
	if (!ret)
		ret = retire(region, off, off + len, &names);
	if ((ret > 0 || names) &&
	    codectl_names_wanted(CODECTL_NAMES_POLL | CODECTL_NAMES_EVENT))
		codectl_names_retired(start, len);

	return ret;
}

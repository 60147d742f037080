// SPDX-License-Identifier: MIT
/*
 * Regions: opening, appending, retiring, closing.
 */
#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>

#include "internal.h"
#include "reader.h"

#define MIN_ROWS	16
/* So that sums of sizes do not overflow. */
#define MAX_SPACE	(1UL << 40)

static bool attr_valid(const struct codectl_region_attr *attr)
{
	const uint32_t known = CODE_JIT_DEFAULT_RULE | CODE_JIT_DESCENDING |
			       CODE_JIT_CALLSITE;
	unsigned int i;

	for (i = 0; i < sizeof(attr->__reserved) / sizeof(uint64_t); i++) {
		if (attr->__reserved[i])
			return false;
	}

	if (attr->flags & CODECTL_REGION_NO_ROWS &&
	    (attr->flags != CODECTL_REGION_NO_ROWS || !attr->default_rule ||
	     attr->max_rows || attr->table_rows))
		return false;

	return !(attr->flags & ~(CODECTL_REGION_REWRITE |
				 CODECTL_REGION_NO_ROWS)) &&
	       !(attr->jit_flags & ~known) &&
	       !(attr->jit_flags & CODE_JIT_DEFAULT_RULE) ==
	       !attr->default_rule &&
	       (!attr->default_rule || jit_fre_known(attr->default_rule)) &&
	       attr->max_rows <= MAX_SPACE && attr->table_rows <= MAX_SPACE &&
	       attr->name_bytes <= MAX_SPACE;
}

/* A part of the mapping: where it begins, as long as the mapping is nowhere. */
static void *add_part(struct codectl_region *region, uint64_t size)
{
	uint64_t at = region->map_len;

	region->map_len = at + ((size + sizeof(uint64_t) - 1) &
				-sizeof(uint64_t));

	return (void *)(uintptr_t)at;
}

/* Rows and tables as asked for; false: they cannot be in one chain. */
static bool lay_out_tables(struct codectl_region *region,
			   const struct codectl_region_attr *attr)
{
	uint64_t rows = attr->max_rows ? attr->max_rows : region->text_len / 8;
	uint64_t per_table = attr->table_rows, tables;

	if (attr->flags & CODECTL_REGION_NO_ROWS)
		return true;
	if (rows < MIN_ROWS && !attr->max_rows)
		rows = MIN_ROWS;
	if (!per_table || per_table > rows)
		per_table = rows;
	tables = (rows + per_table - 1) / per_table;
	if (tables > CODE_JIT_MAX_TABLES && !attr->max_rows)
		tables = CODE_JIT_MAX_TABLES;

	region->max_tables = tables;
	region->table_rows = per_table;
	region->table_size = sizeof(struct code_jit_unwind_table) +
			     per_table * CODECTL_FRE_SIZE;
	region->tables = add_part(region, tables * region->table_size);

	return tables <= CODE_JIT_MAX_TABLES;
}

static void lay_out_names(struct codectl_region *region,
			  const struct codectl_region_attr *attr)
{
	uint64_t names = attr->name_bytes ? attr->name_bytes :
					    2 * region->text_len;

	if (names < CODECTL_NAME_UNIT)
		return;
	names = (names + CODECTL_NAME_RECORD - 1) & -CODECTL_NAME_RECORD;
	/* Units are counted by 32 bits, from 1. */
	if (names > UINT32_MAX * CODECTL_NAME_UNIT)
		names = (UINT32_MAX * CODECTL_NAME_UNIT) &
			-CODECTL_NAME_RECORD;

	region->names_max = names / CODECTL_NAME_UNIT;
	region->name_index = add_part(region, sizeof(uint32_t) *
				codectl_name_granules(region->text_len));
	region->names = add_part(region, names);
}

/* Whether all tables can be in one chain. */
static bool lay_out(struct codectl_region *region, uint64_t text, uint64_t len,
		    const struct codectl_region_attr *attr)
{
	bool fits;

	*region = (struct codectl_region) {
		.text_start = text,
		.text_len = len,
		.flags = attr->flags,
		.jit_flags = attr->jit_flags,
		.map_len = sizeof(*region),
	};
	if (attr->default_rule)
		region->rule = *attr->default_rule;
	fits = lay_out_tables(region, attr);
	lay_out_names(region, attr);

	return fits;
}

static struct codectl_region *map_region(const struct codectl_region *layout)
{
	struct codectl_region *region;
	char *map;

	map = mmap(NULL, layout->map_len, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (map == MAP_FAILED)
		return NULL;

	region = (void *)map;
	*region = *layout;
	region->name_index = (void *)(map + (uintptr_t)layout->name_index);
	region->names = map + (uintptr_t)layout->names;
	if (region->max_tables) {
		region->tables = map + (uintptr_t)layout->tables;
		region->tail = codectl_table(region, 0);
		codectl_init_table(region, region->tail, 0);
	}

	return region;
}

static int register_region(struct codectl_region *region)
{
	struct code_jit_info info = {
		.text_start = region->text_start,
		.text_end = codectl_region_end(region),
		.unwind_head = (uintptr_t)region->tables,
		.jit_flags = region->jit_flags,
		.cfa_off = region->rule.cfa_off,
		.ra_off = region->rule.ra_off,
		.fp_off = region->rule.fp_off,
		.info = region->rule.info,
	};
	int ret;

	if (region->flags & CODECTL_REGION_REWRITE)
		info.seq = (uintptr_t)&region->seq;

	ret = codectl_syscall(CODE_REGISTER_JIT, &info, sizeof(info), 0);
	region->registered = !ret;
	switch (ret) {
	case -EINVAL:
	case -ENOMEM:
	case -EEXIST:
	case -ENOSPC:
		return ret;
	default:
		return 0;
	}
}

static bool overlaps_region(const struct codectl_region *region)
{
	size_t at = codectl_list_find(codectl_list, region->text_start);

	return at < codectl_list->nr &&
	       codectl_list->regions[at]->text_start <
	       codectl_region_end(region);
}

static int list_region(struct codectl_region *region)
{
	int ret;

	if (!codectl_list_reserve())
		return -ENOMEM;
	if (overlaps_region(region))
		return -EEXIST;
	ret = register_region(region);
	if (!ret)
		codectl_list_add(region);

	return ret;
}

int codectl_region_open(const void *text, size_t len,
			const struct codectl_region_attr *attr,
			struct codectl_region **regionp)
{
	const struct codectl_region_attr none = { 0 };
	struct codectl_region layout, *region;
	uint64_t start = (uintptr_t)text;
	int ret;

	if (!attr)
		attr = &none;
	if (!start || !len || len > CODE_JIT_MAX_TEXT || start + len < start ||
	    !attr_valid(attr) || !lay_out(&layout, start, len, attr))
		return -EINVAL;

	region = map_region(&layout);
	if (!region)
		return -ENOMEM;

	codectl_lock();
	ret = list_region(region);
	codectl_unlock();
	if (ret) {
		munmap(region, region->map_len);
		return ret;
	}
	*regionp = region;

	return 0;
}

/* Whether the kernel will not look at the tables again. */
static bool unregister_region(const struct codectl_region *region)
{
	struct code_unregister_info info = {
		.text_start = region->text_start,
		.text_end = codectl_region_end(region),
	};
	int ret;

	if (!region->registered)
		return true;
	ret = codectl_syscall(CODE_UNREGISTER, &info, sizeof(info), 0);

	return !ret || ret == -ENOENT;
}

void codectl_region_close(struct codectl_region *region)
{
	bool unregistered;

	if (!region)
		return;

	codectl_lock();
	unregistered = unregister_region(region);
	codectl_list_remove(region);
	codectl_event_retire(region->text_start, region->text_len);
	codectl_unlock();
	/* The call may be switched off for a while: leave an empty table. */
	if (unregistered)
		munmap(region, region->map_len);
	else if (region->max_tables)
		codectl_init_table(region, codectl_table(region, 0), 0);
}

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
 * Where the default rule is enough, a row with it makes the function one that
 * has a name and can be retired.
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

/* In a region without rows a function has a name, or nothing. */
static int replace_name(struct codectl_region *region,
			const struct codectl_func *func)
{
	if (func->nr)
		return -EINVAL;
	codectl_names_forget(region, func->off, (uint64_t)func->off + func->len);

	return 0;
}

int codectl_region_add(struct codectl_region *region, uint64_t start,
		       uint32_t len, const struct code_jit_unwind_fre *rows,
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
	bool kept;
	int ret;

	if (!len || off >= region->text_len || len > region->text_len - off)
		return -EINVAL;
	if (!region->max_tables)
		ret = replace_name(region, &func);
	else if (nr ? !rows_valid(&func) :
		      !add_default_row(region, &func, &row))
		return -EINVAL;
	else
		ret = append(region, &func);
	if (CODECTL_UNLIKELY(ret == -EAGAIN || ret == -ENOSPC))
		ret = codectl_rewrite_add(region, &func, ret);
	if (CODECTL_UNLIKELY(ret))
		return ret;

	kept = name && codectl_name_keep(region, &func);
	if (codectl_names_wanted(CODECTL_NAMES_ANY))
		codectl_names_added(region, &func, kept);

	return 0;
}

/*
 * Counts the rows in a range, and retires them if @store.  -EINVAL if one of
 * them is there in part only.
 */
static int retire_rows(struct codectl_region *region, uint64_t off,
		       uint64_t end, bool store)
{
	bool descending = codectl_descending(region);
	struct codectl_cursor pos;
	int nr = 0;

	codectl_rows_find(region, descending ? end : off, &pos);
	/*
	 * In increasing order the row before may reach into the range; none
	 * before that does, as no row begins within one that comes earlier,
	 * whether it is retired or not.
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

int codectl_region_retire(struct codectl_region *region, uint64_t start,
			  uint64_t len)
{
	uint64_t off = start - region->text_start;
	int ret;

	if (!len || off >= region->text_len || len > region->text_len - off)
		return -EINVAL;

	if (!region->max_tables) {
		ret = codectl_names_forget(region, off, off + len);
	} else {
		ret = retire_rows(region, off, off + len, false);
		if (ret > 0) {
			retire_rows(region, off, off + len, true);
			codectl_names_forget(region, off, off + len);
		}
	}
	if (ret <= 0)
		return ret;

	if (codectl_names_wanted(CODECTL_NAMES_POLL | CODECTL_NAMES_EVENT))
		codectl_names_retired(start, len);

	return ret;
}

void codectl_region_stat(const struct codectl_region *region,
			 struct codectl_region_stat *stat)
{
	struct codectl_cursor pos = { codectl_table(region, 0), 0 };
	const struct code_jit_unwind_table *table;

	*stat = (struct codectl_region_stat) {
		.rows_max = region->max_tables * region->table_rows,
		.names = region->names_kept,
		.names_lost = region->names_lost,
		.registered = region->registered,
	};
	if (!region->max_tables)
		return;

	for (table = pos.table; table; table = codectl_next(table))
		stat->tables++;
	for (; codectl_cursor_valid(&pos); codectl_cursor_next(&pos)) {
		stat->rows_used++;
		stat->rows += codectl_row(&pos)->size != 0;
	}
}

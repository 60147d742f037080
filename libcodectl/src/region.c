// SPDX-License-Identifier: MIT
/*
 * Regions: opening, closing, and what they contain.
 */
#include <errno.h>
#include <sys/mman.h>

#include "internal.h"
#include "reader.h"

#define MIN_ROWS	16
/* Keeps sums of sizes from overflowing. */
#define MAX_SPACE	(1UL << 40)
/* How often to halve the space for rows and names if there is too little. */
#define MAX_HALVINGS	6

static bool map_valid(const struct codectl_region_attr *attr)
{
	if (attr->__reserved2)
		return false;
	if (!(attr->flags & CODECTL_REGION_GRANULES))
		return !attr->granule_shift;

	return attr->flags == CODECTL_REGION_GRANULES && !attr->table_rows &&
	       !(attr->jit_flags & CODE_JIT_DESCENDING) &&
	       (!attr->granule_shift ||
		(attr->granule_shift >= CODE_JIT_MIN_SHIFT &&
		 attr->granule_shift <= CODE_JIT_MAX_SHIFT));
}

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
	if (!map_valid(attr))
		return false;

	return !(attr->flags & ~(CODECTL_REGION_REWRITE |
				 CODECTL_REGION_NO_ROWS |
				 CODECTL_REGION_GRANULES)) &&
	       !(attr->jit_flags & ~known) &&
	       !(attr->jit_flags & CODE_JIT_DEFAULT_RULE) ==
	       !attr->default_rule &&
	       (!attr->default_rule || jit_fre_known(attr->default_rule)) &&
	       attr->max_rows <= MAX_SPACE && attr->table_rows <= MAX_SPACE &&
	       attr->name_bytes <= MAX_SPACE;
}

/* A part of the mapping: its offset, as long as the mapping does not exist. */
static void *add_part(struct codectl_region *region, uint64_t size)
{
	uint64_t at = region->map_len;

	region->map_len = at + ((size + sizeof(uint64_t) - 1) &
				-sizeof(uint64_t));

	return (void *)(uintptr_t)at;
}

static uint64_t wanted_rows(const struct codectl_region *region,
			    const struct codectl_region_attr *attr,
			    unsigned int halvings)
{
	uint64_t rows = region->text_len / 8 >> halvings;

	if (attr->max_rows)
		return attr->max_rows;

	return rows < MIN_ROWS ? MIN_ROWS : rows;
}

/* A record without rows takes as much as a row; none is at the start of the pool. */
static void lay_out_map(struct codectl_region *region,
			const struct codectl_region_attr *attr,
			unsigned int halvings)
{
	const uint64_t max = (uint64_t)UINT32_MAX * CODE_JIT_RECORD_ALIGN;
	uint64_t rows = wanted_rows(region, attr, halvings);

	region->granule_shift = attr->granule_shift ? attr->granule_shift :
						      CODE_JIT_MIN_SHIFT;
	region->map_len = (region->map_len + CODECTL_PAGE - 1) & -CODECTL_PAGE;
	region->slots = add_part(region, sizeof(uint32_t) *
				 codectl_granules(region, region->text_len));
	region->kept = add_part(region, sizeof(*region->kept) *
				codectl_granules(region, region->text_len));
	region->pool_used = CODE_JIT_RECORD_ALIGN;
	region->pool_len = region->pool_used + rows * CODECTL_FRE_SIZE;
	if (region->pool_len > max)
		region->pool_len = max;
	region->pool = add_part(region, region->pool_len);
}

/* Rows and tables as requested; false: they do not fit into one chain. */
static bool lay_out_tables(struct codectl_region *region,
			   const struct codectl_region_attr *attr,
			   unsigned int halvings)
{
	uint64_t rows = wanted_rows(region, attr, halvings);
	uint64_t per_table = attr->table_rows, tables;

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
			  const struct codectl_region_attr *attr,
			  unsigned int halvings)
{
	uint64_t names = attr->name_bytes ? attr->name_bytes :
					    2 * region->text_len >> halvings;

	if (names < CODECTL_NAME_UNIT)
		return;
	names = (names + CODECTL_NAME_RECORD - 1) & -CODECTL_NAME_RECORD;
	/* Unit numbers have 32 bits and begin with 1. */
	if (names > UINT32_MAX * CODECTL_NAME_UNIT)
		names = (UINT32_MAX * CODECTL_NAME_UNIT) &
			-CODECTL_NAME_RECORD;

	region->names_max = names / CODECTL_NAME_UNIT;
	region->name_index = add_part(region, sizeof(uint32_t) *
				codectl_name_granules(region->text_len));
	region->names = add_part(region, names);
	region->name_map = add_part(region, region->names_max);
}

/* Whether all tables fit into one chain. */
static bool lay_out(struct codectl_region *region, uint64_t text, uint64_t len,
		    const struct codectl_region_attr *attr,
		    unsigned int halvings)
{
	bool fits = true;

	*region = (struct codectl_region) {
		.text_start = text,
		.text_len = len,
		.flags = attr->flags,
		.jit_flags = attr->jit_flags,
		.map_len = sizeof(*region),
	};
	if (attr->default_rule)
		region->rule = *attr->default_rule;
	if (attr->flags & CODECTL_REGION_GRANULES)
		lay_out_map(region, attr, halvings);
	else if (!(attr->flags & CODECTL_REGION_NO_ROWS))
		fits = lay_out_tables(region, attr, halvings);
	lay_out_names(region, attr, halvings);

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
	region->name_map = (void *)(map + (uintptr_t)layout->name_map);
	if (region->max_tables) {
		region->tables = map + (uintptr_t)layout->tables;
		region->tail = codectl_table(region, 0);
		codectl_init_table(region, region->tail, 0);
	}
	if (region->granule_shift) {
		region->slots = (void *)(map + (uintptr_t)layout->slots);
		region->kept = (void *)(map + (uintptr_t)layout->kept);
		region->pool = map + (uintptr_t)layout->pool;
	}

	return region;
}

static bool is_mapped(uint64_t start, uint64_t len)
{
	uint64_t at = start & -CODECTL_PAGE, part;
	unsigned char pages[1024];

	for (; at < start + len; at += part) {
		part = start + len - at;
		if (part > sizeof(pages) * CODECTL_PAGE)
			part = sizeof(pages) * CODECTL_PAGE;
		if (mincore((void *)(uintptr_t)at, part, pages))
			return false;
	}

	return true;
}

/* A kernel without codectl(2) accepts what another one would. */
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
	if (region->granule_shift) {
		info.jit_flags |= CODE_JIT_GRANULES;
		info.slots = (uintptr_t)region->slots;
		info.pool = (uintptr_t)region->pool;
		info.pool_len = region->pool_len;
		info.granule_shift = region->granule_shift;
	}

	ret = codectl_syscall(CODE_REGISTER_JIT, &info, sizeof(info), 0);
	/* A filter may just pretend that the call worked. */
	region->registered = !ret && !codectl_probe();
	switch (ret) {
	case -EINVAL:
	case -ENOMEM:
	case -EEXIST:
	case -ENOSPC:
		return ret;
	}

	return region->registered ||
	       is_mapped(region->text_start, region->text_len) ? 0 : -EINVAL;
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

/* The call may be switched off for a while: then an empty table or map is left. */
static void dispose(struct codectl_region *region, bool unregistered)
{
	if (unregistered)
		munmap(region, region->map_len);
	else if (region->max_tables)
		codectl_init_table(region, codectl_table(region, 0), 0);
	else if (region->granule_shift)
		codectl_granules_clear(region);
}

/* Its text was unmapped, and other text is there now; its writer reads this. */
static void make_stale(struct codectl_region *region)
{
	codectl_event_retire(region->text_start, region->text_len);
	region->registered = false;
	__atomic_store_n(&region->stale, 1, __ATOMIC_RELAXED);
}

/*
 * How many regions from @at on overlap a region though the kernel has dropped them, or
 * it would not have accepted the new one; -EEXIST: they are still there.
 */
static int count_stale(const struct codectl_region *region, size_t at)
{
	const struct codectl_list *list = codectl_list;
	int nr = 0;

	for (; at < list->nr; at++, nr++) {
		if (list->regions[at]->text_start >= codectl_region_end(region))
			break;
		if (!region->registered || !list->regions[at]->registered)
			return -EEXIST;
	}

	return nr;
}

static int list_region(struct codectl_region *region)
{
	size_t at = codectl_list_find(codectl_list, region->text_start);
	int ret, nr, i;

	ret = register_region(region);
	if (ret)
		return ret;
	nr = count_stale(region, at);
	if (nr < 0)
		return nr;
	if (!codectl_list_reserve())
		return -ENOMEM;

	for (i = 0; i < nr; i++)
		make_stale(codectl_list->regions[at + i]);
	codectl_list_change(at, nr, region);

	return 0;
}

/* With less space than usual if there is not as much, and if the choice is left open. */
static struct codectl_region *map_any(uint64_t text, uint64_t len,
				      const struct codectl_region_attr *attr)
{
	struct codectl_region layout, *region = NULL;
	unsigned int i;

	for (i = 0; !region && i <= MAX_HALVINGS; i++) {
		lay_out(&layout, text, len, attr, i);
		region = map_region(&layout);
	}

	return region;
}

static int open_region(uint64_t text, uint64_t len,
		       const struct codectl_region_attr *attr,
		       struct codectl_region **regionp)
{
	struct codectl_region *region = map_any(text, len, attr);
	int ret;

	if (!region)
		return -ENOMEM;
	ret = list_region(region);
	if (ret)
		dispose(region, unregister_region(region));
	else
		*regionp = region;

	return ret;
}

int codectl_region_open(const void *text, size_t len,
			const struct codectl_region_attr *attr,
			struct codectl_region **regionp)
{
	const struct codectl_region_attr none = { 0 };
	uint64_t start = (uintptr_t)text;
	struct codectl_region layout;
	int ret;

	if (!attr)
		attr = &none;
	if (!start || !len || len > CODE_JIT_MAX_TEXT || start + len < start ||
	    !attr_valid(attr) || !lay_out(&layout, start, len, attr, 0))
		return -EINVAL;

	codectl_change_begin();
	ret = open_region(start, len, attr, regionp);
	codectl_change_end();

	return ret;
}

void codectl_region_close(struct codectl_region *region)
{
	bool unregistered;

	if (!region)
		return;

	codectl_change_begin();
	unregistered = unregister_region(region);
	if (!region->stale) {
		codectl_list_change(codectl_list_find(codectl_list,
						      region->text_start),
				    1, NULL);
		codectl_event_retire(region->text_start, region->text_len);
	}
	codectl_change_end();
	dispose(region, unregistered);
}

/*
 * Does the kernel still know it?  Then it accepts nothing in its place; what it accepts
 * for a moment ends stacks.  If the call is switched off nobody can tell.
 */
static bool is_known(const struct codectl_region *region)
{
	struct code_jit_info info = {
		.text_start = region->text_start,
		.text_end = codectl_region_end(region),
		.jit_flags = CODE_JIT_DEFAULT_RULE,
		.info = CODE_FRE_UNKNOWN,
	};
	int ret;

	codectl_lock();
	ret = codectl_syscall(CODE_REGISTER_JIT, &info, sizeof(info), 0);
	if (!ret)
		unregister_region(region);
	codectl_unlock();

	return ret && ret != -EINVAL;
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
		.registered = region->registered && is_known(region),
	};
	if (region->granule_shift) {
		stat->rows = region->rows_live;
		stat->rows_used = region->pool_used / CODECTL_FRE_SIZE;
		stat->rows_max = region->pool_len / CODECTL_FRE_SIZE;
	}
	if (!region->max_tables)
		return;

	for (table = pos.table; table; table = codectl_next(table))
		stat->tables++;
	for (; codectl_cursor_valid(&pos); codectl_cursor_next(&pos)) {
		stat->rows_used++;
		stat->rows += codectl_row(&pos)->size != 0;
	}
}

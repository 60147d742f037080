// SPDX-License-Identifier: MIT
/*
 * Changing rows that readers may be looking at: adding functions out of order,
 * and compacting.
 *
 * All of it is done with an odd seq.  A slot is a place for a row; it is free once its
 * row has been retired.
 */
#include <errno.h>
#include <sys/mman.h>

#include "internal.h"

/**
 * struct gap - the free slots between the two rows next to a function
 * @from: the first slot after the row before
 * @to: the row after
 * @nr: number of slots
 */
struct gap {
	struct codectl_cursor from;
	struct codectl_cursor to;
	uint64_t nr;
};

static void seq_begin(struct codectl_region *region)
{
	__atomic_store_n(&region->seq, region->seq + 1, __ATOMIC_RELAXED);
	/*
	 * Before what is rewritten: pairs with the read barrier before seq is
	 * read again in the kernel's jit_seq_end().
	 */
	__atomic_thread_fence(__ATOMIC_RELEASE);
}

static void seq_end(struct codectl_region *region)
{
	/*
	 * After what was rewritten: pairs with the read barrier after seq in
	 * the kernel's jit_seq_begin().
	 */
	__atomic_store_n(&region->seq, region->seq + 1, __ATOMIC_RELEASE);
}

static void store_size(struct codectl_cursor *pos, uint32_t size)
{
	__atomic_store_n(&codectl_row(pos)->size, size, __ATOMIC_RELAXED);
}

static bool overlaps(const struct codectl_cursor *pos,
		     const struct codectl_func *func)
{
	const struct code_jit_unwind_fre *row = codectl_row(pos);

	return row->ip_off < (uint64_t)func->off + func->len &&
	       func->off < (uint64_t)row->ip_off + row->size;
}

/* Does the row begin within the function? */
static bool begins_in(const struct codectl_cursor *pos,
		      const struct codectl_func *func)
{
	return codectl_row(pos)->ip_off - func->off < func->len;
}

/* Is the free slot at @gap->to one of those for the function? */
static bool takes_next(const struct gap *gap, const struct codectl_func *func)
{
	return codectl_cursor_valid(&gap->to) && !codectl_row(&gap->to)->size &&
	       (gap->nr < func->nr || begins_in(&gap->to, func));
}

/*
 * Finds where the function belongs.  -EEXIST: something is there.
 *
 * Free slots that begin within the function have to go; beyond them it takes as many as
 * it needs: those of one function, not all that are free.
 */
static int find_gap(const struct codectl_region *region,
		    const struct codectl_func *func, struct gap *gap)
{
	uint64_t off = func->off;
	struct codectl_cursor pos;

	*gap = (struct gap) {};
	if (codectl_descending(region))
		off += func->len;
	codectl_rows_find(region, off, &pos);
	gap->from = pos;
	gap->to = pos;
	if (codectl_cursor_prev(region, &pos) && codectl_row(&pos)->size &&
	    overlaps(&pos, func))
		return -EEXIST;

	for (; takes_next(gap, func); codectl_cursor_next(&gap->to))
		gap->nr++;
	if (codectl_cursor_valid(&gap->to) && codectl_row(&gap->to)->size &&
	    overlaps(&gap->to, func))
		return -EEXIST;

	pos = gap->from;
	while (gap->nr < func->nr && codectl_cursor_prev(region, &pos) &&
	       !codectl_row(&pos)->size) {
		gap->from = pos;
		gap->nr++;
	}

	return 0;
}

static void move_row(const struct codectl_cursor *to,
		     const struct codectl_cursor *from)
{
	if (to->table != from->table || to->row != from->row)
		codectl_store_row(codectl_row(to), codectl_row(from), 0);
}

/* The number of free slots from the one at @pos on, up to @enough. */
static uint64_t count_free(struct codectl_cursor pos, uint64_t enough)
{
	uint64_t nr = 0;

	for (; nr < enough && codectl_cursor_valid(&pos);
	     codectl_cursor_next(&pos))
		nr += !codectl_row(&pos)->size;

	return nr;
}

static struct code_jit_unwind_table *
last_table(const struct codectl_region *region)
{
	struct code_jit_unwind_table *table = region->tail, *next;

	while ((next = codectl_next(table)))
		table = next;

	return table;
}

/* Slots that can be added after the last row. */
static uint64_t count_growth(const struct codectl_region *region)
{
	const struct code_jit_unwind_table *table = last_table(region);

	return (region->max_tables - codectl_table_nr(region, table)) *
	       region->table_rows - codectl_used(table);
}

/* Adds @nr free slots after the last row. */
static void grow(struct codectl_region *region, uint64_t nr)
{
	struct code_jit_unwind_table *table = last_table(region), *next;
	struct codectl_cursor pos;

	while (nr) {
		pos = (struct codectl_cursor) { table, codectl_used(table) };
		for (; nr && pos.row < region->table_rows; pos.row++, nr--)
			store_size(&pos, 0);
		codectl_store_u64(&table->used_len,
				  pos.row * CODECTL_FRE_SIZE);
		if (!nr)
			break;
		next = codectl_table(region,
				     codectl_table_nr(region, table) + 1);
		codectl_init_table(region, next, 0);
		codectl_store_u64(&table->next, (uintptr_t)next);
		table = next;
	}
	region->tail = table;
}

/* Moves rows after the gap onto free slots there until the gap has @nr. */
static void widen_gap(struct codectl_region *region, struct gap *gap,
		      uint64_t nr)
{
	uint64_t have = gap->nr + count_free(gap->to, nr - gap->nr);
	struct codectl_cursor end = gap->to, to;

	if (have < nr) {
		grow(region, nr - have);
		/* The end of the chain may have become the start of a table. */
		if (!codectl_cursor_valid(&gap->to)) {
			codectl_cursor_prev(region, &gap->to);
			codectl_cursor_next(&gap->to);
		}
		if (!gap->nr)
			gap->from = gap->to;
		end = gap->to;
	}
	for (; gap->nr < nr; codectl_cursor_next(&end))
		gap->nr += !codectl_row(&end)->size;

	for (to = end; end.table != gap->to.table || end.row != gap->to.row;) {
		codectl_cursor_prev(region, &end);
		if (!codectl_row(&end)->size)
			continue;
		codectl_cursor_prev(region, &to);
		move_row(&to, &end);
	}
}

/* Packs all rows that cover something into full tables. */
static void pack(struct codectl_region *region)
{
	struct codectl_cursor from = { codectl_table(region, 0), 0 }, to;
	uint64_t old = codectl_table_nr(region, last_table(region)) + 1;
	uint64_t rows = region->table_rows, nr = 0, used, i;

	for (; codectl_cursor_valid(&from); codectl_cursor_next(&from)) {
		if (!codectl_row(&from)->size)
			continue;
		to.table = codectl_table(region, nr / rows);
		to.row = nr % rows;
		move_row(&to, &from);
		nr++;
	}

	for (i = 0; i < old; i++) {
		used = nr < rows ? nr : rows;
		nr -= used;
		codectl_init_table(region, codectl_table(region, i), used);
		if (nr)
			codectl_store_u64(&codectl_table(region, i)->next,
					  (uintptr_t)codectl_table(region,
								   i + 1));
	}
	region->tail = codectl_table(region, 0);
}

/*
 * Leaves the unneeded slots of a gap free.  Their rows get an address at which the
 * bisection still finds the function: its start, before its rows in increasing order,
 * and after them in decreasing order.
 */
static void leave_free(struct codectl_cursor pos, uint64_t nr, uint32_t off)
{
	for (; nr; nr--, codectl_cursor_next(&pos))
		__atomic_store_n(&codectl_row(&pos)->ip_off, off,
				 __ATOMIC_RELAXED);
}

/* The first slot for a function, in a gap that has as many as it needs or more. */
static struct codectl_cursor skip_spare(const struct codectl_region *region,
					const struct gap *gap, uint64_t nr)
{
	struct codectl_cursor pos = gap->from;
	uint64_t spare = gap->nr - nr;

	if (codectl_descending(region))
		return pos;
	for (; spare; spare--)
		codectl_cursor_next(&pos);

	return pos;
}

static void fill_gap(struct codectl_region *region, const struct gap *gap,
		     const struct codectl_func *func)
{
	struct codectl_cursor pos = skip_spare(region, gap, func->nr);
	bool descending = codectl_descending(region);
	uint32_t i, row;

	if (!descending)
		leave_free(gap->from, gap->nr - func->nr, func->off);
	for (i = 0; i < func->nr; i++, codectl_cursor_next(&pos)) {
		row = descending ? func->nr - 1 - i : i;
		codectl_store_row(codectl_row(&pos), &func->rows[row],
				  func->off);
	}
	if (descending)
		leave_free(pos, gap->nr - func->nr, func->off);
}

static bool spans_tables(const struct gap *gap)
{
	struct codectl_cursor pos = gap->from;
	uint64_t i;

	for (i = 1; i < gap->nr; i++)
		codectl_cursor_next(&pos);

	return pos.table != gap->from.table;
}

/* Counts the rows that cover something, and in @used those that do not, too. */
static uint64_t count_rows(const struct codectl_region *region, uint64_t *used)
{
	struct codectl_cursor pos = { codectl_table(region, 0), 0 };
	uint64_t nr = 0;

	*used = 0;
	for (; codectl_cursor_valid(&pos); codectl_cursor_next(&pos)) {
		nr += codectl_row(&pos)->size != 0;
		++*used;
	}

	return nr;
}

/*
 * Must rows be packed first?  If the chain would grow though most of it is free; and if
 * a gap with slots to spare reaches into the next table, since rows on both sides of
 * that must not have the same ip_off.
 */
static bool must_pack(const struct codectl_region *region,
		      const struct gap *gap, uint64_t nr)
{
	uint64_t have, used;

	if (gap->nr >= nr)
		return gap->nr > nr && spans_tables(gap);

	have = gap->nr + count_free(gap->to, nr - gap->nr);
	if (have >= nr)
		return false;

	return have + count_growth(region) < nr ||
	       2 * count_rows(region, &used) < used;
}

static bool can_pack(const struct codectl_region *region, uint64_t nr)
{
	uint64_t used;

	return nr + count_rows(region, &used) <=
	       region->max_tables * region->table_rows;
}

/* Does what append() could not do, for the reason @why. */
int codectl_rewrite_add(struct codectl_region *region,
			const struct codectl_func *func, int why)
{
	struct gap gap;
	bool packed;
	int ret;

	ret = find_gap(region, func, &gap);
	if (ret)
		return ret;
	if (!(region->flags & CODECTL_REGION_REWRITE))
		return why == -ENOSPC ? why : -EINVAL;
	packed = must_pack(region, &gap, func->nr);
	if (packed && !can_pack(region, func->nr))
		return -ENOSPC;

	codectl_lock();
	seq_begin(region);
	if (packed) {
		pack(region);
		find_gap(region, func, &gap);
	}
	if (gap.nr < func->nr)
		widen_gap(region, &gap, func->nr);
	fill_gap(region, &gap, func);
	seq_end(region);
	codectl_unlock();

	return 0;
}

/* Returns the whole pages between two addresses to the system. */
static void give_back(const void *from, const void *to)
{
	uintptr_t start = ((uintptr_t)from + CODECTL_PAGE - 1) & -CODECTL_PAGE;
	uintptr_t end = (uintptr_t)to & -CODECTL_PAGE;

	if (start < end)
		madvise((void *)start, end - start, MADV_DONTNEED);
}

static void compact_rows(struct codectl_region *region)
{
	struct codectl_cursor end;

	seq_begin(region);
	pack(region);
	seq_end(region);
	end.table = last_table(region);
	end.row = codectl_used(end.table);
	give_back(codectl_row(&end),
		  region->tables + region->max_tables * region->table_size);
}

int codectl_region_compact(struct codectl_region *region)
{
	if (!region->flags)
		return -EINVAL;

	codectl_lock();
	if (region->flags & CODECTL_REGION_REWRITE)
		compact_rows(region);
	codectl_names_compact(region);
	give_back(region->names + region->names_used * CODECTL_NAME_UNIT,
		  region->names + region->names_max * CODECTL_NAME_UNIT);
	codectl_unlock();

	return 0;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * Tables in the kernel's own memory
 *
 * An SFrame section is read once, row by row, by the decoder that otherwise reads
 * sections in user memory, and becomes a table in a format of its own: a lookup in it
 * needs no access to user memory, cannot fail, and need not trust the section to stay
 * what it was.
 */
#include <linux/cleanup.h>
#include <linux/err.h>
#include <linux/hash.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "resident.h"

/* Rule numbers are 16 bits wide; the largest libraries have some thousand rules. */
#define RESIDENT_MAX_RULES	U16_MAX
/* Slots for the rules while they are collected. */
#define RESIDENT_HASH_BITS	17
/* Rules of the kind that no compiler emits many of. */
#define RESIDENT_MAX_STEPS	1024
/* Index entries that any table may have, and those for each of its rows. */
#define RESIDENT_FREE_BLOCKS	65536
#define RESIDENT_ROW_BLOCKS	16

/**
 * struct resident_builder - a table being built
 * @table: the table
 * @room: number of rows that there is memory for
 * @rules_room: number of rules that there is memory for
 * @max: memory that it may take
 * @end: end of what it covers so far
 * @hash: for each hash, the number of the rule plus 1, or 0
 */
struct resident_builder {
	struct resident_table	*table;
	u32			room;
	u32			rules_room;
	size_t			max;
	unsigned long		end;
	u16			*hash;
};

/**
 * resident_free() - free a table
 * @table: the table, or NULL
 *
 * Context: process; nobody looks up in it any more.
 */
void resident_free(struct resident_table *table)
{
	if (!table)
		return;

	kvfree(table->blocks);
	kvfree(table->starts);
	kvfree(table->which);
	kvfree(table->rules);
	kvfree(table->steps);
	kfree(table);
}

/* Resizes an array from @old to @new entries. */
static int resident_resize(struct resident_builder *b, void **array,
			   size_t size, size_t old, size_t new)
{
	struct resident_table *table = b->table;
	size_t bytes = table->bytes + new * size - old * size;
	void *p;

	if (bytes > b->max)
		return -ENOSPC;

	p = kvrealloc(*array, array_size(new, size), GFP_KERNEL_ACCOUNT);
	if (!p && new)
		return -ENOMEM;
	*array = p;
	table->bytes = bytes;

	return 0;
}

static int resident_resize_rows(struct resident_builder *b, u32 room)
{
	struct resident_table *table = b->table;
	int ret;

	ret = resident_resize(b, (void **)&table->starts,
			      sizeof(*table->starts), b->room, room);
	if (!ret)
		ret = resident_resize(b, (void **)&table->which,
				      sizeof(*table->which), b->room, room);
	if (!ret)
		b->room = room;

	return ret;
}

static int resident_resize_rules(struct resident_builder *b, u32 room)
{
	struct resident_table *table = b->table;
	int ret;

	ret = resident_resize(b, (void **)&table->rules, sizeof(*table->rules),
			      b->rules_room, room);
	if (!ret)
		b->rules_room = room;

	return ret;
}

/* The number of a rule, which is added if it is new. */
static int resident_add_rule(struct resident_builder *b, u64 rule)
{
	struct resident_table *table = b->table;
	u32 slot = hash_64(rule, RESIDENT_HASH_BITS);
	int ret;

	for (; b->hash[slot]; slot = (slot + 1) % (1U << RESIDENT_HASH_BITS)) {
		if (table->rules[b->hash[slot] - 1] == rule)
			return b->hash[slot] - 1;
	}

	if (table->nr_rules == RESIDENT_MAX_RULES)
		return -E2BIG;
	if (table->nr_rules == b->rules_room) {
		ret = resident_resize_rules(b, max(2 * b->rules_room, 64));
		if (ret)
			return ret;
	}
	table->rules[table->nr_rules++] = rule;
	b->hash[slot] = table->nr_rules;

	return table->nr_rules - 1;
}

static bool resident_same_loc(const struct unwind_loc *a,
			      const struct unwind_loc *b)
{
	return a->kind == b->kind && a->base == b->base && a->off == b->off;
}

static bool resident_same_step(const struct unwind_step *a,
			       const struct unwind_step *b)
{
	return a->flags == b->flags && resident_same_loc(&a->cfa, &b->cfa) &&
	       resident_same_loc(&a->ra, &b->ra) &&
	       resident_same_loc(&a->fp, &b->fp);
}

/* The number of a rule that does not fit into a word. */
static int resident_add_step(struct resident_builder *b,
			     const struct unwind_step *step)
{
	struct resident_table *table = b->table;
	u32 nr;
	int ret;

	for (nr = 0; nr < table->nr_steps; nr++) {
		if (resident_same_step(&table->steps[nr], step))
			return nr;
	}

	if (nr == RESIDENT_MAX_STEPS)
		return -E2BIG;
	ret = resident_resize(b, (void **)&table->steps, sizeof(*table->steps),
			      nr, nr + 1);
	if (ret)
		return ret;
	table->steps[nr] = *step;
	table->nr_steps++;

	return nr;
}

/* From @start on, this is the rule. */
static int resident_add_row(struct resident_builder *b, unsigned long start,
			    u64 rule)
{
	struct resident_table *table = b->table;
	int ret, which;

	which = resident_add_rule(b, rule);
	if (which < 0)
		return which;
	if (table->nr_rows && table->which[table->nr_rows - 1] == which)
		return 0;

	/* One more is for what comes after the last. */
	if (table->nr_rows + 1 >= b->room) {
		ret = resident_resize_rows(b, max(2 * b->room, 256));
		if (ret)
			return ret;
	}
	table->starts[table->nr_rows] = start - table->base;
	table->which[table->nr_rows++] = which;

	return 0;
}

/* The word for what the section says about an address, or a negative error. */
static int resident_get_rule(struct resident_builder *b,
			     const struct sframe_section *sec,
			     unsigned long addr, u64 *rule, u32 *size)
{
	struct unwind_rule found;
	int ret;

	ret = sframe_find_row(sec, addr, &found, size);
	if (ret == -ENODATA) {
		*rule = KEPT_TYPE(KEPT_NOTHING);
		return 0;
	}
	if (ret)
		return ret == -ENOENT ? -EINVAL : ret;

	*rule = kept_rule(&found.step);
	if (kept_type(*rule) != KEPT_ASIDE)
		return 0;

	ret = resident_add_step(b, &found.step);
	if (ret < 0)
		return ret;
	*rule |= (u64)ret << 32;

	return 0;
}

/*
 * Adds the rows of a function from @start to @end, which the next one may have cut
 * short.
 */
static int resident_add_function(struct resident_builder *b,
				 const struct sframe_section *sec,
				 unsigned long start, unsigned long end)
{
	u64 rule;
	u32 size;
	int ret;

	if (start > b->end) {
		ret = resident_add_row(b, b->end, KEPT_TYPE(KEPT_UNCOVERED));
		if (ret)
			return ret;
	}
	for (; start < end; start += size) {
		/* A small section may have a great many rows, all alike. */
		cond_resched();
		if (fatal_signal_pending(current))
			return -EINTR;
		ret = resident_get_rule(b, sec, start, &rule, &size);
		if (!ret && !size)
			ret = -EINVAL;
		if (!ret)
			ret = resident_add_row(b, start, rule);
		if (ret)
			return ret;
	}
	b->end = end;

	return 0;
}

/* Is the extent at or above the base, with an end that fits into an offset? */
static bool resident_extent_ok(const struct resident_table *table,
			       unsigned long start, u32 size)
{
	return start >= table->base && start - table->base <= U32_MAX - size;
}

static int resident_add_functions(struct resident_builder *b,
				  const struct sframe_section *sec)
{
	unsigned long start, next;
	u32 size, next_size, nr;
	int ret;

	if (!sec->num_fdes)
		return -ENODATA;
	ret = sframe_get_fde(sec, 0, &start, &size);
	b->table->base = start;
	b->end = start;
	for (nr = 0; !ret && nr < sec->num_fdes; nr++) {
		next = ULONG_MAX;
		next_size = 0;
		if (nr + 1 < sec->num_fdes)
			ret = sframe_get_fde(sec, nr + 1, &next, &next_size);
		if (ret)
			return ret;
		/* Sorted, and not so far apart that offsets do not fit. */
		if (next < start || !resident_extent_ok(b->table, start, size))
			return -EINVAL;
		if (start < next)
			ret = resident_add_function(b, sec, start,
						    min(start + size, next));
		start = next;
		size = next_size;
	}

	return ret;
}

static int resident_make_blocks(struct resident_builder *b)
{
	struct resident_table *table = b->table;
	u32 nr = (table->size >> RESIDENT_BLOCK_SHIFT) + 1, i, row = 0;
	int ret;

	/* Two functions 4 GiB apart would take the room of all files. */
	if (nr > RESIDENT_FREE_BLOCKS + (u64)RESIDENT_ROW_BLOCKS * table->nr_rows)
		return -E2BIG;

	ret = resident_resize(b, (void **)&table->blocks,
			      sizeof(*table->blocks), 0, nr);
	if (ret)
		return ret;

	for (i = 0; i < nr; i++) {
		while (row + 1 < table->nr_rows &&
		       table->starts[row + 1] <=
		       (u64)i << RESIDENT_BLOCK_SHIFT)
			row++;
		table->blocks[i] = row;
	}

	return 0;
}

static int resident_fill(struct resident_builder *b,
			 const struct sframe_section *sec)
{
	struct resident_table *table = b->table;
	int ret;

	ret = resident_add_functions(b, sec);
	if (ret)
		return ret;
	if (!table->nr_rows)
		return -ENODATA;
	table->size = b->end - table->base;

	table->starts[table->nr_rows] = U32_MAX;
	ret = resident_resize_rows(b, table->nr_rows + 1);
	if (!ret)
		ret = resident_resize_rules(b, table->nr_rules);

	return ret ?: resident_make_blocks(b);
}

/**
 * resident_build() - build a table from an SFrame section
 * @sec: the section, in the memory of the current task, with its header set
 * @max: bytes that the table may take
 *
 * The section may change while it is read: the table has what was read.
 *
 * Context: process; may fault.
 * Return: the table, for resident_free(), or an error: -EINVAL if the section is
 * malformed anywhere or its FDEs are not sorted, -EOPNOTSUPP for an encoding that is
 * not decoded, -ENODATA if there is no function, -EFAULT if it cannot be read, -ENOSPC
 * if the table would exceed @max, -E2BIG if there are too many rules, or too few rows
 * for so much text, -EINTR, -ENOMEM.
 */
struct resident_table *resident_build(const struct sframe_section *sec,
				      size_t max)
{
	u16 *hash __free(kvfree) = kvcalloc(1U << RESIDENT_HASH_BITS,
					    sizeof(*hash), GFP_KERNEL);
	struct resident_builder b = { .max = max, .hash = hash };
	int ret;

	b.table = kzalloc_obj(*b.table, GFP_KERNEL_ACCOUNT);
	if (!hash || !b.table) {
		kfree(b.table);
		return ERR_PTR(-ENOMEM);
	}
	b.table->bytes = sizeof(*b.table);

	ret = resident_fill(&b, sec);
	if (ret) {
		resident_free(b.table);
		return ERR_PTR(ret);
	}

	return b.table;
}

/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _UNWIND_RESIDENT_H
#define _UNWIND_RESIDENT_H

#include <linux/nospec.h>
#include <linux/types.h>

#include "kept_rule.h"
#include "rule.h"
#include "sframe.h"

/**
 * struct resident_table - what an SFrame section says, in the kernel's memory
 * @base: link-time address of the first byte that it covers
 * @size: bytes from there to the end of the last function
 * @nr_rows: entries in @starts and @which
 * @nr_rules: entries in @rules
 * @nr_steps: entries in @steps
 * @blocks: for every 64 bytes, the row of the first of them
 * @starts: where each row starts, counted from @base, in ascending order; U32_MAX after
 *	the last one
 * @which: the rule of each row, as its number in @rules
 * @rules: the rules, each once: %KEPT_UNCOVERED between functions, %KEPT_NOTHING in
 *	functions without a rule, and with %KEPT_ASIDE the number of the rule in @steps
 *	in the upper half
 * @steps: rules that do not fit into a word
 * @bytes: total memory that it takes
 *
 * Building it has checked the section that it is from; it does not change, and can be
 * read in any context.
 */
struct resident_table {
	unsigned long		base;
	u32			size;
	u32			nr_rows;
	u32			nr_rules;
	u32			nr_steps;
	u32			*blocks;
	u32			*starts;
	u16			*which;
	u64			*rules;
	struct unwind_step	*steps;
	size_t			bytes;
};

/* Some three rows are in so many bytes, and never more than 64. */
#define RESIDENT_BLOCK_SHIFT	6

struct resident_table *resident_build(const struct sframe_section *sec,
				      size_t max);
void resident_free(struct resident_table *table);

/*
 * The last row that starts at or before @off, which is less than @table->size; the
 * branch that established this may have been predicted, for an address that user space
 * has chosen.
 */
static __always_inline u32 resident_row(const struct resident_table *table,
					u32 off)
{
	u32 row;

	off = array_index_nospec(off, table->size);
	row = table->blocks[off >> RESIDENT_BLOCK_SHIFT];

	while (table->starts[row + 1] <= off)
		row++;

	return row;
}

static __always_inline u64 resident_row_rule(const struct resident_table *table,
					     u32 row)
{
	return table->rules[table->which[row]];
}

static inline bool resident_is_signal(const struct resident_table *table,
				      u64 rule)
{
	return kept_type(rule) == KEPT_SIGNAL ||
	       (kept_type(rule) == KEPT_ASIDE &&
		(table->steps[rule >> 32].flags & UNWIND_RULE_SIGNAL));
}

/*
 * As resident_find() for an address in [@table->base, @table->base + @table->size), or
 * one after it if not @exact; leaves what does not fit into a word where it is.
 */
static __always_inline u64 resident_find_word(const struct resident_table *table,
					      unsigned long addr, bool exact)
{
	const u32 off = addr - !exact - table->base;
	u32 row = resident_row(table, off);
	u64 rule = resident_row_rule(table, row), next;

	if (!exact && unlikely(table->starts[row + 1] == off + 1) &&
	    row + 1 < table->nr_rows) {
		next = resident_row_rule(table, row + 1);
		if (resident_is_signal(table, next))
			rule = next;
	}

	return rule;
}

/**
 * resident_find() - find the rule for a frame
 * @table: the table
 * @addr: link-time address that the frame is at or returns to
 * @exact: whether it is there, rather than returning there
 * @step: where to store the rule if it does not fit into a word
 *
 * A return address may be one past the last byte of the calling function, so the byte
 * before it is looked up; but a signal handler returns to code that nobody called.
 *
 * Context: any.
 * Return: the rule, %KEPT_UNCOVERED outside of functions, %KEPT_NOTHING in a function
 * that has no rule there.
 */
static __always_inline u64 resident_find(const struct resident_table *table,
					 unsigned long addr, bool exact,
					 struct unwind_step *step)
{
	u64 rule;

	if (addr - !exact - table->base >= table->size)
		return KEPT_TYPE(KEPT_UNCOVERED);

	rule = resident_find_word(table, addr, exact);
	if (kept_type(rule) == KEPT_ASIDE)
		*step = table->steps[rule >> 32];

	return rule;
}

/**
 * resident_find_hole() - find how far around an address there is no function
 * @table: the table, which covers the address
 * @addr: the address
 * @bias: what to add to it to get its link-time address
 * @start: raised to where the hole starts, if that is higher
 * @end: lowered to where the hole ends, less its last byte, if that is lower: what
 *	returns to the end of a hole may return to a signal's frame
 *
 * Context: any.
 * Return: whether there is one.
 */
static inline bool resident_find_hole(const struct resident_table *table,
				      unsigned long addr, u64 bias,
				      unsigned long *start, unsigned long *end)
{
	const u32 row = resident_row(table, addr + bias - table->base);
	const u32 last = min(table->starts[row + 1], table->size) - 1;

	if (kept_type(resident_row_rule(table, row)) != KEPT_UNCOVERED)
		return false;
	*start = max(*start, table->base + table->starts[row] - bias);
	*end = min(*end, table->base + last - bias);

	return true;
}

#endif /* _UNWIND_RESIDENT_H */

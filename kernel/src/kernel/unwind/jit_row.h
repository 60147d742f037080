/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef _UNWIND_JIT_ROW_H
#define _UNWIND_JIT_ROW_H

/*
 * Rows of compiled code: what the readers of chains and of granule maps share
 *
 * Functions that run inside a user access window are __always_inline: objtool allows no
 * calls there.
 */
#include <linux/errno.h>
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <linux/types.h>
#include <linux/uaccess.h>

#include "jit.h"
#include "user_load.h"

/**
 * struct jit_walk - a walk along the chain
 * @off: the offset that is looked for
 * @descending: the order of rows
 * @table: address of the table to look into
 * @nr: rows in it
 * @limit: what the tables before leave to this one: what is below, or from there on if
 *	rows ascend
 * @hops: tables passed so far
 * @rows: rows that the bisection looks at
 * @err: -EFAULT once a load has faulted, which then gives 0; else 0
 */
struct jit_walk {
	u32		off;
	bool		descending;
	unsigned long	table;
	unsigned long	nr;
	u64		limit;
	unsigned int	hops;
	unsigned int	rows;
	long		err;
};

#define jit_row_addr(table, nr)						\
	((table) + sizeof(struct code_jit_unwind_table) +		\
	 (unsigned long)(nr) * sizeof(struct code_jit_unwind_fre))

/* Two adjacent fields, at a multiple of 8, by one load. */
static __always_inline void jit_get_pair(struct jit_walk *walk,
					 unsigned long addr, u32 *first,
					 u32 *second)
{
	union {
		u64	both;
		u32	each[2];
	} pair;

	pair.both = unwind_user_load_u64(addr, &walk->err);
	*first = pair.each[0];
	*second = pair.each[1];
}

static __always_inline u32 jit_get_start(struct jit_walk *walk,
					 unsigned long addr)
{
	addr += offsetof(struct code_jit_unwind_fre, ip_off);

	return unwind_user_load_u32(addr, &walk->err);
}

static __always_inline void jit_get_range(struct jit_walk *walk,
					  unsigned long addr, u32 *start,
					  u32 *size)
{
	jit_get_pair(walk, addr + offsetof(struct code_jit_unwind_fre, size),
		     size, start);
}

static __always_inline void jit_get_rule(struct jit_walk *walk,
					 unsigned long addr,
					 struct code_jit_unwind_fre *fre)
{
	u32 cfa, ra, fp, bits;

	jit_get_pair(walk, addr + offsetof(struct code_jit_unwind_fre, cfa_off),
		     &cfa, &ra);
	jit_get_pair(walk, addr + offsetof(struct code_jit_unwind_fre, fp_off),
		     &fp, &bits);

	fre->cfa_off = cfa;
	fre->ra_off = ra;
	fre->fp_off = fp;
	/* Includes @__reserved. */
	memcpy(&fre->info, &bits, sizeof(bits));
}

/* -ENODATA: the row does not cover the address. */
static __always_inline int jit_get_row(struct jit_walk *walk,
				       unsigned long addr,
				       struct code_jit_unwind_fre *fre)
{
	jit_get_range(walk, addr, &fre->ip_off, &fre->size);
	if (walk->off < fre->ip_off || walk->off - fre->ip_off >= fre->size)
		return -ENODATA;
	jit_get_rule(walk, addr, fre);

	return 0;
}

/*
 * The only row that can cover the address is the last one, by address, that does not
 * start after it.  @first is the one with the lowest address.
 */
static __always_inline int jit_bisect(struct jit_walk *walk,
				      unsigned long first, bool descending,
				      struct code_jit_unwind_fre *fre,
				      unsigned long *row)
{
	const unsigned long size = sizeof(struct code_jit_unwind_fre);
	unsigned long mid, step;

	/*
	 * It is in one of two overlapping runs of rows, each as long as a power of two;
	 * from there on a run is halved.  No run leaves the table, whether what is read
	 * of it is right or 0.
	 */
	walk->rows = ilog2(walk->nr) + 1;
	step = rounddown_pow_of_two(walk->nr) * size;
	mid = walk->nr * size - step;
	mid = descending ? first - mid : first + mid;
	if (jit_get_start(walk, mid) <= walk->off)
		first = mid;
	for (step /= 2; step >= size; step /= 2) {
		mid = descending ? first - step : first + step;
		if (jit_get_start(walk, mid) <= walk->off)
			first = mid;
	}

	*row = first;
	return jit_get_row(walk, first, fre);
}

/* -E2BIG: the budget is used up. */
static inline int jit_pay(unsigned int *budget, unsigned int steps)
{
	*budget -= min(*budget, steps);

	return *budget ? 0 : -E2BIG;
}

#endif /* _UNWIND_JIT_ROW_H */

// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Reader of the tables of compiled code
 *
 * The tables lie in user memory, grow while they are read, and may hold
 * anything.  What a writer and a reader that keep to the protocol do:
 *
 *	writer				reader
 *	------				------
 *	rows				used_len
 *	release			(a)	acquire, pairs with (a)
 *	used_len			rows, the last one first
 *
 *	rows and used_len of		next
 *	the next table			acquire, pairs with (b)
 *	release			(b)	used_len of the next table
 *	next
 *
 *	seq, odd			seq, even
 *	write barrier		(c)	acquire, pairs with (d)
 *	whatever is rewritten		all of the above
 *	release			(d)	read barrier, pairs with (c)
 *	seq, even			seq, the same
 *
 * Each field is read by one load, which is bounded to a range that access_ok()
 * has passed.  No loop runs more often than CODE_JIT_MAX_TABLES or 32 times.
 *
 * The file depends on a few headers of the kernel only, so that it can be
 * compiled for user space too.  Functions that run inside a user access window
 * are __always_inline: objtool allows no call there.
 */
#include <linux/errno.h>
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/sched/signal.h>
#include <linux/string.h>
#include <linux/types.h>
#include <linux/uaccess.h>

#include <asm/barrier.h>

#include "jit.h"

/* Rows that a table is searched for: their first bytes are 32 bits wide. */
#define JIT_MAX_ROWS	0xffffffffU

/**
 * struct jit_walk - a walk along the chain
 * @off: what is looked for
 * @descending: the order of rows
 * @table: address of the table to look into
 * @nr: rows in it
 * @last: first byte of the last row of the table before
 * @last_end: end of that row
 * @hops: tables behind
 */
struct jit_walk {
	u32		off;
	bool		descending;
	unsigned long	table;
	u32		nr;
	u32		last;
	u64		last_end;
	unsigned int	hops;
};

#define jit_get(val, addr, label)				\
	unsafe_get_user(val, (typeof(val) __user *)(addr), label)

#define jit_row_addr(table, nr)						\
	((table) + sizeof(struct code_jit_unwind_table) +		\
	 (unsigned long)(nr) * sizeof(struct code_jit_unwind_fre))

/* Two fields that lie side by side, at a multiple of 8, by one load. */
static __always_inline bool jit_get_pair(unsigned long addr, u32 *first,
					 u32 *second)
{
	union {
		u64	both;
		u32	each[2];
	} pair;

	jit_get(pair.both, addr, fault);
	*first = pair.each[0];
	*second = pair.each[1];

	return true;
fault:
	return false;
}

static __always_inline bool jit_get_range(unsigned long addr, u32 *start,
					  u32 *size)
{
	return jit_get_pair(addr + offsetof(struct code_jit_unwind_fre, size),
			    size, start);
}

static __always_inline bool jit_get_rule(unsigned long addr,
					 struct code_jit_unwind_fre *fre)
{
	u32 cfa, ra, fp, bits;

	if (!jit_get_pair(addr + offsetof(struct code_jit_unwind_fre, cfa_off),
			  &cfa, &ra) ||
	    !jit_get_pair(addr + offsetof(struct code_jit_unwind_fre, fp_off),
			  &fp, &bits))
		return false;

	fre->cfa_off = cfa;
	fre->ra_off = ra;
	fre->fp_off = fp;
	/* With @__reserved. */
	memcpy(&fre->info, &bits, sizeof(bits));

	return true;
}

/* -ENODATA: the row does not cover the address. */
static __always_inline int jit_get_row(unsigned long addr, u32 off,
				       struct code_jit_unwind_fre *fre)
{
	if (!jit_get_range(addr, &fre->ip_off, &fre->size))
		return -EFAULT;
	if (off < fre->ip_off || off - fre->ip_off >= fre->size)
		return -ENODATA;

	return jit_get_rule(addr, fre) ? 0 : -EFAULT;
}

/* How many rows there are; none of them leaves user space. */
static __always_inline int jit_get_nr(struct jit_walk *walk)
{
	unsigned long rows = jit_row_addr(walk->table, 0);
	u64 used, reserved;

	jit_get(used, walk->table +
		offsetof(struct code_jit_unwind_table, used_len), fault);
	/* Before the rows; pairs with (a). */
	smp_rmb();
	jit_get(reserved, walk->table +
		offsetof(struct code_jit_unwind_table, reserved_len), fault);

	used = min3(used, reserved, (u64)(TASK_SIZE_MAX - rows));
	used /= sizeof(struct code_jit_unwind_fre);
	walk->nr = min_t(u64, used, JIT_MAX_ROWS);

	return 0;
fault:
	return -EFAULT;
}

/*
 * Does the table follow the one before?  If not, nobody knows what else is wrong,
 * nor whether there is a row for the address somewhere.
 */
static __always_inline int jit_check_order(struct jit_walk *walk)
{
	u32 start, size;

	if (!walk->hops)
		return 0;

	if (!jit_get_range(jit_row_addr(walk->table, 0), &start, &size))
		return -EFAULT;

	if (walk->descending)
		return (u64)start + size <= walk->last ? 0 : -EINVAL;

	return start >= walk->last_end && start > walk->last ? 0 : -EINVAL;
}

/*
 * Go to the next table, -EAGAIN, if there is one and what is looked for lies behind
 * the last row here.
 */
static __always_inline int jit_skip_table(struct jit_walk *walk)
{
	u32 start, size;
	u64 next;

	jit_get(next, walk->table +
		offsetof(struct code_jit_unwind_table, next), fault);
	if (!next)
		return 0;
	/* Before the next table; pairs with (b). */
	smp_rmb();

	if (!jit_get_range(jit_row_addr(walk->table, walk->nr - 1), &start,
			   &size))
		return -EFAULT;

	if (walk->descending ? walk->off >= start :
			       walk->off < (u64)start + size)
		return 0;

	walk->last = start;
	walk->last_end = (u64)start + size;
	walk->table = next;
	walk->hops++;

	return -EAGAIN;
fault:
	return -EFAULT;
}

/*
 * The only row that can cover the address is the last one, by address, that does
 * not start behind it.  @first is the one with the lowest address.
 */
static __always_inline int jit_bisect(const struct jit_walk *walk,
				      unsigned long first, bool descending,
				      struct code_jit_unwind_fre *fre,
				      unsigned long *row)
{
	const unsigned long size = sizeof(struct code_jit_unwind_fre);
	unsigned long mid, step;
	u32 start;

	/*
	 * Of two runs of rows that overlap, as long as a power of two each, it is
	 * in one; from there on a run is halved.  No run leaves the table.
	 */
	step = rounddown_pow_of_two((unsigned long)walk->nr) * size;
	mid = walk->nr * size - step;
	mid = descending ? first - mid : first + mid;
	jit_get(start, mid + offsetof(struct code_jit_unwind_fre, ip_off),
		fault);
	if (start <= walk->off)
		first = mid;
	for (step /= 2; step >= size; step /= 2) {
		mid = descending ? first - step : first + step;
		jit_get(start, mid +
			offsetof(struct code_jit_unwind_fre, ip_off), fault);
		if (start <= walk->off)
			first = mid;
	}

	*row = first;
	return jit_get_row(first, walk->off, fre);
fault:
	return -EFAULT;
}

static __always_inline int jit_search_table(struct jit_walk *walk,
					    struct code_jit_unwind_fre *fre,
					    unsigned long *row)
{
	int ret;

	ret = jit_get_nr(walk);
	if (ret)
		return ret;
	if (!walk->nr)
		return -ENODATA;

	ret = jit_check_order(walk);
	if (ret)
		return ret;
	ret = jit_skip_table(walk);
	if (ret)
		return ret;

	if (walk->descending)
		return jit_bisect(walk, jit_row_addr(walk->table, walk->nr - 1),
				  true, fre, row);

	return jit_bisect(walk, jit_row_addr(walk->table, 0), false, fre, row);
}

/* -ENODATA: no row covers the address. */
static int jit_find_row(const struct jit_unwind *jit, u32 off,
			struct code_jit_unwind_fre *fre, unsigned long *row)
{
	struct jit_walk walk = {
		.off = off,
		.descending = jit->flags & CODE_JIT_DESCENDING,
		.table = jit->head,
	};
	int ret;

	if (!walk.table)
		return -ENODATA;

	while (walk.hops < CODE_JIT_MAX_TABLES) {
		/* Without page faults nothing here waits. */
		if (fatal_signal_pending(current) && !pagefault_disabled())
			return -EINTR;

		if (walk.table % sizeof(u64) ||
		    walk.table > TASK_SIZE_MAX -
				 sizeof(struct code_jit_unwind_table))
			return -EFAULT;
		if (!user_read_access_begin((void __user *)walk.table,
					    TASK_SIZE_MAX - walk.table))
			return -EFAULT;
		ret = jit_search_table(&walk, fre, row);
		user_read_access_end();
		if (ret != -EAGAIN)
			return ret;
	}

	return -EINVAL;
}

/* -EAGAIN: the rows are being rewritten. */
static int jit_seq_begin(const struct jit_unwind *jit, u32 *seq)
{
	*seq = 0;
	if (!jit->seq)
		return 0;

	if (get_user(*seq, (u32 __user *)jit->seq))
		return -EFAULT;
	/* Before the tables; pairs with (d). */
	smp_rmb();

	return *seq & 1 ? -EAGAIN : 0;
}

/* -EAGAIN: the rows were rewritten since. */
static int jit_seq_end(const struct jit_unwind *jit, u32 seq)
{
	u32 now;

	if (!jit->seq)
		return 0;

	/* After the tables; pairs with (c). */
	smp_rmb();
	if (get_user(now, (u32 __user *)jit->seq))
		return -EFAULT;

	return now == seq ? 0 : -EAGAIN;
}

static __always_inline int
jit_find_once(const struct jit_unwind *jit, u32 off,
	      struct code_jit_unwind_fre *fre, struct jit_place *place)
{
	int ret, ret_seq;

	ret = jit_seq_begin(jit, &place->seq);
	if (ret)
		return ret;

	ret = jit_find_row(jit, off, fre, &place->row);
	/* What was rewritten may have been unmapped as well. */
	ret_seq = jit_seq_end(jit, place->seq);

	return ret_seq ? ret_seq : ret;
}

/**
 * jit_find_place() - find the rule for an address in compiled code
 * @jit: where the rows are
 * @off: the address, counted from the start of the range
 * @fre: where the rule is stored, with the bytes that it covers; if not all of
 *	what it says is understood, as %CODE_FRE_UNKNOWN
 * @place: where is stored what jit_find_again() wants to know
 *
 * Context: may fault, unless page faults are disabled.
 * Return: 0, -ENODATA if nothing covers the address, -EINVAL if the chain is
 * broken or too long before that is known, -EFAULT if a table cannot be read,
 * -EAGAIN if rows were being rewritten twice in a row, -EINTR if the
 * task is being killed.
 */
int jit_find_place(const struct jit_unwind *jit, u32 off,
		   struct code_jit_unwind_fre *fre, struct jit_place *place)
{
	unsigned int tries = 2;
	int ret;

	do {
		ret = jit_find_once(jit, off, fre, place);
	} while (ret == -EAGAIN && --tries);

	if (ret == -ENODATA && (jit->flags & CODE_JIT_DEFAULT_RULE)) {
		place->row = 0;
		*fre = jit->rule;
		fre->ip_off = off;
		fre->size = 1;
		return 0;
	}
	if (!ret && !jit_fre_known(fre))
		fre->info = CODE_FRE_UNKNOWN;

	return ret;
}

/**
 * jit_row_remains() - does a row still say what it said?
 * @row: address of the row, from jit_find_place()
 * @counter: address of the counter, or 0
 * @seq: what the counter was, from jit_find_place()
 *
 * A row stays where it is, and what it is, until the counter changes; what it
 * may do is to retire.
 *
 * Context: may fault, unless page faults are disabled.
 * Return: whether it does; if not, jit_find_place() will tell more.
 */
bool jit_row_remains(unsigned long row, unsigned long counter, u32 seq)
{
	u32 size, now = seq;

	if (!user_read_access_begin((void __user *)row, sizeof(size)))
		return false;
	jit_get(size, row + offsetof(struct code_jit_unwind_fre, size), fault);
	user_read_access_end();

	if (!counter)
		return size;
	/* After the row; pairs with (c). */
	smp_rmb();
	return !get_user(now, (u32 __user *)counter) && now == seq && size;

fault:
	user_read_access_end();
	return false;
}

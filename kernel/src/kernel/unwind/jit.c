// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Reader of the tables of compiled code
 *
 * The tables are in user memory, grow while they are read, and may contain anything.
 * What a writer and a reader that follow the protocol do:
 *
 *	writer				reader
 *	------				------
 *	rows				used_len
 *	release			(a)	acquire, pairs with (a)
 *	used_len			rows, the last one first
 *
 *	rows and used_len of		next
 *	the next table, and		acquire, pairs with (b)
 *	size of a last row that		the last row, used_len of the
 *	has retired			next table
 *	release			(b)
 *	next
 *
 *	seq, odd			seq, even
 *	write barrier		(c)	acquire, pairs with (d)
 *	whatever is rewritten		all of the above
 *	release			(d)	read barrier, pairs with (c)
 *	seq, even			seq, the same
 *
 * A row that was found before is valid as long as its size is not 0 and then, after
 * another read barrier that pairs with (c), seq is the same.
 *
 * Each field is read by one load, which is bounded to a range that access_ok() has
 * passed.  No loop runs more often than CODE_JIT_MAX_TABLES times.
 *
 * The file needs only a few kernel headers, so that it can be compiled for user space,
 * too.
 */
#include <linux/errno.h>
#include <linux/minmax.h>
#include <linux/nospec.h>
#include <linux/sched/signal.h>
#include <linux/types.h>
#include <linux/uaccess.h>

#include <asm/barrier.h>

#include "granules.h"
#include "jit.h"
#include "jit_row.h"
#include "user_load.h"

/* How many rows there are, all of them within user space. */
static __always_inline void jit_get_nr(struct jit_walk *walk)
{
	const u64 room = TASK_SIZE_MAX - jit_row_addr(walk->table, 0);
	u64 used, reserved;

	used = unwind_user_load_u64(walk->table +
		offsetof(struct code_jit_unwind_table, used_len), &walk->err);
	/* Before the rows; pairs with (a). */
	smp_rmb();
	reserved = unwind_user_load_u64(walk->table +
		offsetof(struct code_jit_unwind_table, reserved_len), &walk->err);

	/* No row beyond the room is read speculatively, either. */
	used = array_index_nospec(min3(used, reserved, room), room + 1);
	walk->nr = used / sizeof(struct code_jit_unwind_fre);
}

/*
 * Does the table follow the one before?  If not, nobody knows what else is wrong, nor
 * whether there is a row for the address somewhere.
 */
static __always_inline bool jit_in_order(struct jit_walk *walk)
{
	u32 start, size;

	if (!walk->hops)
		return true;

	jit_get_range(walk, jit_row_addr(walk->table, 0), &start, &size);
	if (walk->descending)
		return (u64)start + size <= walk->limit;

	return start >= walk->limit;
}

/*
 * Go to the next table if there is one and what is looked for comes after the last row
 * here.
 */
static __always_inline bool jit_skip_table(struct jit_walk *walk)
{
	u32 start, size;
	u64 next;

	next = unwind_user_load_u64(walk->table +
		offsetof(struct code_jit_unwind_table, next), &walk->err);
	if (!next)
		return false;
	/*
	 * Before the next table, and before the last row here: whoever sees a table
	 * that starts inside a retired row has to see that it has retired, or the chain
	 * would look broken.  Pairs with (b).
	 */
	smp_rmb();

	jit_get_range(walk, jit_row_addr(walk->table, walk->nr - 1), &start,
		      &size);
	if (walk->descending ? walk->off >= start :
			       walk->off < start || walk->off - start < size)
		return false;

	/* A retired row still takes its first byte. */
	walk->limit = walk->descending ? start : (u64)start + max(size, 1U);
	walk->table = next;
	walk->hops++;

	return true;
}

/* -EAGAIN: what is looked for is not here, but maybe in the next table. */
static __always_inline int jit_search_table(struct jit_walk *walk,
					    struct code_jit_unwind_fre *fre,
					    unsigned long *row)
{
	jit_get_nr(walk);
	if (!walk->nr)
		return -ENODATA;
	if (!jit_in_order(walk))
		return -EINVAL;
	if (jit_skip_table(walk))
		return -EAGAIN;

	if (walk->descending)
		return jit_bisect(walk, jit_row_addr(walk->table, walk->nr - 1),
				  true, fre, row);

	return jit_bisect(walk, jit_row_addr(walk->table, 0), false, fre, row);
}

/* -ENODATA: no row covers the address. */
static int jit_find_row(const struct jit_unwind *jit, u32 off,
			struct code_jit_unwind_fre *fre, unsigned long *row,
			unsigned int *budget)
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
		if (walk.table > TASK_SIZE_MAX -
				 sizeof(struct code_jit_unwind_table) ||
		    !user_read_access_begin((void __user *)walk.table,
					    TASK_SIZE_MAX - walk.table))
			return -EFAULT;
		ret = jit_search_table(&walk, fre, row);
		user_read_access_end();
		if (walk.err)
			return walk.err;
		if (ret != -EAGAIN)
			return jit_pay(budget, walk.rows) ?: ret;

		if (jit_pay(budget, 1))
			return -E2BIG;
		if (walk.table % sizeof(u64))
			return -EFAULT;
		/* Without page faults nothing here waits. */
		if (fatal_signal_pending(current) && !pagefault_disabled())
			return -EINTR;
	}

	return -EINVAL;
}

/* -EAGAIN: the rows are being rewritten. */
static int jit_seq_begin(const struct jit_unwind *jit, u32 *seq)
{
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
	      struct code_jit_unwind_fre *fre, struct jit_place *place,
	      unsigned int *budget)
{
	int ret, ret_seq;
	u32 seq = 0;

	ret = jit_seq_begin(jit, &seq);
	if (ret)
		return ret;

	ret = jit_find_row(jit, off, fre, &place->row, budget);
	/* What was rewritten may have been unmapped as well. */
	ret_seq = jit_seq_end(jit, seq);
	place->seq = seq;

	return ret_seq ? ret_seq : ret;
}

/**
 * jit_find_place() - find the rule for an address in compiled code
 * @jit: where the rows are, in a chain of tables or a granule map
 * @off: the address, counted from the start of the range
 * @fre: where to store the rule, with the bytes that it covers; if not all that it says
 *	is understood, as %CODE_FRE_UNKNOWN
 * @place: where to store what jit_row_remains() needs
 * @budget: how many tables and rows may be looked at, not 0; reduced by those that were
 *
 * Context: may fault, unless page faults are disabled.
 * Return: 0, -ENODATA if nothing covers the address, -EINVAL if the chain is broken or
 * too long before that is known, or a record is not in the pool, -EFAULT if a table
 * cannot be read, -E2BIG if @budget is used up, -EAGAIN if rows were being rewritten
 * twice in a row, -EINTR if the task is being killed.
 */
int jit_find_place(const struct jit_unwind *jit, u32 off,
		   struct code_jit_unwind_fre *fre, struct jit_place *place,
		   unsigned int *budget)
{
	unsigned int tries = 2;
	int ret;

	do {
		ret = jit->nr_slots ?
		      jit_find_granule(jit, off, fre, place, budget) :
		      jit_find_once(jit, off, fre, place, budget);
	} while (ret == -EAGAIN && --tries);

	if (!ret) {
		if (!jit_fre_known(fre))
			fre->info = CODE_FRE_UNKNOWN;
		return 0;
	}
	if (ret == -ENODATA && (jit->flags & CODE_JIT_DEFAULT_RULE)) {
		place->row = 0;
		*fre = jit->rule;
		fre->ip_off = off;
		fre->size = 1;
		return 0;
	}

	return ret;
}

/**
 * jit_row_remains() - does a row still say what it said?
 * @row: address of the row, from jit_find_place()
 * @counter: address of the counter, or 0
 * @seq: its value, if there is one, from jit_find_place()
 * @fre: where to store the rule, without the bytes that it covers
 *
 * A row stays where it is, and what it is, until the counter changes; all it may do is
 * to retire.
 *
 * Context: may fault, unless page faults are disabled.
 * Return: whether it does; if not, jit_find_place() will tell more.
 */
bool jit_row_remains(unsigned long row, unsigned long counter, u32 seq,
		     struct code_jit_unwind_fre *fre)
{
	struct jit_walk walk = {};
	u32 now;

	if (!unwind_user_begin(&row, sizeof(*fre)))
		return false;
	fre->size = unwind_user_load_u32(row +
					 offsetof(struct code_jit_unwind_fre,
						  size), &walk.err);
	jit_get_rule(&walk, row, fre);
	user_read_access_end();

	if (!fre->size || walk.err)
		return false;
	if (!counter)
		return true;
	/* After the row; pairs with (c). */
	smp_rmb();
	return !get_user(now, (u32 __user *)counter) && now == seq;
}

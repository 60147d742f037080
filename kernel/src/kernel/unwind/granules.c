// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Reader of granule maps: the tables of code that is placed and freed in any order
 *
 * They are in user memory, change while they are read, and may contain anything.  What
 * a writer and a reader that follow the protocol do:
 *
 *	writer				reader
 *	------				------
 *	seq of the record, odd		slot
 *	write barrier		(a)	seq, even
 *	the record			read barrier, pairs with (b) and (c)
 *	release			(b)	the record
 *	seq, even			read barrier, pairs with (a)
 *	release			(c)	seq and slot, the same
 *	the slots
 *
 * Slots and records are where the registration says, so that the bounds are known
 * before anything is read.
 *
 * The file needs only a few kernel headers, so that it can be compiled for user space,
 * too.
 */
#include <linux/errno.h>
#include <linux/minmax.h>
#include <linux/nospec.h>
#include <linux/types.h>
#include <linux/uaccess.h>

#include <asm/barrier.h>

#include "granules.h"
#include "jit_row.h"
#include "user_load.h"

#define GRANULE_RECORD_LEN	sizeof(struct code_jit_record)

/*
 * A row that was found: where its record is in the pool, in units of
 * CODE_JIT_RECORD_ALIGN bytes, and from this bit on the number of the row in it.
 */
#define GRANULE_ROW_NR_SHIFT	32

/**
 * struct granule - the function at an address
 * @slot: address of the slot
 * @was: what the slot contained: not 0
 * @record: address of the record
 * @room: how many rows fit into the rest of the pool
 * @seq: the counter of the record, even
 */
struct granule {
	unsigned long	slot;
	u32		was;
	unsigned long	record;
	unsigned long	room;
	u32		seq;
};

#define granule_load_u32(granule, field, err)				\
	unwind_user_load_u32((granule)->record +			\
			     offsetof(struct code_jit_record, field), err)

static __always_inline unsigned long granule_slot(const struct jit_unwind *jit,
						  u32 off)
{
	return jit->slots + sizeof(u32) *
	       array_index_nospec(off >> jit->shift, jit->nr_slots);
}

/* -ENODATA: there is none. */
static __always_inline int granule_begin(const struct jit_unwind *jit, u32 off,
					 struct granule *granule, long *err)
{
	const u64 last = jit->pool_len - GRANULE_RECORD_LEN;
	u64 at;

	granule->slot = granule_slot(jit, off);
	granule->was = unwind_user_load_u32(granule->slot, err);
	if (!granule->was)
		return -ENODATA;

	at = (u64)granule->was * CODE_JIT_RECORD_ALIGN;
	if (at > last)
		return -EINVAL;
	at = array_index_nospec(at, last + 1);
	granule->record = jit->pool + at;
	granule->room = (last - at) / sizeof(struct code_jit_unwind_fre);

	granule->seq = granule_load_u32(granule, seq, err);
	/* After both, before the rest of the record; pairs with (b) and (c). */
	smp_rmb();

	return granule->seq & 1 ? -EAGAIN : 0;
}

/* -EAGAIN: what was read of the record may be from two functions. */
static __always_inline int granule_end(const struct granule *granule, long *err)
{
	/* After all of the record; pairs with (a). */
	smp_rmb();

	return granule_load_u32(granule, seq, err) == granule->seq &&
	       unwind_user_load_u32(granule->slot, err) == granule->was ?
	       0 : -EAGAIN;
}

/* Where the function ends, if it covers the address; else 0. */
static __always_inline u64 granule_func_end(const struct granule *granule,
					    u32 off, long *err)
{
	u32 start = granule_load_u32(granule, start, err);
	u32 len = granule_load_u32(granule, len, err);

	return off >= start && off - start < len ? (u64)start + len : 0;
}

/* How many rows there are, all of them within the pool; -EINVAL: too many. */
static __always_inline int granule_get_nr(const struct granule *granule,
					  struct jit_walk *walk)
{
	unsigned long nr = granule_load_u32(granule, nr, &walk->err);

	if (nr > granule->room)
		return -EINVAL;
	/* No row beyond the pool is read speculatively, either. */
	walk->nr = array_index_nospec(nr, granule->room + 1);

	return 0;
}

/* -ENODATA: no row of the function covers the address. */
static __always_inline int granule_find_row(const struct granule *granule,
					    struct jit_walk *walk,
					    struct code_jit_unwind_fre *fre,
					    unsigned long *row)
{
	const u64 end = granule_func_end(granule, walk->off, &walk->err);
	int ret;

	if (!end)
		return -ENODATA;
	if (granule_get_nr(granule, walk))
		return -EINVAL;
	if (!walk->nr)
		return -ENODATA;

	ret = jit_bisect(walk, granule->record + GRANULE_RECORD_LEN, false, fre,
			 row);
	if (!ret)
		fre->size = min(fre->size, end - fre->ip_off);

	return ret;
}

static __always_inline unsigned long granule_row(const struct jit_unwind *jit,
						 const struct granule *granule,
						 unsigned long row)
{
	const u64 nr = (row - granule->record - GRANULE_RECORD_LEN) /
		       sizeof(struct code_jit_unwind_fre);

	return (row - jit->pool) / CODE_JIT_RECORD_ALIGN |
	       nr << GRANULE_ROW_NR_SHIFT;
}

static __always_inline bool granule_access_begin(const struct jit_unwind *jit)
{
	const unsigned long first = min(jit->slots, jit->pool);

	return user_read_access_begin((void __user *)first,
				      TASK_SIZE_MAX - first);
}

/**
 * jit_find_granule() - find the row for an address in a granule map
 * @jit: where the map is
 * @off: the address, counted from the start of the range
 * @fre: where to store the rule, with the bytes that it covers
 * @place: where to store what jit_granule_remains() needs
 * @budget: as for jit_find_place()
 *
 * Context: may fault, unless page faults are disabled.
 * Return: 0, -ENODATA if nothing covers the address, -EINVAL if what is there is not in
 * the pool, -EFAULT if it cannot be read, -E2BIG if @budget is used up, -EAGAIN if it
 * changed meanwhile.
 */
int jit_find_granule(const struct jit_unwind *jit, u32 off,
		     struct code_jit_unwind_fre *fre, struct jit_place *place,
		     unsigned int *budget)
{
	struct jit_walk walk = { .off = off };
	struct granule granule;
	unsigned long row;
	int ret;

	if (!granule_access_begin(jit))
		return -EFAULT;
	ret = granule_begin(jit, off, &granule, &walk.err);
	if (!ret) {
		ret = granule_find_row(&granule, &walk, fre, &row);
		place->row = ret ? 0 : granule_row(jit, &granule, row);
		place->seq = granule.seq;
		/* What has changed since may have been anything. */
		if (granule_end(&granule, &walk.err))
			ret = -EAGAIN;
	}
	user_read_access_end();
	if (walk.err)
		return walk.err;

	return jit_pay(budget, walk.rows + 1) ?: ret;
}

/**
 * jit_granule_remains() - does a row still say what it said?
 * @jit: where the map is
 * @off: the address, counted from the start of the range
 * @row: the row, from jit_find_granule() for that address
 * @seq: the counter of its record, from the same call
 * @fre: where to store the rule, without the bytes that it covers
 *
 * As long as the counter is the same, so are the record and what the row covers; and
 * the function is there as long as the slot names the record.
 *
 * Context: may fault, unless page faults are disabled.
 * Return: whether it does; if not, jit_find_granule() will tell more.
 */
bool jit_granule_remains(const struct jit_unwind *jit, u32 off,
			 unsigned long row, u32 seq,
			 struct code_jit_unwind_fre *fre)
{
	const u32 at = row, nr = row >> GRANULE_ROW_NR_SHIFT;
	const u32 was = at - (GRANULE_RECORD_LEN + nr * sizeof(*fre)) /
			     CODE_JIT_RECORD_ALIGN;
	const struct granule granule = {
		.slot = granule_slot(jit, off),
		.was = was,
		.record = jit->pool + (u64)was * CODE_JIT_RECORD_ALIGN,
		.seq = seq,
	};
	struct jit_walk walk = {};
	bool remains;

	if (!granule_access_begin(jit))
		return false;
	jit_get_rule(&walk, jit->pool + (u64)at * CODE_JIT_RECORD_ALIGN, fre);
	remains = !granule_end(&granule, &walk.err);
	user_read_access_end();

	return remains && !walk.err;
}

/**
 * jit_find_code_id() - find the owner's number of the function at an address
 * @jit: where the map is
 * @off: the address, counted from the start of the range
 * @code_id: where to store the number
 *
 * Context: may fault, unless page faults are disabled.
 * Return: 0, or an error as from jit_find_granule().
 */
int jit_find_code_id(const struct jit_unwind *jit, u32 off, u64 *code_id)
{
	struct granule granule;
	long err = 0;
	int ret;

	if (!granule_access_begin(jit))
		return -EFAULT;
	ret = granule_begin(jit, off, &granule, &err);
	if (!ret) {
		if (!granule_func_end(&granule, off, &err))
			ret = -ENODATA;
		*code_id = unwind_user_load_u64(granule.record +
			offsetof(struct code_jit_record, code_id), &err);
		if (granule_end(&granule, &err))
			ret = -EAGAIN;
	}
	user_read_access_end();

	return err ?: ret;
}

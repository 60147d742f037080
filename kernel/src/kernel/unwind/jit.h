/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef _UNWIND_JIT_H
#define _UNWIND_JIT_H

#include <uapi/linux/codectl.h>
#include <linux/types.h>

/* What a row may have in @info, and of what it may not have both. */
#define JIT_FRE_INFO_KNOWN						\
	(CODE_FRE_BASE_SP | CODE_FRE_FP_SAVED | CODE_FRE_OUTERMOST |	\
	 CODE_FRE_SIGNAL | CODE_FRE_UNKNOWN | CODE_FRE_RA_REG |		\
	 CODE_FRE_FP_UNDEF | CODE_FRE_SP_SAVED)
#define JIT_FRE_INFO_FP		(CODE_FRE_FP_SAVED | CODE_FRE_FP_UNDEF)

/**
 * struct jit_unwind - where the rows of a range of compiled code are
 * @head: address of the first table, or 0
 * @seq: address of the counter that is odd while rows are rewritten, or 0
 * @flags: CODE_JIT_*
 * @nr_slots: with %CODE_JIT_GRANULES one for each granule of the range, else 0
 * @slots: address of the first slot
 * @pool: address of the pool
 * @pool_len: bytes of the pool: room for at least one record
 * @shift: binary logarithm of the granule size in bytes
 * @rule: the default rule; its size and ip_off are not used
 *
 * @head, @seq, and all of the slots and the pool, are aligned and in user space; what
 * is there may be anything.
 */
struct jit_unwind {
	unsigned long			head;
	unsigned long			seq;
	u32				flags;
	u32				nr_slots;
	unsigned long			slots;
	unsigned long			pool;
	u64				pool_len;
	u32				shift;
	struct code_jit_unwind_fre	rule;
};

/**
 * jit_fre_known() - is everything that a row says understood?
 * @fre: the row
 *
 * Return: whether it is.
 */
static inline bool jit_fre_known(const struct code_jit_unwind_fre *fre)
{
	u32 info = fre->info | fre->__reserved[0] << 8 |
		   fre->__reserved[1] << 16 | (u32)fre->__reserved[2] << 24;

	return !(info & ~JIT_FRE_INFO_KNOWN) &&
	       (info & JIT_FRE_INFO_FP) != JIT_FRE_INFO_FP;
}

/**
 * struct jit_place - where a rule was found
 * @row: address of the row, or what granules.c has in its place; 0 for the default rule
 * @seq: what the counter was, if there is one; in a granule map that of the record
 */
struct jit_place {
	unsigned long	row;
	u32		seq;
};

int jit_find_place(const struct jit_unwind *jit, u32 off,
		   struct code_jit_unwind_fre *fre, struct jit_place *place,
		   unsigned int *budget);
bool jit_row_remains(unsigned long row, unsigned long counter, u32 seq,
		     struct code_jit_unwind_fre *fre);

static inline int jit_find(const struct jit_unwind *jit, u32 off,
			   struct code_jit_unwind_fre *fre)
{
	unsigned int budget = ~0U;
	struct jit_place place;

	return jit_find_place(jit, off, fre, &place, &budget);
}

#endif /* _UNWIND_JIT_H */

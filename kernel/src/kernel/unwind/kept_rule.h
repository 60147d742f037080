/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _UNWIND_KEPT_RULE_H
#define _UNWIND_KEPT_RULE_H

#include <linux/bits.h>
#include <linux/types.h>

#include <asm/unwind_user.h>

#include "rule.h"

/*
 * A rule in one word, for a cache and for registers:
 *
 *	7..4	enum kept_type
 *
 *	63..32	%KEPT_COMMON: the offset of the CFA
 *	31..16	that of FP
 *	1..0	%KEPT_FP_SAVED and %KEPT_BASE_FP
 *
 *	63..40	%KEPT_ANY: where FP, the return address and the CFA are, a byte each
 *	39..8	their offsets, in 8, 8 and 16 bits
 *
 *	63..8	%KEPT_ROW: the row that says it, as &struct jit_place has it
 *
 * Nearly all rules fit; one that does not is %KEPT_ASIDE.
 */
enum kept_type {
	KEPT_NOTHING,		/* no rule */
	KEPT_UNCOVERED,		/* no table covers the frame */
	KEPT_OUTERMOST,		/* there is no caller */
	KEPT_SIGNAL,		/* the kernel's frame for a signal */
	KEPT_ANY,		/* another one */
	KEPT_ASIDE,		/* in the &struct unwind_step that was found last */
	KEPT_ROW,		/* one that a row says, as long as it does */
	KEPT_COMMON = 8,	/* what kept_pack() packs; the only one with this bit */
};

#define KEPT_TYPE(type)		((u64)(type) << 4)
#define KEPT_ROW_SHIFT		8
#define KEPT_BASE_FP		BIT_ULL(0)
#define KEPT_FP_SAVED		BIT_ULL(1)

/* Where a call leaves the return address, from the CFA. */
#define KEPT_RA_OFF		(-(s32)sizeof(long))

static __always_inline enum kept_type kept_type(u64 rule)
{
	return (u8)rule >> 4;
}

static __always_inline bool kept_is_common(u64 rule)
{
	return (s8)rule < 0;
}

static __always_inline s32 kept_cfa_off(u64 rule)
{
	return (s64)rule >> 32;
}

static __always_inline s32 kept_fp_off(u64 rule)
{
	return (s32)rule >> 16;
}

/**
 * kept_pack() - pack a rule of the usual kind into a word
 * @flags: %KEPT_BASE_FP, %KEPT_FP_SAVED
 * @cfa: the offset of the CFA
 * @ra: that of the return address
 * @fp: that of FP, or 0
 *
 * Return: the word, of type %KEPT_ASIDE if the rule does not fit.
 */
static __always_inline u64 kept_pack(u64 flags, s32 cfa, s32 ra, s32 fp)
{
	/*
	 * %UNWIND_USER_FP_LOST is odd: an even offset from it gives no CFA, which is
	 * aligned.
	 */
	if (ra != KEPT_RA_OFF || (s16)fp != fp || cfa % 2)
		return KEPT_TYPE(KEPT_ASIDE);

	return KEPT_TYPE(KEPT_COMMON) | flags | (u64)(u16)fp << 16 |
	       (u64)(u32)cfa << 32;
}

/* What a frame pointer leads to, as a rule. */
#define KEPT_BY_FP	kept_pack(KEPT_BASE_FP | KEPT_FP_SAVED, 16, KEPT_RA_OFF, -16)

/* A location in seven bits: its kind, and its base or 31 for the CFA. */
static inline u64 kept_place(const struct unwind_loc *loc)
{
	return loc->kind << 5 | (loc->base & 31);
}

static inline u64 kept_any(const struct unwind_step *step)
{
	const struct unwind_loc *cfa = &step->cfa, *ra = &step->ra,
				*fp = &step->fp;

	if ((s16)cfa->off != cfa->off || (s8)ra->off != ra->off ||
	    (s8)fp->off != fp->off)
		return KEPT_TYPE(KEPT_ASIDE);

	return KEPT_TYPE(KEPT_ANY) | kept_place(fp) << 56 |
	       kept_place(ra) << 48 | kept_place(cfa) << 40 |
	       (u64)(u8)fp->off << 32 | (u64)(u8)ra->off << 24 |
	       (u64)(u16)cfa->off << 8;
}

static __always_inline u64 kept_common(const struct unwind_step *step)
{
	const bool saved = step->fp.kind == UNWIND_LOC_MEM;
	u64 rule, flags = 0;

	if (step->cfa.base != UNWIND_USER_REG_SP)
		flags |= KEPT_BASE_FP;
	if (saved)
		flags |= KEPT_FP_SAVED;

	rule = kept_pack(flags, step->cfa.off, step->ra.off,
			 saved ? step->fp.off : 0);

	return likely(kept_is_common(rule)) ? rule : kept_any(step);
}

/**
 * kept_rule() - pack a rule into a word
 * @step: the rule
 *
 * Return: the word, of type %KEPT_ASIDE if the rule does not fit.
 */
static __always_inline u64 kept_rule(const struct unwind_step *step)
{
	switch (step->flags) {
	case UNWIND_RULE_COMMON:
		return step->fp.kind == UNWIND_LOC_LOST ? kept_any(step) :
							  kept_common(step);
	case UNWIND_RULE_OUTERMOST:
		return KEPT_TYPE(KEPT_OUTERMOST);
	case UNWIND_RULE_SIGNAL:
		return KEPT_TYPE(KEPT_SIGNAL);
	case 0:
		return kept_any(step);
	default:
		return KEPT_TYPE(KEPT_ASIDE);
	}
}

static inline struct unwind_loc kept_loc(u8 place, s32 off)
{
	u8 base = place & 31;

	return (struct unwind_loc) {
		place >> 5, base == 31 ? UNWIND_BASE_CFA : base, off,
	};
}

static inline void kept_expand_common(u64 rule, struct unwind_step *step)
{
	step->cfa = (struct unwind_loc) {
		UNWIND_LOC_VAL,
		rule & KEPT_BASE_FP ? UNWIND_USER_REG_FP : UNWIND_USER_REG_SP,
		kept_cfa_off(rule),
	};
	step->ra = (struct unwind_loc) {
		UNWIND_LOC_MEM, UNWIND_BASE_CFA, KEPT_RA_OFF,
	};
	step->fp = (struct unwind_loc) {
		rule & KEPT_FP_SAVED ? UNWIND_LOC_MEM : UNWIND_LOC_SAME,
		UNWIND_BASE_CFA, kept_fp_off(rule),
	};
}

/**
 * kept_expand() - unpack a rule from a word
 * @rule: the word: %KEPT_COMMON, %KEPT_OUTERMOST, %KEPT_SIGNAL or %KEPT_ANY
 * @step: where to store the rule
 */
static inline void kept_expand(u64 rule, struct unwind_step *step)
{
	switch (kept_type(rule)) {
	case KEPT_COMMON:
		kept_expand_common(rule, step);
		step->flags = UNWIND_RULE_COMMON;
		break;
	case KEPT_OUTERMOST:
		step->flags = UNWIND_RULE_OUTERMOST;
		break;
	case KEPT_SIGNAL:
		step->flags = UNWIND_RULE_SIGNAL;
		break;
	default:
		step->cfa = kept_loc(rule >> 40, (s16)(rule >> 8));
		step->ra = kept_loc(rule >> 48, (s8)(rule >> 24));
		step->fp = kept_loc(rule >> 56, (s8)(rule >> 32));
		step->flags = 0;
	}
}

#endif /* _UNWIND_KEPT_RULE_H */

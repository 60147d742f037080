/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _UNWIND_RULE_H
#define _UNWIND_RULE_H

#include <linux/minmax.h>
#include <linux/types.h>

/*
 * How to find one value of the calling frame.  An address is the base, which
 * is a register of this frame or its CFA, plus the offset.
 */
enum unwind_loc_kind {
	UNWIND_LOC_SAME,	/* the caller's value is still in place */
	UNWIND_LOC_VAL,		/* the address is the value */
	UNWIND_LOC_MEM,		/* the value is the word at the address */
	UNWIND_LOC_LOST,	/* the value is nowhere; @fp only */
};

#define UNWIND_BASE_CFA		0xff

struct unwind_loc {
	u8	kind;		/* enum unwind_loc_kind */
	u8	base;		/* DWARF register number, or UNWIND_BASE_CFA */
	s32	off;
};

#define UNWIND_RULE_OUTERMOST	0x1	/* there is no caller */
#define UNWIND_RULE_SIGNAL	0x2	/* nobody called: a signal handler returns here */
#define UNWIND_RULE_EXACT	0x4	/* @ra is that of an instruction */
#define UNWIND_RULE_COMMON	0x8	/* of the kind that nearly all are */

/**
 * struct unwind_step - how to go from a frame to its caller
 * @cfa: the canonical frame address; never %UNWIND_LOC_SAME
 * @ra: the return address; never %UNWIND_LOC_SAME
 * @fp: the caller's frame pointer
 * @flags: UNWIND_RULE_*
 *
 * With %UNWIND_RULE_COMMON the CFA is SP or FP plus an offset, the return address is on
 * the stack, at the CFA or below, and FP is there too, or still in place, or lost.
 * %UNWIND_RULE_OUTERMOST, _SIGNAL and _EXACT exclude it.  With %UNWIND_RULE_SIGNAL the
 * CFA may be anywhere.  Without %UNWIND_RULE_EXACT beside it, the kernel's frame for a
 * signal is at SP.  Then, and with %UNWIND_RULE_OUTERMOST, @cfa, @ra and @fp are empty.
 */
struct unwind_step {
	struct unwind_loc	cfa;
	struct unwind_loc	ra;
	struct unwind_loc	fp;
	u32			flags;
};

/**
 * struct unwind_rule - what a table says about a frame
 * @step: how to go to the caller
 * @cfa: that of @step
 * @ra: that of @step
 * @fp: that of @step
 * @flags: those of @step
 * @size: bytes that the table entry with this rule covers
 * @start: first address that it covers
 */
struct unwind_rule {
	union {
		struct unwind_step		step;
		struct {
			struct unwind_loc	cfa;
			struct unwind_loc	ra;
			struct unwind_loc	fp;
			u32			flags;
		};
	};
	u32					size;
	unsigned long				start;
};

/* Is it the kernel's frame for a signal that is to be left? */
static __always_inline bool unwind_rule_is_sigframe(u32 flags)
{
	return (flags & (UNWIND_RULE_SIGNAL | UNWIND_RULE_EXACT)) ==
	       UNWIND_RULE_SIGNAL;
}

/* The flags of a rule that reads the stack at these offsets from the CFA, or at 0. */
static __always_inline u32 unwind_rule_flags(s32 ra_off, s32 fp_off)
{
	return max(ra_off, fp_off) <= 0 ? UNWIND_RULE_COMMON : 0;
}

#endif /* _UNWIND_RULE_H */

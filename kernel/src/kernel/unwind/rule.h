/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _UNWIND_RULE_H
#define _UNWIND_RULE_H

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
#define UNWIND_RULE_SIGNAL	0x2	/* this is a signal frame */
#define UNWIND_RULE_EXACT	0x4	/* @ra is that of an instruction */

/**
 * struct unwind_rule - how to go from a frame to its caller
 * @cfa: the canonical frame address; never %UNWIND_LOC_SAME
 * @ra: the return address; never %UNWIND_LOC_SAME
 * @fp: the caller's frame pointer
 * @flags: UNWIND_RULE_*
 * @start: first address that the table entry with this rule covers
 * @size: bytes that it covers
 *
 * With %UNWIND_RULE_OUTERMOST or %UNWIND_RULE_SIGNAL there is nothing in @cfa,
 * @ra and @fp.
 */
struct unwind_rule {
	struct unwind_loc	cfa;
	struct unwind_loc	ra;
	struct unwind_loc	fp;
	u32			flags;
	u32			size;
	unsigned long		start;
};

#endif /* _UNWIND_RULE_H */

/* SPDX-License-Identifier: MIT */
/*
 * What the CFI of an object says, as sent by the process that reads it to the one that
 * writes the table.
 */
#ifndef SFRAME_ROWS_H
#define SFRAME_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* DWARF register numbers: psABI x86-64, figure 3.36. */
enum { REG_FP = 6, REG_SP = 7, REG_RA = 16, NR_REGS = 16 };

/* User space of x86-64 with five levels of page tables. */
#define MAX_ADDRESS	(1ULL << 56)

#define BASE_CFA	0xff

enum loc_kind {
	LOC_SAME,		/* the caller's value is still in place */
	LOC_VALUE,		/* base plus offset is the value */
	LOC_WORD,		/* the value is the word there */
};

/* Where a value of the calling frame is. */
struct loc {
	uint8_t kind;		/* enum loc_kind */
	uint8_t base;		/* DWARF register number, or BASE_CFA */
	uint16_t zero;
	int32_t off;		/* in bytes */
};

#define ROW_SIGNAL	0x1	/* a signal frame: the CIE's augmentation has an 'S' */
#define ROW_OUTERMOST	0x2	/* no caller: the return address is undefined */
#define ROW_NOTHING	0x4	/* CFI covers it, but SFrame cannot express its rule */
#define ROW_FLAGS	0x7

/* Bytes of an entry of .plt, and how many more it has on the stack once it has pushed. */
#define PLT_ENTRY	16
#define PLT_PUSHED	8

/*
 * The rule for a range of code or, with ROW_NOTHING, that there is none, whatever the
 * following fields say; no other flag is set then.  With @pushed the offset of the CFA
 * is PLT_PUSHED more where address % PLT_ENTRY >= @pushed, which is what the CFI of
 * .plt says.
 */
struct row {
	uint64_t start;		/* link-time address */
	uint32_t size;		/* in bytes, not 0 */
	uint8_t flags;		/* ROW_* */
	uint8_t pushed;		/* less than PLT_ENTRY */
	uint16_t zero;
	struct loc cfa, ra, fp;
};

/* Why code that CFI covers has no rule: its rows are ROW_NOTHING. */
enum cause {
	CAUSE_CFA,		/* the CFA is an expression without a form in SFrame */
	CAUSE_RA,		/* so is the return address */
	CAUSE_FP,		/* so is the frame pointer */
	CAUSE_FP_UNDEFINED,	/* the frame pointer is lost */
	CAUSE_SP,		/* the caller's SP is not the CFA */
	CAUSE_OVERLAP,		/* several FDEs cover the address */
	CAUSE_MALFORMED,	/* libdw refuses the FDE, or what it says */
	NR_CAUSES,
};

struct count {
	uint64_t ranges;
	uint64_t bytes;		/* of code */
};

#define MAX_BUILD_ID	64
#define MAX_SEGMENTS	16

/* An executable PT_LOAD, as CODE_ATTACH_FILE takes it. */
struct segment {
	uint64_t offset;	/* in the file */
	uint64_t len;		/* in the file */
	uint64_t vaddr;		/* at link time */
};

enum object_error {
	OBJECT_READ,		/* no error */
	OBJECT_NOT_ELF,		/* no ELF program or shared object for x86-64 */
	OBJECT_NO_CODE,		/* no executable segment has contents, as in debug files */
	OBJECT_NO_CFI,
	OBJECT_NO_ROWS,		/* it covers none of the code */
	OBJECT_MALFORMED,
	OBJECT_TOO_LARGE,
	OBJECT_NO_MEMORY,
	NR_OBJECT_ERRORS,
};

/*
 * An object without its rows.  @table_addr is the link-time address of its table: after
 * the last segment, at the start of a page, where it hides nothing.
 */
struct object {
	uint32_t error;		/* enum object_error; all else is valid only without one */
	uint32_t type;		/* ET_EXEC or ET_DYN */
	uint32_t build_id_len;	/* 0 if it has none */
	uint32_t nr_segments;
	uint8_t build_id[MAX_BUILD_ID];
	struct segment segments[MAX_SEGMENTS];
	uint64_t table_addr;
	uint64_t cfi_size;	/* of the sections with CFI, in bytes */
	struct count covered;	/* by rules */
	struct count causes[NR_CAUSES];
	uint64_t nr_rows;
};

/* So that a damaged object takes no more of the writer's memory. */
#define MAX_ROWS	(1U << 24)

#endif

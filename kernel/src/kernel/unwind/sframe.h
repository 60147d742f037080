/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _UNWIND_SFRAME_H
#define _UNWIND_SFRAME_H

#include <linux/types.h>

#include "rule.h"

/*
 * SFrame version 3, as binutils emits it.  The names in the comments are those
 * of the sections of the SFrame specification.
 */

#define SFRAME_MAGIC			0xdee2
#define SFRAME_VERSION_3		3

/* "SFrame Flags" */
#define SFRAME_F_FDE_SORTED		0x1
#define SFRAME_F_FDE_FUNC_START_PCREL	0x4

/* "SFrame ABI/arch Identifier" */
#define SFRAME_ABI_AMD64_ENDIAN_LITTLE	3

/* "SFrame Header" */
struct sframe_header {
	__u16	magic;
	__u8	version;
	__u8	flags;
	__u8	abi_arch;
	__s8	cfa_fixed_fp_offset;
	__s8	cfa_fixed_ra_offset;
	__u8	auxhdr_len;
	__u32	num_fdes;
	__u32	num_fres;
	__u32	fre_len;
	__u32	fdeoff;
	__u32	freoff;
};

/* "The SFrame FDE Index" */
struct sframe_fde_idx {
	__s64	func_start_offset;
	__u32	func_size;
	__u32	func_start_fre_off;
};

/* "The SFrame FDE Attribute": 5 bytes, unaligned, before the FREs */
#define SFRAME_FDE_ATTR_SIZE		5
#define SFRAME_FDE_INFO_FRE_TYPE	0x0f
#define SFRAME_FDE_INFO_PCTYPE_MASK	0x10
#define SFRAME_FDE_INFO_UNUSED		0x40
#define SFRAME_FDE_INFO_SIGNAL		0x80

#define SFRAME_FRE_TYPE_ADDR1		0
#define SFRAME_FRE_TYPE_ADDR2		1
#define SFRAME_FRE_TYPE_ADDR4		2

#define SFRAME_FDE_TYPE_DEFAULT		0
#define SFRAME_FDE_TYPE_FLEX		1

/* "The SFrame FRE Info Word" */
#define SFRAME_FRE_BASE_SP		0x01
#define SFRAME_FRE_DATAWORD_COUNT(info)	(((info) >> 1) & 0xf)
#define SFRAME_FRE_DATAWORD_SIZE(info)	((info) >> 5)
#define SFRAME_FRE_DATAWORD_NO_SIZE	0x60
/* Infos with words of one byte: the first one, and how many there are. */
#define SFRAME_FRE_ONE_WORD		0x02
#define SFRAME_FRE_WORDS_1B		0x1e
#define SFRAME_FRE_MANGLED_RA		0x80

/* "Flexible FDE Type Interpretation", control data */
#define SFRAME_FLEX_REG			0x1
#define SFRAME_FLEX_DEREF		0x2
#define SFRAME_FLEX_UNUSED		0x4
#define SFRAME_FLEX_REGNUM(ctl)		((ctl) >> 3)

/* DWARF register numbers, psABI x86-64, figure 3.36 */
#define SFRAME_AMD64_FP			6
#define SFRAME_AMD64_SP			7
#define SFRAME_AMD64_NR_REGS		16

/**
 * struct sframe_section - a section in user memory
 * @start: its first byte
 * @end: end of the section
 * @bias: what to add to an address in the section to get its link-time address, which
 *	function starts are relative to
 * @fdes: address of the FDE index; 0 until sframe_set_header()
 * @fres: address of the FRE sub-section
 * @fres_end: end of the FRE sub-section
 * @num_fdes: entries in the FDE index
 * @fixed_fp: offset of the saved frame pointer from the CFA, or 0 if the FREs have it
 * @fixed_ra: offset of the return address from the CFA, or 0 if the FREs have it
 * @pcrel: function starts are relative to their own field, not to @start
 * @across: what is read first of the FDE index is in two cache lines each time
 *
 * Everything but @start, @end and @bias comes from the header.  The FDE index and the
 * FRE sub-section are within the section.
 */
struct sframe_section {
	unsigned long	start;
	unsigned long	end;
	unsigned long	bias;
	unsigned long	fdes;
	unsigned long	fres;
	unsigned long	fres_end;
	u32		num_fdes;
	s8		fixed_fp;
	s8		fixed_ra;
	bool		pcrel;
	bool		across;
};

int sframe_set_header(struct sframe_section *sec,
		      const struct sframe_header *hdr);
int sframe_read_header(struct sframe_section *sec);
int sframe_find_within(const struct sframe_section *sec, unsigned long ip,
		       struct unwind_rule *rule, unsigned int *budget);

int sframe_find_gap(const struct sframe_section *sec, unsigned long ip,
		    unsigned long *start, unsigned long *end);
int sframe_find_row(const struct sframe_section *sec, unsigned long ip,
		    struct unwind_rule *rule, u32 *size);
int sframe_get_fde(const struct sframe_section *sec, u32 nr,
		   unsigned long *start, u32 *size);

static inline int sframe_find(const struct sframe_section *sec,
			      unsigned long ip, struct unwind_rule *rule)
{
	unsigned int budget = ~0U;

	return sframe_find_within(sec, ip, rule, &budget);
}

#endif /* _UNWIND_SFRAME_H */

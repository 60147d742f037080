/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _UNWIND_SFRAME_FRE_H
#define _UNWIND_SFRAME_FRE_H

/*
 * What the FREs of one function say, for sframe.c: all of it runs inside a user access
 * window over the section.
 */
#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/minmax.h>
#include <linux/types.h>

#include "rule.h"
#include "sframe.h"
#include "user_load.h"

struct sframe_attr {
	u16		nr_fres;
	u8		info;
	u8		info2;
	u8		rep_size;
};

struct sframe_fre {
	unsigned long	words;		/* address of the data words */
	unsigned int	word_size;
	unsigned int	nr_words;
	u32		next;		/* where the next FRE starts, or ~0 */
	bool		base_sp;
};

/*
 * An address and the end of what may be read from there on; @err is -EFAULT once a load
 * has faulted, which then gives 0; else 0.  @budget is the number of FREs that may be
 * looked at.
 */
struct sframe_cursor {
	unsigned long	pos;
	unsigned long	end;
	long		err;
	unsigned int	budget;
};

/*
 * One unsigned value of 1, 2 or 4 bytes (@size 0, 1 or 2); the caller has bounded the
 * cursor to it.
 */
static __always_inline u32 sframe_next(struct sframe_cursor *cur,
				       unsigned int size)
{
	unsigned long pos = cur->pos;

	cur->pos += 1UL << size;
	switch (size) {
	case 0:
		return unwind_user_load_u8(pos, &cur->err);
	case 1:
		return unwind_user_load_u16(pos, &cur->err);
	default:
		return unwind_user_load_u32(pos, &cur->err);
	}
}

/*
 * The attributes of a function, before its FREs; the caller has bounded the cursor to
 * them.  The first four bytes by one load.
 */
static __always_inline void sframe_get_attr(struct sframe_cursor *cur,
					    struct sframe_attr *attr)
{
	u32 word;

	word = unwind_user_load_u32(cur->pos, &cur->err);
	attr->nr_fres = word;
	attr->info = word >> 16;
	attr->info2 = word >> 24;
	attr->rep_size = 0;
	if (attr->info & SFRAME_FDE_INFO_PCTYPE_MASK)
		attr->rep_size = unwind_user_load_u8(cur->pos + sizeof(word),
						     &cur->err);
	cur->pos += SFRAME_FDE_ATTR_SIZE;
}

/* The address and the info of an FRE; the caller has bounded the cursor to it. */
static __always_inline void sframe_next_fre(struct sframe_cursor *cur,
					    unsigned int type, u32 *start,
					    u32 *info)
{
	u32 both;

	if (type) {
		*start = sframe_next(cur, type);
		*info = sframe_next(cur, 0);
		return;
	}

	/* Two bytes by one load. */
	both = sframe_next(cur, 1);
	*start = both & 0xff;
	*info = both >> 8;
}

/*
 * The last of @nr FREs that starts at or below @ip_off, with its data words within the
 * section.
 */
static __always_inline int
sframe_scan_fres(struct sframe_cursor *cur, unsigned int nr, unsigned int type,
		 u32 ip_off, struct sframe_fre *fre)
{
	/* An address and an info; the words before may lead past the end. */
	const unsigned long end = cur->end - (1UL << type);
	const unsigned int most = min(nr, cur->budget);
	u32 start = 0, info, found = 0;

	fre->words = 0;
	for (nr = most; nr; nr--) {
		if (cur->pos >= end)
			return -EINVAL;
		sframe_next_fre(cur, type, &start, &info);
		if (start > ip_off)
			break;

		found = info;
		fre->words = cur->pos;
		/* Nearly all have words, of one byte each; 0 is no such info. */
		if (info - SFRAME_FRE_ONE_WORD < SFRAME_FRE_WORDS_1B) {
			cur->pos += SFRAME_FRE_DATAWORD_COUNT(info);
			continue;
		}
		/* One fault is enough; the FREs before it have been looked at. */
		if (cur->err) {
			cur->budget -= min(most - nr + 1, most);
			return cur->err;
		}
		/* Neither mangled nor of a size that does not exist. */
		if (info >= SFRAME_FRE_DATAWORD_NO_SIZE)
			return -EINVAL;
		cur->pos += SFRAME_FRE_DATAWORD_COUNT(info) <<
			    SFRAME_FRE_DATAWORD_SIZE(info);
	}
	fre->next = nr ? start : ~0U;
	/* The one after the address counts, too. */
	cur->budget -= min(most - nr + 1, most);
	if (!fre->words)
		return -EINVAL;

	fre->word_size = SFRAME_FRE_DATAWORD_SIZE(found);
	fre->nr_words = SFRAME_FRE_DATAWORD_COUNT(found);
	fre->base_sp = found & SFRAME_FRE_BASE_SP;
	if (cur->end - fre->words < fre->nr_words << fre->word_size)
		return -EINVAL;

	return 0;
}

/* One loop for each size of address. */
static __always_inline int
sframe_find_fre(struct sframe_cursor *cur, const struct sframe_attr *attr,
		u32 ip_off, struct sframe_fre *fre)
{
	switch (attr->info & SFRAME_FDE_INFO_FRE_TYPE) {
	case SFRAME_FRE_TYPE_ADDR1:
		return sframe_scan_fres(cur, attr->nr_fres, 0, ip_off, fre);
	case SFRAME_FRE_TYPE_ADDR2:
		return sframe_scan_fres(cur, attr->nr_fres, 1, ip_off, fre);
	default:
		return sframe_scan_fres(cur, attr->nr_fres, 2, ip_off, fre);
	}
}

/* @size is that of the FRE. */
static __always_inline int
sframe_next_offset(struct sframe_cursor *cur, struct sframe_fre *fre,
		   unsigned int size, s32 *off)
{
	u32 val;

	if (!fre->nr_words)
		return -EINVAL;

	val = sframe_next(cur, size);
	*off = size == 0 ? (s8)val : size == 1 ? (s16)val : (s32)val;
	fre->nr_words--;

	return 0;
}

static __always_inline void
sframe_set_loc(struct unwind_loc *loc, u8 kind, u8 base, s32 off)
{
	loc->kind = kind;
	loc->base = base;
	loc->off = off;
}

/* "Default FDE Type Interpretation": offsets of CFA, RA unless fixed, and FP. */
static __always_inline int
sframe_default_loc(const struct sframe_section *sec, struct sframe_cursor *cur,
		   struct sframe_fre *fre, unsigned int size,
		   struct unwind_rule *rule)
{
	s32 cfa, ra = sec->fixed_ra, fp = sec->fixed_fp;
	u8 fp_kind = UNWIND_LOC_MEM;
	int ret;

	ret = sframe_next_offset(cur, fre, size, &cfa);
	if (!ret && !ra)
		ret = sframe_next_offset(cur, fre, size, &ra);
	if (ret)
		return ret;
	if (!fp && !fre->nr_words)
		fp_kind = UNWIND_LOC_SAME;
	else if (!fp)
		sframe_next_offset(cur, fre, size, &fp);

	sframe_set_loc(&rule->cfa, UNWIND_LOC_VAL,
		       fre->base_sp ? SFRAME_AMD64_SP : SFRAME_AMD64_FP, cfa);
	sframe_set_loc(&rule->ra, UNWIND_LOC_MEM, UNWIND_BASE_CFA, ra);
	sframe_set_loc(&rule->fp, fp_kind, UNWIND_BASE_CFA, fp);
	rule->flags = unwind_rule_flags(ra, fp);

	return fre->nr_words ? -EINVAL : 0;
}

/* One copy for each size of data word. */
static __always_inline int
sframe_default_rule(const struct sframe_section *sec, struct sframe_cursor *cur,
		    struct sframe_fre *fre, struct unwind_rule *rule)
{
	switch (fre->word_size) {
	case 0:
		return sframe_default_loc(sec, cur, fre, 0, rule);
	case 1:
		return sframe_default_loc(sec, cur, fre, 1, rule);
	default:
		return sframe_default_loc(sec, cur, fre, 2, rule);
	}
}

/* A pair of control and offset, or a control of 0: @loc stays as it is. */
static __always_inline int
sframe_flex_loc(struct sframe_cursor *cur, struct sframe_fre *fre,
		struct unwind_loc *loc)
{
	u32 base = UNWIND_BASE_CFA, ctl;
	s32 off;
	int ret;

	if (!fre->nr_words)
		return 0;

	ctl = sframe_next(cur, fre->word_size);
	fre->nr_words--;
	if (!ctl)
		return 0;
	if (ctl & SFRAME_FLEX_UNUSED)
		return -EOPNOTSUPP;

	ret = sframe_next_offset(cur, fre, fre->word_size, &off);
	if (ret)
		return ret;

	if (ctl & SFRAME_FLEX_REG) {
		base = SFRAME_FLEX_REGNUM(ctl);
		if (base >= SFRAME_AMD64_NR_REGS)
			return -EINVAL;
	}
	sframe_set_loc(loc, ctl & SFRAME_FLEX_DEREF ? UNWIND_LOC_MEM :
		       UNWIND_LOC_VAL, base, off);

	return 0;
}

/* "Flexible FDE Type Interpretation" */
static __always_inline int
sframe_flex_rule(const struct sframe_section *sec, struct sframe_cursor *cur,
		 struct sframe_fre *fre, struct unwind_rule *rule)
{
	int ret;

	rule->flags = 0;
	sframe_set_loc(&rule->cfa, UNWIND_LOC_SAME, 0, 0);
	sframe_set_loc(&rule->ra, sec->fixed_ra ? UNWIND_LOC_MEM :
		       UNWIND_LOC_SAME, UNWIND_BASE_CFA, sec->fixed_ra);
	sframe_set_loc(&rule->fp, sec->fixed_fp ? UNWIND_LOC_MEM :
		       UNWIND_LOC_SAME, UNWIND_BASE_CFA, sec->fixed_fp);

	ret = sframe_flex_loc(cur, fre, &rule->cfa);
	if (ret)
		return ret;
	ret = sframe_flex_loc(cur, fre, &rule->ra);
	if (ret)
		return ret;
	ret = sframe_flex_loc(cur, fre, &rule->fp);
	if (ret)
		return ret;

	/* The CFA needs a register, and an address near it is no RA. */
	if (rule->cfa.kind == UNWIND_LOC_SAME ||
	    rule->cfa.base == UNWIND_BASE_CFA ||
	    rule->ra.kind == UNWIND_LOC_SAME ||
	    (rule->ra.kind == UNWIND_LOC_VAL && rule->ra.base == UNWIND_BASE_CFA))
		return -EINVAL;

	return fre->nr_words ? -EINVAL : 0;
}

/*
 * What the FREs of a function say about an offset from its start, and at @rest for how
 * many bytes from there on.
 */
static __always_inline int
sframe_fre_rule(const struct sframe_section *sec, struct sframe_cursor *cur,
		const struct sframe_attr *attr, u32 ip_off,
		struct unwind_rule *rule, u32 *rest)
{
	u32 end = rule->size;
	struct sframe_fre fre;
	int ret;

	if (attr->info & SFRAME_FDE_INFO_PCTYPE_MASK) {
		if (!attr->rep_size)
			return -EINVAL;
		end -= ip_off;
		ip_off %= attr->rep_size;
		end = min(end, attr->rep_size - ip_off) + ip_off;
	}

	ret = sframe_find_fre(cur, attr, ip_off, &fre);
	if (ret)
		return ret;
	*rest = min(fre.next, end) - ip_off;

	/* "The SFrame FRE Info Word": no data word, so no return address. */
	if (!fre.nr_words) {
		rule->flags = UNWIND_RULE_OUTERMOST;
		return 0;
	}

	cur->pos = fre.words;
	return attr->info2 == SFRAME_FDE_TYPE_FLEX ?
	       sframe_flex_rule(sec, cur, &fre, rule) :
	       sframe_default_rule(sec, cur, &fre, rule);
}

#endif /* _UNWIND_SFRAME_FRE_H */

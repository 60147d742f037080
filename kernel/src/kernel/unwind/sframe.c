// SPDX-License-Identifier: GPL-2.0
/*
 * SFrame version 3 decoder
 *
 * The section lies in user memory and may hold anything, and may change while
 * it is read.  One user access window is open over the whole section, which
 * access_ok() has passed, and every load is bounded to the section before it is
 * done: a load checks nothing by itself.  Nothing but a wrong rule can come of
 * a wrong section: no loop runs more often than a count of at most 16 bits, which
 * a budget bounds for a whole walk, or 32 bisection steps, and rules are applied
 * by code that trusts none of them.
 *
 * The file depends on a few headers of the kernel only, so that it can be
 * compiled for user space too.  Functions that run inside the
 * window are __always_inline: objtool allows no call there.
 */
#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/types.h>
#include <linux/uaccess.h>

#include "sframe.h"
#include "user_load.h"

/* Halves of a run of so many bytes and more are halved twice again, at once. */
#define SFRAME_PREFETCH			128

struct sframe_fde {
	unsigned long	start;
	u32		size;
	u32		fre_off;
};

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
	bool		base_sp;
};

/*
 * An address and the end of what may be read from there on; @err is -EFAULT once
 * a load has faulted, else 0, and what it loads is 0 then.  @budget is the number
 * of FREs that may be looked at.
 */
struct sframe_cursor {
	unsigned long	pos;
	unsigned long	end;
	long		err;
	unsigned int	budget;
};

/**
 * sframe_set_header() - check a header and lay out the section by it
 * @sec: the section, with @sec->start and @sec->end set
 * @hdr: a copy of its header
 *
 * Return: 0, -EINVAL for a malformed header, or -EOPNOTSUPP for a version, ABI
 * or flag that is not decoded. Sections whose FDEs are not sorted are not.
 */
int sframe_set_header(struct sframe_section *sec,
		      const struct sframe_header *hdr)
{
	const u8 flags = SFRAME_F_FDE_SORTED | SFRAME_F_FDE_FUNC_START_PCREL;
	u64 len = sec->end - sec->start;
	u64 subs = sizeof(*hdr) + hdr->auxhdr_len;

	if (hdr->magic != SFRAME_MAGIC)
		return -EINVAL;

	if (hdr->version != SFRAME_VERSION_3 || (hdr->flags & ~flags) ||
	    !(hdr->flags & SFRAME_F_FDE_SORTED) ||
	    hdr->abi_arch != SFRAME_ABI_AMD64_ENDIAN_LITTLE)
		return -EOPNOTSUPP;

	if (subs + hdr->fdeoff +
	    (u64)hdr->num_fdes * sizeof(struct sframe_fde_idx) > len ||
	    subs + hdr->freoff + hdr->fre_len > len)
		return -EINVAL;

	sec->fdes = sec->start + subs + hdr->fdeoff;
	sec->fres = sec->start + subs + hdr->freoff;
	sec->fres_end = sec->fres + hdr->fre_len;
	sec->num_fdes = hdr->num_fdes;
	sec->fixed_fp = hdr->cfa_fixed_fp_offset;
	sec->fixed_ra = hdr->cfa_fixed_ra_offset;
	sec->pcrel = hdr->flags & SFRAME_F_FDE_FUNC_START_PCREL;

	return 0;
}

/**
 * sframe_read_header() - read, check and use the header of a section
 * @sec: the section, with @sec->start and @sec->end set
 *
 * Context: may fault.
 * Return: as sframe_set_header(), or -EFAULT if the header cannot be read.
 */
int sframe_read_header(struct sframe_section *sec)
{
	struct sframe_header hdr;

	if (sec->end - sec->start < sizeof(hdr))
		return -EINVAL;

	if (copy_from_user(&hdr, (void __user *)sec->start, sizeof(hdr)))
		return -EFAULT;

	return sframe_set_header(sec, &hdr);
}

/* Where a function starts, counted from the place that says so or from the section. */
static __always_inline unsigned long
sframe_get_start(const struct sframe_section *sec, struct sframe_cursor *cur,
		 unsigned long fde, bool pcrel)
{
	return unwind_user_load_u64(fde, &cur->err) + sec->bias +
	       (pcrel ? fde : sec->start);
}

/*
 * The entry at @mid if that starts at or below @key, else the one at @first.  Not by a
 * branch, which is guessed wrong every other time.
 */
static __always_inline unsigned long
sframe_choose(struct sframe_cursor *cur, unsigned long first, unsigned long mid,
	      s64 key, bool pcrel)
{
	s64 start = unwind_user_load_u64(mid, &cur->err) + (pcrel ? mid : 0);

	if (start <= key)
		first = mid;
	OPTIMIZER_HIDE_VAR(first);

	return first;
}

/* What can be read where two runs of four quarters are halved twice. */
static __always_inline void
sframe_prefetch(unsigned long run, unsigned long other, unsigned long quarter)
{
	unsigned long three = 3 * quarter;

	/* Compilers would add it up for each run. */
	OPTIMIZER_HIDE_VAR(three);
	unwind_user_prefetch(run + quarter);
	unwind_user_prefetch(other + quarter);
	unwind_user_prefetch(run + 2 * quarter);
	unwind_user_prefetch(other + 2 * quarter);
	unwind_user_prefetch(run + three);
	unwind_user_prefetch(other + three);
}

/*
 * The last entry that starts at or below @ip, or the first.  It is in one of two runs
 * of entries that overlap, as long as a power of two each; from there on a run is
 * halved.  No run leaves the index, be what is read of it right or 0.
 *
 * Each load waits for the one before.  What three of them can read is fetched at once,
 * so that tables that are in no cache cost a third of the waits.
 */
static __always_inline unsigned long
sframe_bisect(const struct sframe_section *sec, struct sframe_cursor *cur,
	      unsigned long ip, bool pcrel)
{
	/*
	 * What would be added to each start is taken off once.  Signed, as either may
	 * be below 0 then; those of a wrong table may wrap, and find a wrong entry.
	 */
	const s64 key = ip - sec->bias - (pcrel ? 0 : sec->start);
	unsigned long fdes = sec->fdes, mid, step;

	step = sizeof(struct sframe_fde_idx) << ilog2(sec->num_fdes);
	mid = fdes + sec->num_fdes * sizeof(struct sframe_fde_idx) - step;
	while (step >= SFRAME_PREFETCH) {
		step /= 4;
		sframe_prefetch(fdes, mid, step);
		fdes = sframe_choose(cur, fdes, mid, key, pcrel);
		fdes = sframe_choose(cur, fdes, fdes + 2 * step, key, pcrel);
		mid = fdes + step;
		step /= 2;
		/* For the next round: this pays where the second cache has it. */
		unwind_user_prefetch(fdes + step);
		unwind_user_prefetch(mid + step);
		fdes = sframe_choose(cur, fdes, mid, key, pcrel);
		mid = fdes + step;
	}
	fdes = sframe_choose(cur, fdes, mid, key, pcrel);
	for (step /= 2; step >= sizeof(struct sframe_fde_idx); step /= 2)
		fdes = sframe_choose(cur, fdes, fdes + step, key, pcrel);

	return fdes;
}

/* The last FDE that starts at or below @ip, if it covers @ip. */
static __always_inline int
sframe_read_fde(const struct sframe_section *sec, struct sframe_cursor *cur,
		unsigned long ip, bool pcrel, struct sframe_fde *fde)
{
	unsigned long at = sframe_bisect(sec, cur, ip, pcrel);
	u64 size_and_fre_off;

	fde->start = sframe_get_start(sec, cur, at, pcrel);
	size_and_fre_off = unwind_user_load_u64(at +
		offsetof(struct sframe_fde_idx, func_size), &cur->err);
	fde->size = size_and_fre_off;
	fde->fre_off = size_and_fre_off >> 32;

	return ip - fde->start < fde->size ? 0 : -ENOENT;
}

static __always_inline int
sframe_find_fde(const struct sframe_section *sec, struct sframe_cursor *cur,
		unsigned long ip, struct sframe_fde *fde)
{
	if (!sec->num_fdes)
		return -ENOENT;

	return sec->pcrel ? sframe_read_fde(sec, cur, ip, true, fde) :
			    sframe_read_fde(sec, cur, ip, false, fde);
}

/*
 * One unsigned value of 1, 2 or 4 bytes (@size 0, 1 or 2), to which the caller has
 * bounded the cursor.
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
 * What is said of a function ahead of its FREs, to which the caller has bounded the
 * cursor; the first four bytes by one load.
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

/* The address and the info of an FRE, to which the caller has bounded the cursor. */
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
 * The last of @nr FREs that starts at or below @ip_off, and with its data words in
 * the section.
 */
static __always_inline int
sframe_scan_fres(struct sframe_cursor *cur, unsigned int nr, unsigned int type,
		 u32 ip_off, struct sframe_fre *fre)
{
	/* An address and an info; the words before may lead past the end. */
	const unsigned long end = cur->end - (1UL << type);
	const unsigned int most = min(nr, cur->budget);
	u32 start, info, found = 0;

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
		/* Not that each of many FREs faults. */
		if (cur->err)
			return cur->err;
		/* Neither mangled nor of a size that there is not. */
		if (info >= SFRAME_FRE_DATAWORD_NO_SIZE)
			return -EINVAL;
		cur->pos += SFRAME_FRE_DATAWORD_COUNT(info) <<
			    SFRAME_FRE_DATAWORD_SIZE(info);
	}
	/* The one beyond the address counts, too. */
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

/* What the FREs of a function say of an offset from its start. */
static __always_inline int
sframe_fre_rule(const struct sframe_section *sec, struct sframe_cursor *cur,
		const struct sframe_attr *attr, u32 ip_off,
		struct unwind_rule *rule)
{
	struct sframe_fre fre;
	int ret;

	if (attr->info & SFRAME_FDE_INFO_PCTYPE_MASK) {
		if (!attr->rep_size)
			return -EINVAL;
		ip_off %= attr->rep_size;
	}

	ret = sframe_find_fre(cur, attr, ip_off, &fre);
	if (ret)
		return ret;

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

static __always_inline int
sframe_find_rule(const struct sframe_section *sec, struct sframe_cursor *cur,
		 unsigned long ip, struct unwind_rule *rule)
{
	struct sframe_attr attr;
	struct sframe_fde fde;
	int ret;

	ret = sframe_find_fde(sec, cur, ip, &fde);
	if (ret)
		return ret;
	rule->start = fde.start;
	rule->size = fde.size;

	cur->pos = sec->fres;
	cur->end = sec->fres_end;
	if (cur->end - cur->pos < (u64)fde.fre_off + SFRAME_FDE_ATTR_SIZE)
		return -EINVAL;
	cur->pos += fde.fre_off;

	sframe_get_attr(cur, &attr);
	if ((attr.info & SFRAME_FDE_INFO_UNUSED) || attr.info2 > SFRAME_FDE_TYPE_FLEX ||
	    (attr.info & SFRAME_FDE_INFO_FRE_TYPE) > SFRAME_FRE_TYPE_ADDR4)
		return -EOPNOTSUPP;

	/* FREs may not be able to say where the kernel saves what it interrupts. */
	if ((attr.info & SFRAME_FDE_INFO_SIGNAL) && !attr.nr_fres) {
		rule->flags = UNWIND_RULE_SIGNAL;
		return 0;
	}

	ret = sframe_fre_rule(sec, cur, &attr, ip - fde.start, rule);
	if (ret)
		return ret;

	/* As DWARF's 'S': the caller was interrupted, nobody called this. */
	if (attr.info & SFRAME_FDE_INFO_SIGNAL) {
		rule->flags &= ~UNWIND_RULE_COMMON;
		rule->flags |= UNWIND_RULE_SIGNAL | UNWIND_RULE_EXACT;
	}

	return 0;
}

/**
 * sframe_find_within() - find the rule for an address
 * @sec: a section with its header set
 * @ip: address of an instruction
 * @rule: where the rule is stored; undefined on failure
 * @budget: how many FREs may be looked at, not 0; those that were are taken off
 *
 * Context: may fault.
 * Return: 0, -ENOENT if no FDE covers @ip, -EFAULT if the section cannot be
 * read, -E2BIG if nothing is left of @budget, -EINVAL if it is malformed here,
 * -EOPNOTSUPP for an encoding that is not decoded.
 */
int sframe_find_within(const struct sframe_section *sec, unsigned long ip,
		       struct unwind_rule *rule, unsigned int *budget)
{
	struct sframe_cursor cur = { .budget = *budget };
	int ret;

	if (!user_read_access_begin((void __user *)sec->start,
				    sec->end - sec->start))
		return -EFAULT;

	ret = sframe_find_rule(sec, &cur, ip, rule);
	user_read_access_end();

	*budget = cur.budget;
	if (cur.err)
		return cur.err;

	return cur.budget ? ret : -E2BIG;
}

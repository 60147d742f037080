// SPDX-License-Identifier: GPL-2.0
/*
 * SFrame version 3 decoder
 *
 * The section lies in user memory and may hold anything, and may change while
 * it is read.  One user access window is open over the whole section, which
 * access_ok() has passed, and every load is bounded to the section before it is
 * done; unsafe_get_user() checks nothing.  Nothing but a wrong rule can come of
 * a wrong section: no loop runs more often than a count of at most 16 bits, or
 * 32 bisection steps, and rules are applied by code that trusts none of them.
 *
 * The file depends on linux/uaccess.h, linux/errno.h and linux/types.h only, so
 * that it can be compiled for user space too.  Functions that run inside the
 * window are __always_inline: objtool allows no call there.
 */
#include <linux/errno.h>
#include <linux/types.h>
#include <linux/uaccess.h>

#include "sframe.h"

struct sframe_fde {
	unsigned long	start;
	u32		size;
	u32		fre_off;
};

struct sframe_fre {
	unsigned long	words;		/* address of the data words */
	unsigned int	word_size;
	unsigned int	nr_words;
	bool		base_sp;
};

/* An address and the end of what may be read from there on. */
struct sframe_cursor {
	unsigned long	pos;
	unsigned long	end;
};

#define sframe_get(val, addr, label)				\
	unsafe_get_user(val, (typeof(val) __user *)(addr), label)

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

/* The last FDE that starts at or below @ip, if it covers @ip. */
static __always_inline int
sframe_find_fde(const struct sframe_section *sec, unsigned long ip,
		struct sframe_fde *fde)
{
	unsigned long idx, start, found = 0;
	u32 low = 0, high = sec->num_fdes;
	s64 off;

	/* The index fits in the section, so no address here leaves it. */
	while (low < high) {
		u32 mid = low + (high - low) / 2;

		idx = sec->fdes + (unsigned long)mid * sizeof(struct sframe_fde_idx);
		sframe_get(off, idx, fault);
		start = (sec->pcrel ? idx : sec->start) + off;
		if (start <= ip) {
			found = start;
			low = mid + 1;
		} else {
			high = mid;
		}
	}
	if (!low)
		return -ENOENT;

	idx = sec->fdes + (unsigned long)(low - 1) * sizeof(struct sframe_fde_idx);
	fde->start = found;
	sframe_get(fde->size,
		   idx + offsetof(struct sframe_fde_idx, func_size), fault);
	sframe_get(fde->fre_off,
		   idx + offsetof(struct sframe_fde_idx, func_start_fre_off),
		   fault);

	return ip - found < fde->size ? 0 : -ENOENT;

fault:
	return -EFAULT;
}

/* One unsigned value of 1, 2 or 4 bytes (@size 0, 1 or 2). */
static __always_inline int
sframe_next(struct sframe_cursor *cur, unsigned int size, u32 *val)
{
	u16 half;
	u8 byte;

	if (cur->end - cur->pos < 1UL << size)
		return -EINVAL;

	switch (size) {
	case 0:
		sframe_get(byte, cur->pos, fault);
		*val = byte;
		break;
	case 1:
		sframe_get(half, cur->pos, fault);
		*val = half;
		break;
	default:
		sframe_get(*val, cur->pos, fault);
		break;
	}
	cur->pos += 1UL << size;

	return 0;

fault:
	return -EFAULT;
}

/* The last of @nr FREs that starts at or below @ip_off. */
static __always_inline int
sframe_scan_fres(struct sframe_cursor *cur, unsigned int nr, unsigned int type,
		 u32 ip_off, struct sframe_fre *fre)
{
	bool found = false;
	u32 start, info;
	u64 len;
	int ret;

	for (; nr; nr--) {
		ret = sframe_next(cur, type, &start);
		if (ret)
			return ret;
		if (start > ip_off)
			break;

		ret = sframe_next(cur, 0, &info);
		if (ret)
			return ret;
		if ((info & SFRAME_FRE_MANGLED_RA) ||
		    SFRAME_FRE_DATAWORD_SIZE(info) > 2)
			return -EINVAL;

		fre->words = cur->pos;
		fre->word_size = SFRAME_FRE_DATAWORD_SIZE(info);
		fre->nr_words = SFRAME_FRE_DATAWORD_COUNT(info);
		fre->base_sp = info & SFRAME_FRE_BASE_SP;
		found = true;

		len = (u64)fre->nr_words << fre->word_size;
		if (cur->end - cur->pos < len)
			return -EINVAL;
		cur->pos += len;
	}

	return found ? 0 : -EINVAL;
}

static __always_inline int
sframe_next_offset(struct sframe_cursor *cur, struct sframe_fre *fre, s32 *off)
{
	u32 val;
	int ret;

	if (!fre->nr_words)
		return -EINVAL;

	ret = sframe_next(cur, fre->word_size, &val);
	if (ret)
		return ret;

	*off = fre->word_size == 0 ? (s8)val :
	       fre->word_size == 1 ? (s16)val : (s32)val;
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
sframe_default_rule(const struct sframe_section *sec, struct sframe_cursor *cur,
		    struct sframe_fre *fre, struct unwind_rule *rule)
{
	s32 off;
	int ret;

	ret = sframe_next_offset(cur, fre, &off);
	if (ret)
		return ret;
	sframe_set_loc(&rule->cfa, UNWIND_LOC_VAL,
		       fre->base_sp ? SFRAME_AMD64_SP : SFRAME_AMD64_FP, off);

	off = sec->fixed_ra;
	if (!off) {
		ret = sframe_next_offset(cur, fre, &off);
		if (ret)
			return ret;
	}
	sframe_set_loc(&rule->ra, UNWIND_LOC_MEM, UNWIND_BASE_CFA, off);

	off = sec->fixed_fp;
	if (!off && !fre->nr_words) {
		sframe_set_loc(&rule->fp, UNWIND_LOC_SAME, 0, 0);
		return 0;
	}
	if (!off) {
		ret = sframe_next_offset(cur, fre, &off);
		if (ret)
			return ret;
	}
	sframe_set_loc(&rule->fp, UNWIND_LOC_MEM, UNWIND_BASE_CFA, off);

	return fre->nr_words ? -EINVAL : 0;
}

/* A pair of control and offset, or a control of 0: @loc stays as it is. */
static __always_inline int
sframe_flex_loc(struct sframe_cursor *cur, struct sframe_fre *fre,
		struct unwind_loc *loc)
{
	u32 ctl, base = UNWIND_BASE_CFA;
	s32 off;
	int ret;

	if (!fre->nr_words)
		return 0;

	ret = sframe_next(cur, fre->word_size, &ctl);
	if (ret)
		return ret;
	fre->nr_words--;
	if (!ctl)
		return 0;
	if (ctl & SFRAME_FLEX_UNUSED)
		return -EOPNOTSUPP;

	ret = sframe_next_offset(cur, fre, &off);
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

static __always_inline int
sframe_find_rule(const struct sframe_section *sec, unsigned long ip,
		 struct unwind_rule *rule)
{
	u32 ip_off, nr_fres, info, info2, rep_size;
	struct sframe_cursor cur;
	struct sframe_fde fde;
	struct sframe_fre fre;
	int ret;

	ret = sframe_find_fde(sec, ip, &fde);
	if (ret)
		return ret;
	rule->start = fde.start;
	rule->size = fde.size;
	rule->flags = 0;

	cur.pos = sec->fres;
	cur.end = sec->fres_end;
	if (cur.end - cur.pos < (u64)fde.fre_off + SFRAME_FDE_ATTR_SIZE)
		return -EINVAL;
	cur.pos += fde.fre_off;

	/* The five bytes were checked for at once; each load is checked too. */
	if (sframe_next(&cur, 1, &nr_fres) || sframe_next(&cur, 0, &info) ||
	    sframe_next(&cur, 0, &info2) || sframe_next(&cur, 0, &rep_size))
		return -EFAULT;

	if ((info & SFRAME_FDE_INFO_UNUSED) || info2 > SFRAME_FDE_TYPE_FLEX ||
	    (info & SFRAME_FDE_INFO_FRE_TYPE) > SFRAME_FRE_TYPE_ADDR4)
		return -EOPNOTSUPP;

	if (info & SFRAME_FDE_INFO_SIGNAL) {
		rule->flags = UNWIND_RULE_SIGNAL;
		return 0;
	}

	ip_off = ip - fde.start;
	if (info & SFRAME_FDE_INFO_PCTYPE_MASK) {
		if (!rep_size)
			return -EINVAL;
		ip_off %= rep_size;
	}

	ret = sframe_scan_fres(&cur, nr_fres, info & SFRAME_FDE_INFO_FRE_TYPE,
			       ip_off, &fre);
	if (ret)
		return ret;

	/* "The SFrame FRE Info Word": no data word, so no return address. */
	if (!fre.nr_words) {
		rule->flags = UNWIND_RULE_OUTERMOST;
		return 0;
	}

	cur.pos = fre.words;
	return info2 == SFRAME_FDE_TYPE_FLEX ?
	       sframe_flex_rule(sec, &cur, &fre, rule) :
	       sframe_default_rule(sec, &cur, &fre, rule);
}

/**
 * sframe_find() - find the rule for an address
 * @sec: a section with its header set
 * @ip: address of an instruction
 * @rule: where the rule is stored; undefined on failure
 *
 * Context: may fault.
 * Return: 0, -ENOENT if no FDE covers @ip, -EFAULT if the section cannot be
 * read, -EINVAL if it is malformed here, -EOPNOTSUPP for an encoding that is
 * not decoded.
 */
int sframe_find(const struct sframe_section *sec, unsigned long ip,
		struct unwind_rule *rule)
{
	int ret;

	if (!user_read_access_begin((void __user *)sec->start,
				    sec->end - sec->start))
		return -EFAULT;

	ret = sframe_find_rule(sec, ip, rule);
	user_read_access_end();

	return ret;
}

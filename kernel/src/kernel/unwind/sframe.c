// SPDX-License-Identifier: GPL-2.0
/*
 * SFrame version 3 decoder
 *
 * The section is in user memory, may contain anything, and may change while it is read.
 * One user access window is open over the whole section, which access_ok() has passed,
 * and every load is bounded to the section beforehand: the load itself checks nothing.
 * All that a malformed section can cause is a wrong rule: no loop runs more often than
 * a count of at most 16 bits, which a budget bounds for a whole walk, or 32 bisection
 * steps, and rules are applied by code that trusts none of them.
 *
 * The file needs only a few kernel headers, so that it can be compiled for user space,
 * too.  Functions that run inside the window are __always_inline: objtool allows no
 * calls there.
 */
#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/types.h>
#include <linux/uaccess.h>

#include "sframe.h"
#include "sframe_fre.h"
#include "user_load.h"

/* Runs of at least so many bytes are halved three times at once. */
#define SFRAME_PREFETCH			128

struct sframe_fde {
	unsigned long	start;
	u32		size;
	u32		fre_off;
};

/* Is the start that the entry at @fde gives in two cache lines? */
static bool sframe_is_across(unsigned long fde)
{
	return fde % 64 > 64 - sizeof(u64);
}

/**
 * sframe_set_header() - check a header and set up the section from it
 * @sec: the section, with @sec->start and @sec->end set
 * @hdr: a copy of its header
 *
 * Return: 0, -EINVAL for a malformed header, or -EOPNOTSUPP for a version, ABI or flag
 * that is not decoded, such as that of a section whose FDEs are not sorted.
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
	/*
	 * A long run is read in whole lines from where it starts. The first such run
	 * starts with the index, the other ends with it.
	 */
	sec->across = sframe_is_across(sec->fdes) ||
		      sframe_is_across(sec->fdes + hdr->num_fdes * sizeof(struct sframe_fde_idx));

	return 0;
}

/**
 * sframe_read_header() - read and check the header of a section, and set it up
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

/* Where a function starts, counted from the field that says so or from the section. */
static __always_inline unsigned long
sframe_get_start(const struct sframe_section *sec, struct sframe_cursor *cur,
		 unsigned long fde, bool pcrel)
{
	return unwind_user_load_u64(fde, &cur->err) + sec->bias +
	       (pcrel ? fde : sec->start);
}

/*
 * The entry at @mid if that starts at or below @key, else the one at @first.  Without a
 * branch, which would be mispredicted every other time.
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

/* What can be read when two runs of four quarters are halved twice. */
static __always_inline void
sframe_prefetch(unsigned long run, unsigned long other, unsigned long quarter)
{
	unsigned long three = 3 * quarter;

	/* Keeps compilers from computing the sum for each run. */
	OPTIMIZER_HIDE_VAR(three);
	unwind_user_prefetch(run + quarter);
	unwind_user_prefetch(other + quarter);
	unwind_user_prefetch(run + 2 * quarter);
	unwind_user_prefetch(other + 2 * quarter);
	unwind_user_prefetch(run + three);
	unwind_user_prefetch(other + three);
}

/*
 * The last entry that starts at or below @ip, or the first.  It is in one of two
 * overlapping runs of entries, each as long as a power of two; from there on a run is
 * halved.  No run leaves the index, whether what is read of it is right or 0.
 *
 * Each load waits for the one before.  What three of them can read is fetched at once,
 * so that tables that are in no cache cost a third of the waits.
 */
static __always_inline unsigned long
sframe_bisect(const struct sframe_section *sec, struct sframe_cursor *cur,
	      unsigned long ip, bool pcrel)
{
	/*
	 * What would be added to each start is subtracted once.  Signed, as either may
	 * be negative then; those of a malformed table may wrap, and find a wrong
	 * entry.
	 */
	const s64 key = ip - sec->bias - (pcrel ? 0 : sec->start);
	const unsigned int last = sizeof(u64) - 1;
	unsigned long fdes = sec->fdes, mid, step;

	step = sizeof(struct sframe_fde_idx) << ilog2(sec->num_fdes);
	mid = fdes + sec->num_fdes * sizeof(struct sframe_fde_idx) - step;
	while (step >= SFRAME_PREFETCH) {
		step /= 4;
		sframe_prefetch(fdes, mid, step);
		if (unlikely(sec->across))
			sframe_prefetch(fdes + last, mid + last, step);
		fdes = sframe_choose(cur, fdes, mid, key, pcrel);
		fdes = sframe_choose(cur, fdes, fdes + 2 * step, key, pcrel);
		mid = fdes + step;
		step /= 2;
		/* For the next round: this pays off where the L2 cache has it. */
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

static __always_inline int
sframe_find_rule(const struct sframe_section *sec, struct sframe_cursor *cur,
		 unsigned long ip, struct unwind_rule *rule, u32 *rest)
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
	if (!attr.nr_fres) {
		*rest = fde.size - (ip - fde.start);
		rule->flags = UNWIND_RULE_SIGNAL;
		return attr.info & SFRAME_FDE_INFO_SIGNAL ? 0 : -ENODATA;
	}

	ret = sframe_fre_rule(sec, cur, &attr, ip - fde.start, rule, rest);
	if (ret)
		return ret;

	/* As DWARF's 'S': the caller was interrupted; nobody called this. */
	if (attr.info & SFRAME_FDE_INFO_SIGNAL) {
		rule->flags &= ~UNWIND_RULE_COMMON;
		rule->flags |= UNWIND_RULE_SIGNAL | UNWIND_RULE_EXACT;
	}

	return 0;
}

/* As sframe_find_within(); stores at @rest how far the rule goes. */
static __always_inline int
sframe_find_rest(const struct sframe_section *sec, unsigned long ip,
		 struct unwind_rule *rule, unsigned int *budget, u32 *rest)
{
	struct sframe_cursor cur = { .budget = *budget };
	int ret;

	if (!user_read_access_begin((void __user *)sec->start,
				    sec->end - sec->start))
		return -EFAULT;

	ret = sframe_find_rule(sec, &cur, ip, rule, rest);
	user_read_access_end();

	*budget = cur.budget;
	if (cur.err)
		return cur.err;

	return cur.budget ? ret : -E2BIG;
}

/**
 * sframe_find_within() - find the rule for an address
 * @sec: a section with its header set
 * @ip: address of an instruction
 * @rule: where to store the rule; undefined on failure
 * @budget: how many FREs may be looked at, not 0; reduced by those that were
 *
 * Context: may fault.
 * Return: 0, -ENOENT if no FDE covers @ip, -ENODATA if the one that does has no FREs,
 * -EFAULT if the section cannot be read, -E2BIG if @budget is used up, -EINVAL if it is
 * malformed here, -EOPNOTSUPP for an encoding that is not decoded.
 */
int sframe_find_within(const struct sframe_section *sec, unsigned long ip,
		       struct unwind_rule *rule, unsigned int *budget)
{
	u32 rest;

	return sframe_find_rest(sec, ip, rule, budget, &rest);
}

/**
 * sframe_find_row() - find the rule for an address, and how far it goes
 * @sec: as in sframe_find_within()
 * @ip: ditto
 * @rule: ditto
 * @size: where to store how many bytes, from @ip on, have this rule or, with -ENODATA,
 *	none
 *
 * Context: may fault.
 * Return: as sframe_find_within(), except -E2BIG.
 */
int sframe_find_row(const struct sframe_section *sec, unsigned long ip,
		    struct unwind_rule *rule, u32 *size)
{
	unsigned int budget = ~0U;

	return sframe_find_rest(sec, ip, rule, &budget, size);
}

/**
 * sframe_get_fde() - get the extent of a function
 * @sec: a section with its header set
 * @nr: number of its FDE, less than @sec->num_fdes
 * @start: where to store its address
 * @size: where to store its size
 *
 * Context: may fault.
 * Return: 0, or -EFAULT if the section cannot be read.
 */
int sframe_get_fde(const struct sframe_section *sec, u32 nr,
		   unsigned long *start, u32 *size)
{
	const unsigned long at = sec->fdes + nr * sizeof(struct sframe_fde_idx);
	struct sframe_fde_idx fde;

	if (copy_from_user(&fde, (void __user *)at, sizeof(fde)))
		return -EFAULT;

	*start = fde.func_start_offset + sec->bias + (sec->pcrel ? at : sec->start);
	*size = fde.func_size;

	return 0;
}

/**
 * sframe_find_gap() - find how far around an address no FDE covers anything
 * @sec: a section with its header set
 * @ip: the address
 * @start: raised to where the gap starts, if that is higher
 * @end: lowered to where the gap ends, if that is lower
 *
 * Context: may fault.
 * Return: 0, -EINVAL if an FDE covers @ip, or -EFAULT if the section cannot be read.
 */
int sframe_find_gap(const struct sframe_section *sec, unsigned long ip,
		    unsigned long *start, unsigned long *end)
{
	struct sframe_cursor cur = {};
	unsigned long at, first;
	u32 nr, size;
	int ret;

	if (!sec->num_fdes)
		return 0;
	if (!user_read_access_begin((void __user *)sec->start,
				    sec->end - sec->start))
		return -EFAULT;
	at = sframe_bisect(sec, &cur, ip, sec->pcrel);
	user_read_access_end();
	if (cur.err)
		return cur.err;

	nr = (at - sec->fdes) / sizeof(struct sframe_fde_idx);
	ret = sframe_get_fde(sec, nr, &first, &size);
	if (!ret && first <= ip) {
		if (ip - first < size)
			return -EINVAL;
		*start = max(*start, first + size);
		if (++nr == sec->num_fdes)
			return 0;
		ret = sframe_get_fde(sec, nr, &first, &size);
	}
	if (!ret)
		*end = min(*end, first);

	return ret;
}

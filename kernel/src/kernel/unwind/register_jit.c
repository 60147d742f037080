// SPDX-License-Identifier: GPL-2.0
/*
 * What CODE_REGISTER_JIT asks for
 *
 * Nothing that it points to is read here: it may not be there yet.
 */
#include <linux/build_bug.h>
#include <linux/math.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "jit.h"
#include "register.h"
#include "registry.h"

/* Zero, or where @len bytes, aligned to @align, can be in user space. */
static bool codectl_pointer_ok(u64 addr, u64 len, u64 align)
{
	return !(addr % align) && len <= TASK_SIZE_MAX &&
	       addr <= TASK_SIZE_MAX - len;
}

static int codectl_check_tables(const struct code_jit_info *info)
{
	if (info->slots || info->pool || info->pool_len || info->granule_shift)
		return -EINVAL;
	if (!info->unwind_head && !(info->jit_flags & CODE_JIT_DEFAULT_RULE))
		return -EINVAL;

	return codectl_pointer_ok(info->unwind_head,
				  sizeof(struct code_jit_unwind_table),
				  sizeof(u64)) &&
	       codectl_pointer_ok(info->seq, sizeof(u32), sizeof(u32)) ?
	       0 : -EINVAL;
}

static int codectl_check_granules(const struct code_jit_info *info,
				  struct jit_unwind *jit)
{
	const u64 len = info->text_end - info->text_start;

	if (info->unwind_head || info->seq || !info->slots || !info->pool ||
	    (info->jit_flags & CODE_JIT_DESCENDING) ||
	    info->granule_shift < CODE_JIT_MIN_SHIFT ||
	    info->granule_shift > CODE_JIT_MAX_SHIFT ||
	    info->pool_len < sizeof(struct code_jit_record))
		return -EINVAL;

	/* The text is no more than CODE_JIT_MAX_TEXT. */
	jit->nr_slots = DIV_ROUND_UP(len, 1UL << info->granule_shift);

	return codectl_pointer_ok(info->slots,
				  (u64)jit->nr_slots * sizeof(u32),
				  sizeof(u32)) &&
	       codectl_pointer_ok(info->pool, info->pool_len,
				  CODE_JIT_RECORD_ALIGN) ?
	       0 : -EINVAL;
}

static int codectl_check_jit(const struct code_jit_info *info,
			     struct jit_unwind *jit)
{
	const u32 flags = CODE_JIT_DEFAULT_RULE | CODE_JIT_DESCENDING |
			  CODE_JIT_CALLSITE | CODE_JIT_GRANULES;

	if (info->fre_size && info->fre_size != CODE_JIT_UNWIND_FRE_SIZE)
		return -EOPNOTSUPP;
	if ((info->jit_flags & ~flags) || info->__reserved2 ||
	    !jit_fre_known(&jit->rule))
		return -EINVAL;
	if (!(info->jit_flags & CODE_JIT_DEFAULT_RULE) &&
	    (info->cfa_off || info->ra_off || info->fp_off || info->info))
		return -EINVAL;

	if (!codectl_range_ok(info->text_start, info->text_end) ||
	    info->text_end - info->text_start > CODE_JIT_MAX_TEXT)
		return -EINVAL;

	return info->jit_flags & CODE_JIT_GRANULES ?
	       codectl_check_granules(info, jit) : codectl_check_tables(info);
}

/**
 * codectl_read_jit() - read the description of a range of compiled code
 * @uinfo: a &struct code_jit_info in user space
 * @usize: its size, at most a page
 * @region: where to store the registration, for codectl_region_put()
 *
 * Context: process; may fault.
 * Return: 0, or a negative error, as described with the structure.
 */
int codectl_read_jit(const void __user *uinfo, size_t usize,
		     struct codectl_region **region)
{
	struct code_jit_info info;
	struct jit_unwind jit;
	int ret;

	BUILD_BUG_ON(sizeof(struct code_jit_info) != CODE_JIT_INFO_SIZE_VER2);
	BUILD_BUG_ON(offsetof(struct code_jit_info, jit_flags) !=
		     CODE_JIT_INFO_SIZE_VER0);
	BUILD_BUG_ON(offsetof(struct code_jit_info, slots) !=
		     CODE_JIT_INFO_SIZE_VER1);
	BUILD_BUG_ON(sizeof(struct code_jit_unwind_fre) !=
		     CODE_JIT_UNWIND_FRE_SIZE);

	if (usize < CODE_JIT_INFO_SIZE_VER0)
		return -EINVAL;
	ret = copy_struct_from_user(&info, sizeof(info), uinfo, usize);
	if (ret)
		return ret;

	jit = (struct jit_unwind) {
		.head = info.unwind_head,
		.seq = info.seq,
		.flags = info.jit_flags,
		.slots = info.slots,
		.pool = info.pool,
		.pool_len = info.pool_len,
		.shift = info.granule_shift,
		.rule.cfa_off = info.cfa_off,
		.rule.ra_off = info.ra_off,
		.rule.fp_off = info.fp_off,
		.rule.info = info.info,
	};
	memcpy(jit.rule.__reserved, info.__reserved, sizeof(info.__reserved));
	ret = codectl_check_jit(&info, &jit);
	if (ret)
		return ret;

	*region = codectl_region_alloc();
	if (!*region)
		return -ENOMEM;
	(*region)->text_start = info.text_start;
	(*region)->text_end = info.text_end;
	(*region)->tables.is_jit = true;
	(*region)->tables.jit = jit;

	return 0;
}

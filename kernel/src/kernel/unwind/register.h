/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _UNWIND_REGISTER_H
#define _UNWIND_REGISTER_H

#include <linux/processor.h>
#include <linux/types.h>

struct codectl_region;

int codectl_read_jit(const void __user *uinfo, size_t usize,
		     struct codectl_region **region);

/* Is the range not empty, and can all of it be in user space? */
static inline bool codectl_range_ok(u64 start, u64 end)
{
	return start < end && end <= TASK_SIZE_MAX;
}

#endif /* _UNWIND_REGISTER_H */

// SPDX-License-Identifier: GPL-2.0
/*
 * What a task has found in its tables
 *
 * Most stacks that are taken of a task have most frames in common with the ones
 * before.
 */
#include <linux/build_bug.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "rule_cache.h"

/**
 * rule_cache_get() - get the cache of the current task for a walk
 *
 * Context: process; may sleep.
 * Return: the cache, or NULL where nothing is registered or there is no memory.
 */
struct rule_cache *rule_cache_get(void)
{
	struct unwind_task_info *info = &current->unwind_info;
	u64 gen = codectl_generation(current->mm);

	/* One line each, and all of what the allocator gives. */
	static_assert(sizeof(struct rule_slot) == 64);
	static_assert(struct_size_t(struct rule_cache, slots,
				    RULE_CACHE_SLOTS) <= SZ_16K);

	if (!gen)
		return NULL;
	/* A task that exits shall not ask for memory that it hardly uses. */
	if (!info->rules && !(current->flags & PF_EXITING))
		info->rules = kzalloc_flex(*info->rules, slots,
					   RULE_CACHE_SLOTS,
					   GFP_KERNEL_ACCOUNT | __GFP_NORETRY |
					   __GFP_NOWARN);
	if (info->rules)
		info->rules->gen = gen;

	return info->rules;
}

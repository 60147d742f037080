/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _UNWIND_TESTS_REGISTRY_MM_H
#define _UNWIND_TESTS_REGISTRY_MM_H

/*
 * Address spaces in which nothing is mapped: the registry does not ask what is at an
 * address.
 */
#include <kunit/resource.h>
#include <kunit/test.h>
#include <linux/codectl.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>

#include "../registry.h"

#define BASE	0x10000000UL
#define END	(BASE + 0x1000)

KUNIT_DEFINE_ACTION_WRAPPER(put_mm, mmput, struct mm_struct *);

static inline struct mm_struct *new_mm(struct kunit *test)
{
	struct mm_struct *mm = mm_alloc();

	KUNIT_ASSERT_NOT_NULL(test, mm);
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, put_mm, mm));

	return mm;
}

static inline void exit_mm(struct kunit *test, struct mm_struct *mm)
{
	kunit_release_action(test, put_mm, mm);
}

static inline int insert_max(struct mm_struct *mm, unsigned long start,
			     unsigned long end, unsigned int max)
{
	struct codectl_region *region = codectl_region_alloc();
	int ret;

	if (!region)
		return -ENOMEM;
	region->text_start = start;
	region->text_end = end;

	mmap_write_lock(mm);
	ret = codectl_insert(mm, region, max);
	mmap_write_unlock(mm);
	codectl_region_put(region);

	return ret;
}

static inline int insert(struct mm_struct *mm, unsigned long start,
			 unsigned long end)
{
	return insert_max(mm, start, end, UINT_MAX);
}

static inline int erase(struct mm_struct *mm, unsigned long start,
			unsigned long end)
{
	int ret;

	mmap_write_lock(mm);
	ret = codectl_erase(mm, start, end);
	mmap_write_unlock(mm);

	return ret;
}

static inline void unmap(struct mm_struct *mm, unsigned long start,
			 unsigned long end)
{
	mmap_write_lock(mm);
	codectl_munmap(mm, start, end);
	mmap_write_unlock(mm);
}

static inline void map_over(struct mm_struct *mm, unsigned long start,
			    unsigned long end)
{
	mmap_write_lock(mm);
	codectl_unmap(mm, start, end, true);
	mmap_write_unlock(mm);
}

static inline struct mm_struct *fork_mm(struct kunit *test,
					struct mm_struct *parent)
{
	struct mm_struct *child = new_mm(test);

	mmap_write_lock(parent);
	mmap_write_lock_nested(child, SINGLE_DEPTH_NESTING);
	codectl_dup_mmap(child, parent);
	mmap_write_unlock(child);
	mmap_write_unlock(parent);

	return child;
}

static inline bool covers(struct mm_struct *mm, unsigned long ip)
{
	struct codectl_lookup lookup;

	return codectl_find(mm, ip, &lookup);
}

static inline bool is_empty(struct mm_struct *mm)
{
	return !rcu_access_pointer(mm->codectl);
}

#endif /* _UNWIND_TESTS_REGISTRY_MM_H */

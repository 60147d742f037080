/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _USER_MEMORY_H
#define _USER_MEMORY_H

#include <kunit/test.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/uaccess.h>

/* At @addr, or anywhere if that is 0. */
static inline unsigned long map_user(struct kunit *test, unsigned long addr,
				     unsigned long len)
{
	unsigned long at;

	at = kunit_vm_mmap(test, NULL, addr, len, PROT_READ | PROT_WRITE,
			   MAP_ANONYMOUS | MAP_PRIVATE | (addr ? MAP_FIXED : 0),
			   0);
	KUNIT_ASSERT_NE(test, at, 0);
	KUNIT_ASSERT_LT(test, at, TASK_SIZE_MAX);

	return at;
}

#endif /* _USER_MEMORY_H */

/* SPDX-License-Identifier: MIT */
/*
 * User memory is the memory of this process, and the tables in it are the
 * library's own: nothing faults, and nothing needs to be checked.
 */
#ifndef CODECTL_SHIM_UACCESS_H
#define CODECTL_SHIM_UACCESS_H

#include <linux/types.h>

#define TASK_SIZE_MAX	(1UL << 63)

static inline bool user_read_access_begin(const void *ptr, unsigned long len)
{
	(void)ptr;
	(void)len;

	return true;
}

static inline void user_read_access_end(void) {}

static inline bool pagefault_disabled(void)
{
	return true;
}

#define unsafe_get_user(val, ptr, label)				\
do {									\
	if (0)								\
		goto label;						\
	(val) = __atomic_load_n(ptr, __ATOMIC_RELAXED);			\
} while (0)

#define get_user(val, ptr)						\
({									\
	(val) = __atomic_load_n(ptr, __ATOMIC_RELAXED);			\
	0;								\
})

#endif /* CODECTL_SHIM_UACCESS_H */

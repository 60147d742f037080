/* SPDX-License-Identifier: GPL-2.0 */
/*
 * User access for timing the decoder: what a load or a prefetch is in the kernel, with
 * nothing around it.
 */
#ifndef HOST_PLAIN_LINUX_UACCESS_H
#define HOST_PLAIN_LINUX_UACCESS_H

#include <linux/types.h>
#include <string.h>

static inline unsigned long copy_from_user(void *to, const void *from,
					   unsigned long len)
{
	memcpy(to, from, len);

	return 0;
}

static inline bool user_read_access_begin(const void *ptr, unsigned long len)
{
	return ptr && len;
}

static inline void user_read_access_end(void) {}

static inline void unwind_user_prefetch(unsigned long addr)
{
	__builtin_prefetch((const void *)addr);
}

/* Never taken, but the compiler does not know that. */
#define unsafe_get_user(val, ptr, label)				\
do {									\
	typedef __typeof__(*(ptr)) __attribute__((aligned(1))) loose;	\
									\
	asm goto("" : : : : label);					\
	(val) = *(const volatile loose *)(ptr);				\
} while (0)

#endif /* HOST_PLAIN_LINUX_UACCESS_H */

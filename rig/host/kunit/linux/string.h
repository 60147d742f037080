/* SPDX-License-Identifier: GPL-2.0 */
#ifndef HOST_KUNIT_LINUX_STRING_H
#define HOST_KUNIT_LINUX_STRING_H

#include <linux/types.h>
#include <string.h>

/* The first byte that is not @c, or NULL. */
static inline void *memchr_inv(const void *start, int c, size_t len)
{
	const unsigned char *p = start;

	for (; len; p++, len--)
		if (*p != (unsigned char)c)
			return (void *)p;

	return NULL;
}

#endif /* HOST_KUNIT_LINUX_STRING_H */

/* SPDX-License-Identifier: GPL-2.0 */
#ifndef HOST_KUNIT_LINUX_OVERFLOW_H
#define HOST_KUNIT_LINUX_OVERFLOW_H

#include <linux/limits.h>
#include <linux/types.h>
#include <stdint.h>

static inline size_t array_size(size_t nr, size_t size)
{
	size_t bytes;

	return __builtin_mul_overflow(nr, size, &bytes) ? SIZE_MAX : bytes;
}

#endif /* HOST_KUNIT_LINUX_OVERFLOW_H */

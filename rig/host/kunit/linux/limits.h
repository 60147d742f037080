/* SPDX-License-Identifier: GPL-2.0 */
#ifndef HOST_KUNIT_LINUX_LIMITS_H
#define HOST_KUNIT_LINUX_LIMITS_H

/* The other header of this name. */
#include <limits.h>

#define U16_MAX		((u16)~0U)
#define U32_MAX		((u32)~0U)
#define U64_MAX		((u64)~0ULL)
#define S32_MAX		INT_MAX
#define S32_MIN		INT_MIN
#define S64_MAX		((s64)(U64_MAX >> 1))

#endif /* HOST_KUNIT_LINUX_LIMITS_H */

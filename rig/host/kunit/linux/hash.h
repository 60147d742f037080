/* SPDX-License-Identifier: GPL-2.0 */
#ifndef HOST_KUNIT_LINUX_HASH_H
#define HOST_KUNIT_LINUX_HASH_H

#include <linux/types.h>

static inline u32 hash_64(u64 val, unsigned int bits)
{
	return val * 0x61c8864680b583ebull >> (64 - bits);
}

#endif /* HOST_KUNIT_LINUX_HASH_H */

/* SPDX-License-Identifier: GPL-2.0 */
#ifndef HOST_RANDOM_H
#define HOST_RANDOM_H

#include <linux/types.h>

/* xorshift64, the same numbers in each run */
static inline u64 next_random(void)
{
	static u64 x = 88172645463325252;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;

	return x;
}

#endif /* HOST_RANDOM_H */

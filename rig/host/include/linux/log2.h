/* SPDX-License-Identifier: GPL-2.0 */
#ifndef HOST_LINUX_LOG2_H
#define HOST_LINUX_LOG2_H

#define ilog2(n)		(63 - __builtin_clzl(n))
#define rounddown_pow_of_two(n)	(1UL << (63 - __builtin_clzl(n)))

#endif /* HOST_LINUX_LOG2_H */

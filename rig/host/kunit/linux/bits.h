/* SPDX-License-Identifier: GPL-2.0 */
#ifndef HOST_KUNIT_LINUX_BITS_H
#define HOST_KUNIT_LINUX_BITS_H

#define BIT_ULL(nr)	(1ULL << (nr))

#endif /* HOST_KUNIT_LINUX_BITS_H */

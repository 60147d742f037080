/* SPDX-License-Identifier: GPL-2.0 */
#ifndef HOST_KUNIT_LINUX_SIZES_H
#define HOST_KUNIT_LINUX_SIZES_H

#define SZ_1K	0x400
#define SZ_1M	0x100000

#endif /* HOST_KUNIT_LINUX_SIZES_H */

/* SPDX-License-Identifier: GPL-2.0 */
#ifndef HOST_KUNIT_LINUX_MM_H
#define HOST_KUNIT_LINUX_MM_H

#include <linux/uaccess.h>

#define kunit_vm_mmap(test, file, addr, len, prot, flags, off)		\
	((void)(test), (void)(file), (void)(prot), (void)(flags), (void)(off),	\
	 user_map(addr, len))
#define vm_munmap(addr, len)	user_unmap(addr, len)

#endif /* HOST_KUNIT_LINUX_MM_H */

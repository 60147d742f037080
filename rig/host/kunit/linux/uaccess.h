/* SPDX-License-Identifier: GPL-2.0 */
/*
 * User memory of a few pages that can be mapped, touched and unmapped: all of it is
 * below everything else in the program.  A load or prefetch that the kernel would do
 * without any check ends the program unless it is in the window.
 */
#ifndef HOST_LINUX_UACCESS_H
#define HOST_LINUX_UACCESS_H

#include <linux/types.h>

#define PAGE_SIZE	4096UL
#define TASK_SIZE_MAX	0x11000000UL
#define PAGE_OFFSET	0xffff888000000000UL

unsigned long user_map(unsigned long addr, unsigned long len);
int user_unmap(unsigned long addr, unsigned long len);

/* Bytes that could not be copied: all or none. */
unsigned long copy_from_user(void *to, const void *from, unsigned long len);
unsigned long copy_to_user(void *to, const void *from, unsigned long len);

void pagefault_disable(void);
void pagefault_enable(void);
bool pagefault_disabled(void);

bool user_read_access_begin(const void *ptr, unsigned long len);
void user_read_access_end(void);

/* In the window: can the load be done without a fault? */
bool user_load(void *to, unsigned long addr, unsigned long len);
void unwind_user_prefetch(unsigned long addr);

#define unsafe_get_user(val, ptr, label)				\
do {									\
	__typeof__(*(ptr)) loaded;					\
									\
	if (!user_load(&loaded, (unsigned long)(ptr), sizeof(loaded)))	\
		goto label;						\
	(val) = loaded;							\
} while (0)

/* Return: 0, or nonzero after a fault. */
#define get_user(val, ptr)						\
	((int)copy_from_user(&(val), ptr, sizeof(*(ptr))))

/* Called before each load with its address, or with 0 by a barrier. */
extern void (*user_watch)(unsigned long addr);
void user_barrier(void);

#endif /* HOST_LINUX_UACCESS_H */

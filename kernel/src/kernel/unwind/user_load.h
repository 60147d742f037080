/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef _UNWIND_USER_LOAD_H
#define _UNWIND_USER_LOAD_H

/*
 * bool unwind_user_begin(unsigned long *addr, size_t size);
 *
 * @addr: where the loads begin; an address outside user space becomes one that faults
 * @size: how far they reach, less than a page
 *
 * Opens a user access window by a mask.  user_read_access_begin() takes a branch, and
 * waits for it by a fence.
 *
 * Return: whether it did.
 *
 * unsigned long unwind_user_load_u8(unsigned long addr, long *err);
 * and _u16, _u32, _u64: load from user memory, leaving the check for a fault to later
 *
 * @addr: where from, inside a user access window
 * @err: set to -EFAULT by a fault, else unchanged
 *
 * For loads of which a 0 leads no other load out of the window, so that one check after
 * all of them suffices.  unsafe_get_user() checks after each, if the compiler has no
 * asm goto with outputs.
 *
 * Return: the value, or 0 after a fault.
 *
 * void unwind_user_prefetch(unsigned long addr);
 *
 * @addr: inside the window as well; never faults
 *
 * Into all caches.  prefetch() of x86 fetches into the nearest one only: what that
 * displaces is read from memory again, and a lookup in tables that fit in the others
 * takes ten times as long.
 */
#ifdef CONFIG_CODECTL

#include <asm/unwind_user.h>

#else /* the user space that has the decoders too */

#include <linux/errno.h>
#include <linux/types.h>
#include <linux/uaccess.h>

static inline bool unwind_user_begin(unsigned long *addr, size_t size)
{
	return user_read_access_begin((const void __user *)*addr, size);
}

#define UNWIND_USER_LOAD(type)						\
static __always_inline unsigned long					\
unwind_user_load_##type(unsigned long addr, long *err)			\
{									\
	type val;							\
									\
	unsafe_get_user(val, (type __user *)addr, fault);		\
	return val;							\
fault:									\
	*err = -EFAULT;							\
	return 0;							\
}

UNWIND_USER_LOAD(u8)
UNWIND_USER_LOAD(u16)
UNWIND_USER_LOAD(u32)
UNWIND_USER_LOAD(u64)

/* The linux/uaccess.h of a build with sframe.c has unwind_user_prefetch() as well. */

#endif

#endif /* _UNWIND_USER_LOAD_H */

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * User access for the decoder outside the kernel.  User memory is one arena.  A load or
 * prefetch that the kernel would do without any check ends the program unless it is in
 * the window, and so in the arena.
 */
#ifndef HOST_LINUX_UACCESS_H
#define HOST_LINUX_UACCESS_H

#include <linux/types.h>
#include <stdlib.h>
#include <string.h>

/**
 * struct user_arena - all of user memory
 * @start: its first byte
 * @end: its end
 * @fault: first byte of it that is not mapped
 * @window_start: start of the range that may be read now
 * @window_end: end of that range; @window_start outside of a window
 * @loads: number of loads
 */
struct user_arena {
	unsigned long start;
	unsigned long end;
	unsigned long fault;
	unsigned long window_start;
	unsigned long window_end;
	unsigned long loads;
};

extern struct user_arena user_arena;

/* The arena is all of user memory, so its end is that of user space. */
#define TASK_SIZE_MAX		(user_arena.end)
#define pagefault_disabled()	false

static inline bool user_range_ok(unsigned long addr, unsigned long len)
{
	return addr >= user_arena.start && addr <= user_arena.end &&
	       len <= user_arena.end - addr;
}

static inline unsigned long copy_from_user(void *to, const void *from,
					   unsigned long len)
{
	unsigned long addr = (unsigned long)from;

	if (!user_range_ok(addr, len) || addr + len > user_arena.fault)
		return len;
	memcpy(to, from, len);

	return 0;
}

static inline bool user_read_access_begin(const void *ptr, unsigned long len)
{
	if (user_arena.window_start != user_arena.window_end)
		abort();
	if (!user_range_ok((unsigned long)ptr, len))
		return false;
	user_arena.window_start = (unsigned long)ptr;
	user_arena.window_end = (unsigned long)ptr + len;

	return true;
}

static inline void user_read_access_end(void)
{
	user_arena.window_start = 0;
	user_arena.window_end = 0;
}

static inline void user_check_window(unsigned long addr, unsigned long len)
{
	if (addr < user_arena.window_start || addr > user_arena.window_end ||
	    len > user_arena.window_end - addr)
		abort();
}

/* Whether the load can be done without a fault. */
static inline bool user_load(void *to, unsigned long addr, unsigned long len)
{
	user_check_window(addr, len);
	user_arena.loads++;
	if (addr + len > user_arena.fault)
		return false;
	memcpy(to, (const void *)addr, len);

	return true;
}

#define unsafe_get_user(val, ptr, label)				\
do {									\
	__typeof__(*(ptr)) loaded;					\
									\
	if (!user_load(&loaded, (unsigned long)(ptr), sizeof(loaded)))	\
		goto label;						\
	(val) = loaded;							\
} while (0)

static inline void unwind_user_prefetch(unsigned long addr)
{
	user_check_window(addr, 1);
}

/* Return: 0, or nonzero after a fault. */
#define get_user(val, ptr)						\
	((int)copy_from_user(&(val), ptr, sizeof(*(ptr))))

#endif /* HOST_LINUX_UACCESS_H */

/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _LINUX_CODECTL_H
#define _LINUX_CODECTL_H

#include <linux/compiler.h>
#include <linux/mm_types.h>
#include <linux/rcupdate.h>

struct elf64_phdr;

#ifdef CONFIG_CODECTL

void __codectl_dup_mmap(struct mm_struct *mm, struct codectl_registry *reg);
void __codectl_munmap(struct mm_struct *mm, unsigned long start,
		      unsigned long end);
void __codectl_mm_exit(struct mm_struct *mm);
void codectl_exec_elf(const struct elf64_phdr *phdr, unsigned int phnum,
		      unsigned long bias);

/* fork() copies the whole mm_struct: the pointer is the parent's until here. */
static inline void codectl_mm_init(struct mm_struct *mm)
{
	RCU_INIT_POINTER(mm->codectl, NULL);
}

/* Under the mmap locks of both. */
static inline void codectl_dup_mmap(struct mm_struct *mm,
				    struct mm_struct *oldmm)
{
	struct codectl_registry *reg = rcu_dereference_raw(oldmm->codectl);

	if (unlikely(reg))
		__codectl_dup_mmap(mm, reg);
}

/**
 * codectl_munmap() - drop the code of which a page stops being mapped
 * @mm: the address space
 * @start: first byte that is not mapped any more, or mapped elsewhere
 * @end: end of the range
 *
 * Called where the change can no longer fail, and not where something else is
 * mapped over the range in the same operation.
 *
 * Context: holds the mmap lock of @mm for writing; may sleep; cannot fail.
 */
static inline void codectl_munmap(struct mm_struct *mm, unsigned long start,
				  unsigned long end)
{
	if (unlikely(rcu_access_pointer(mm->codectl)))
		__codectl_munmap(mm, start, end);
}

/* The last user of the address space is gone. */
static inline void codectl_mm_exit(struct mm_struct *mm)
{
	if (unlikely(rcu_access_pointer(mm->codectl)))
		__codectl_mm_exit(mm);
}

#else /* !CONFIG_CODECTL */

static inline void codectl_mm_init(struct mm_struct *mm) {}
static inline void codectl_dup_mmap(struct mm_struct *mm,
				    struct mm_struct *oldmm) {}
static inline void codectl_munmap(struct mm_struct *mm, unsigned long start,
				  unsigned long end) {}
static inline void codectl_mm_exit(struct mm_struct *mm) {}

#endif /* CONFIG_CODECTL */

#endif /* _LINUX_CODECTL_H */

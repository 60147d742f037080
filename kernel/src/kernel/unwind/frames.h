/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _UNWIND_FRAMES_H
#define _UNWIND_FRAMES_H

#include <linux/codectl.h>

struct file;
struct mm_struct;
struct path;
struct vm_area_struct;

void codectl_describe(struct mm_struct *mm, const struct path *root,
		      const struct codectl_region *region,
		      struct codectl_names *names);
u64 codectl_vma_base(const struct vm_area_struct *vma);
struct file *codectl_vma_file(struct mm_struct *mm, unsigned long addr,
			      struct codectl_range *range);

#endif /* _UNWIND_FRAMES_H */

/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _UNWIND_QUERY_H
#define _UNWIND_QUERY_H

#include <linux/codectl_query.h>

bool codectl_note_text(struct mm_struct *mm, struct codectl_region *region);
struct file *codectl_text_file(struct mm_struct *mm,
			       const struct codectl_region *region,
			       u64 *offset);
struct file *codectl_claimed_file(struct mm_struct *mm,
				  const struct codectl_region *region);

#endif /* _UNWIND_QUERY_H */

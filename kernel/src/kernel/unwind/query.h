/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _UNWIND_QUERY_H
#define _UNWIND_QUERY_H

#include <linux/codectl_query.h>

struct file *codectl_region_file(struct mm_struct *mm,
				 const struct codectl_region *region,
				 loff_t *offset, bool *text);

#endif /* _UNWIND_QUERY_H */

/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _UNWIND_EVENTS_H
#define _UNWIND_EVENTS_H

#include <linux/types.h>

struct codectl_region;
struct mm_struct;

void codectl_trace_register(struct mm_struct *mm, pid_t pid,
			    const struct codectl_region *region);

int codectl_waits_get(void);
void codectl_waits_put(void);
int codectl_wakes_get(void);
void codectl_wakes_put(void);

#endif /* _UNWIND_EVENTS_H */

/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _UNWIND_WALK_TEXT_H
#define _UNWIND_WALK_TEXT_H

#include "rule_cache.h"

/* For a walk that has found none, or may not go back to it. */
extern const struct attached_text rule_walk_no_text;

void rule_walk_forget(struct rule_walk *walk);
bool rule_walk_attached(struct rule_walk *walk, unsigned long ip, bool exact,
			u64 *rule);
void rule_walk_set_gap(struct rule_walk *walk, unsigned long addr,
		       unsigned long start, unsigned long end);
void rule_walk_note_gap(struct rule_walk *walk, unsigned long ip);

#endif /* _UNWIND_WALK_TEXT_H */

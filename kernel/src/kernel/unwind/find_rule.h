/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _UNWIND_FIND_RULE_H
#define _UNWIND_FIND_RULE_H

struct found_rule;
struct rule_slot;
struct unwind_user_state;

int unwind_user_find_rule(struct unwind_user_state *state,
			  unsigned long key, struct rule_slot *slot);
int unwind_user_find_uncached(struct unwind_user_state *state,
			      struct found_rule *found);

#endif /* _UNWIND_FIND_RULE_H */

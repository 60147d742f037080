/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _UNWIND_FIND_RULE_H
#define _UNWIND_FIND_RULE_H

#include <linux/types.h>

struct code_jit_unwind_fre;
struct rule_walk;
struct unwind_user_state;

u64 codectl_row_kept(const struct code_jit_unwind_fre *fre);
u64 unwind_user_find_rule(struct unwind_user_state *state);
bool unwind_user_find_gap(const struct rule_walk *walk, unsigned long addr,
			  unsigned long *start, unsigned long *end);

#endif /* _UNWIND_FIND_RULE_H */

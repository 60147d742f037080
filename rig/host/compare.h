/* SPDX-License-Identifier: GPL-2.0 */
/* Comparing rules. */
#ifndef HOST_COMPARE_H
#define HOST_COMPARE_H

#include <linux/types.h>

#include "rule.h"
#include "sframe.h"

/*
 * Removes %UNWIND_RULE_COMMON from a rule of the decoder, since the other rules lack it.
 * False if a rule of another kind had it.
 */
static inline bool take_common(struct unwind_rule *rule)
{
	bool cfa = rule->cfa.kind == UNWIND_LOC_VAL &&
		   (rule->cfa.base == SFRAME_AMD64_SP ||
		    rule->cfa.base == SFRAME_AMD64_FP);
	bool ra = rule->ra.kind == UNWIND_LOC_MEM &&
		  rule->ra.base == UNWIND_BASE_CFA;
	bool fp = rule->fp.kind == UNWIND_LOC_SAME ||
		  (rule->fp.kind == UNWIND_LOC_MEM &&
		   rule->fp.base == UNWIND_BASE_CFA);

	if (!(rule->flags & UNWIND_RULE_COMMON))
		return true;

	rule->flags &= ~UNWIND_RULE_COMMON;
	return !rule->flags && cfa && ra && fp;
}

/* Whether a rule says where anything is. */
static inline bool has_locs(u32 flags)
{
	return !(flags & UNWIND_RULE_OUTERMOST) &&
	       !unwind_rule_is_sigframe(flags);
}

bool same_loc(const struct unwind_loc *a, const struct unwind_loc *b);
bool same_locs(const struct unwind_rule *a, const struct unwind_rule *b);
bool same_rule(const struct unwind_rule *a, const struct unwind_rule *b);
void show_rule(const char *who, int ret, const struct unwind_rule *rule);

#endif /* HOST_COMPARE_H */

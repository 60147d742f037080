/* SPDX-License-Identifier: GPL-2.0 */
/* Rules beside each other. */
#ifndef HOST_COMPARE_H
#define HOST_COMPARE_H

#include <linux/types.h>

#include "rule.h"

bool same_loc(const struct unwind_loc *a, const struct unwind_loc *b);
bool same_rule(const struct unwind_rule *a, const struct unwind_rule *b);
void show_rule(const char *who, int ret, const struct unwind_rule *rule);

#endif /* HOST_COMPARE_H */

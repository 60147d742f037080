// SPDX-License-Identifier: GPL-2.0
#include <stdio.h>

#include "compare.h"

bool same_loc(const struct unwind_loc *a, const struct unwind_loc *b)
{
	return a->kind == b->kind && (a->kind == UNWIND_LOC_SAME ||
	       (a->base == b->base && a->off == b->off));
}

/* Compares the locations, if there are any, with the same flags in both. */
bool same_locs(const struct unwind_rule *a, const struct unwind_rule *b)
{
	return !has_locs(a->flags) ||
	       (same_loc(&a->cfa, &b->cfa) && same_loc(&a->ra, &b->ra) &&
		same_loc(&a->fp, &b->fp));
}

bool same_rule(const struct unwind_rule *a, const struct unwind_rule *b)
{
	return a->start == b->start && a->size == b->size &&
	       a->flags == b->flags && same_locs(a, b);
}

void show_rule(const char *who, int ret, const struct unwind_rule *rule)
{
	const struct unwind_loc *loc[] = { &rule->cfa, &rule->ra, &rule->fp };
	unsigned int i;

	printf("#   %s: %d", who, ret);
	if (!ret) {
		printf(" [%#lx, +%#x) flags %u", rule->start, rule->size,
		       rule->flags);
		for (i = 0; i < 3; i++)
			printf(" %u:%u%+d", loc[i]->kind, loc[i]->base,
			       loc[i]->off);
	}
	printf("\n");
}

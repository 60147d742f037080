// SPDX-License-Identifier: GPL-2.0
/* Compares rules with DWARF CFI and counts the causes where they differ. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compare.h"
#include "section.h"
#include "third.h"

#define MAX_CAUSES	8
#define MAX_SHOWN	20
#define AMD64_FP	6
#define AMD64_SP	7

struct third {
	const char *path;
	Elf *elf;
	struct cfi *cfi;
	u64 section;
	u64 wrong;
	u64 *counted;		/* per FDE: bits of the causes seen there */
	size_t fde;		/* the position of third_next() */
	u64 at;
	bool after;
};

static struct {
	u64 addresses;
	u64 neither;
	u64 rules;
	u64 outermost;
	u64 signal;
	u64 sigframe;
	u64 flexible;
	u64 unexplained;
	struct {
		u64 addresses;
		u64 functions;
	} cause[MAX_CAUSES];
} total;

struct third *third_open(const char *path)
{
	struct third *third = calloc(1, sizeof(*third));
	struct elf_section sec;
	size_t nr;

	if (!third)
		return NULL;
	third->path = path;
	third->elf = elf_open(path);
	if (!third->elf || !elf_section(third->elf, ".sframe", &sec))
		goto fail;
	third->section = sec.addr;
	third->cfi = cfi_open(third->elf);
	if (!third->cfi)
		goto fail;
	cfi_fdes(third->cfi, &nr);
	third->counted = calloc(nr, sizeof(*third->counted));
	if (!third->counted)
		goto fail;

	return third;

fail:
	third_close(third);

	return NULL;
}

void third_close(struct third *third)
{
	if (third->cfi)
		cfi_close(third->cfi);
	elf_end(third->elf);
	free(third->counted);
	free(third);
}

/* The next address on either side of a boundary between rows. */
bool third_next(struct third *third, s64 *pc)
{
	const struct cfi_fde *fde;
	struct cfi_row row;
	size_t nr;

	fde = cfi_fdes(third->cfi, &nr) + third->fde;
	if (third->fde == nr)
		return false;
	if (!third->at)
		third->at = fde->start;
	*pc = third->at - !third->after - third->section;
	third->after = !third->after;
	if (third->after)
		return true;

	if (third->at == fde->end) {
		third->at = 0;
		third->fde++;
	} else if (cfi_find(third->cfi, third->at, &row)) {
		abort();
	} else {
		third->at = row.end;
	}

	return true;
}

/* A signal frame that SFrame cannot fully express has no rows there. */
static bool same_flags(const struct point *point)
{
	u32 ours = point->rule->flags, row = point->row.rule.flags;

	return ours == row ||
	       (unwind_rule_is_sigframe(ours) && row & UNWIND_RULE_SIGNAL &&
		(point->fde->beyond || point->row.sp_saved));
}

static bool agree(const struct point *point)
{
	const struct unwind_rule *ours = point->rule, *row = &point->row.rule;

	if (point->ours || point->theirs)
		return point->ours == point->theirs;
	if (!same_flags(point))
		return false;

	return !has_locs(ours->flags) ||
	       (!point->row.beyond && same_locs(ours, row));
}

static void count_agreed(const struct point *point)
{
	const struct unwind_rule *rule = point->rule;

	if (point->ours) {
		total.neither++;
		return;
	}
	total.rules++;
	total.outermost += !!(rule->flags & UNWIND_RULE_OUTERMOST);
	total.signal += !!(rule->flags & UNWIND_RULE_SIGNAL);
	total.sigframe += unwind_rule_is_sigframe(rule->flags);
	total.flexible += !rule->flags &&
		(rule->cfa.kind == UNWIND_LOC_MEM ||
		 (rule->cfa.base != AMD64_SP && rule->cfa.base != AMD64_FP) ||
		 (rule->fp.kind != UNWIND_LOC_SAME &&
		  rule->fp.base != UNWIND_BASE_CFA) ||
		 rule->ra.base != UNWIND_BASE_CFA);
}

static void count_cause(struct third *third, const struct point *point, size_t i)
{
	size_t nr;
	u64 *counted;

	total.cause[i].addresses++;
	if (!point->fde)
		return;
	counted = &third->counted[point->fde - cfi_fdes(third->cfi, &nr)];
	total.cause[i].functions += !(*counted & 1ull << i);
	*counted |= 1ull << i;
}

void third_compare(struct third *third, s64 pc, int ret,
		   const struct unwind_rule *rule)
{
	struct point point = {
		.elf = third->elf, .cfi = third->cfi,
		.addr = third->section + pc,
		.ours = ret, .rule = rule,
	};
	size_t i;

	point.theirs = cfi_find(third->cfi, point.addr, &point.row);
	point.fde = cfi_find_fde(third->cfi, point.addr);
	total.addresses++;
	if (agree(&point)) {
		count_agreed(&point);
		return;
	}
	for (i = 0; causes[i].test; i++) {
		if (causes[i].test(&point)) {
			count_cause(third, &point, i);
			return;
		}
	}
	total.unexplained++;
	if (third->wrong++ < MAX_SHOWN) {
		printf("# %s: address %#llx, beyond: %s\n", third->path,
		       (unsigned long long)point.addr, point.row.beyond ?: "-");
		show_rule("kernel", ret, rule);
		show_rule("DWARF", point.theirs, &point.row.rule);
	}
}

bool third_agrees(const struct third *third)
{
	return !third->wrong;
}

static void print_total(u64 addresses, const char *of)
{
	printf("# %9llu %s\n", (unsigned long long)addresses, of);
}

void third_print_totals(void)
{
	size_t i;

	print_total(total.addresses, "addresses");
	print_total(total.neither, "of which SFrame and DWARF know nothing");
	print_total(total.rules, "of which they say the same, of them");
	print_total(total.outermost, "outermost");
	print_total(total.signal, "in signal frames, of these");
	print_total(total.sigframe, "without a row");
	print_total(total.flexible, "that need a flexible FDE");
	for (i = 0; causes[i].test; i++) {
		printf("# %9llu in %llu functions, by %s: %s\n",
		       (unsigned long long)total.cause[i].addresses,
		       (unsigned long long)total.cause[i].functions,
		       causes[i].whose, causes[i].what);
	}
	print_total(total.unexplained, "unexplained");
}

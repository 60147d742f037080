/* SPDX-License-Identifier: GPL-2.0 */
/* Compares with DWARF CFI as a third opinion, and has the causes of disagreement. */
#ifndef HOST_THIRD_H
#define HOST_THIRD_H

#include <libelf.h>
#include <linux/types.h>

#include "cfi.h"
#include "rule.h"

/**
 * struct point - all results for an address
 * @elf: the file
 * @cfi: its CFI
 * @addr: the address
 * @ours: what sframe_find() returned
 * @rule: and the rule if that is 0
 * @theirs: what cfi_find() returned
 * @row: and its result if that is 0
 * @fde: the DWARF FDE that covers @addr, or NULL
 */
struct point {
	Elf *elf;
	struct cfi *cfi;
	u64 addr;
	int ours;
	const struct unwind_rule *rule;
	int theirs;
	struct cfi_row row;
	const struct cfi_fde *fde;
};

/**
 * struct cause - a class of disagreement
 * @whose: the side that is wrong
 * @what: its description
 * @test: finds out whether it is the cause
 */
struct cause {
	const char *whose;
	const char *what;
	bool (*test)(const struct point *point);
};

/* Ends with one without @test. */
extern const struct cause causes[];

struct third;

struct third *third_open(const char *path);
void third_close(struct third *third);
bool third_next(struct third *third, s64 *pc);
void third_compare(struct third *third, s64 pc, int ret,
		   const struct unwind_rule *rule);
bool third_agrees(const struct third *third);
void third_print_totals(void);

#endif /* HOST_THIRD_H */

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The DWARF CFI of an ELF file, in the kernel's types: .eh_frame, and .debug_frame
 * where that has nothing.
 */
#ifndef HOST_CFI_H
#define HOST_CFI_H

#include <elfutils/libdw.h>
#include <libelf.h>
#include <linux/types.h>

#include "rule.h"

/**
 * struct cfi_row - the rules for an address
 * @rule: the rules, without start and size
 * @beyond: the part that SFrame cannot express, or NULL
 * @cfa_expression: the CFA is given by an expression, whatever its result
 * @other_expression: the rule of a register that SFrame does not track is an
 *	expression
 * @sp_saved: the caller's SP is given as the word that is the CFA
 * @start: first address with these rules
 * @end: end of the range with these rules
 */
struct cfi_row {
	struct unwind_rule rule;
	const char *beyond;
	bool cfa_expression;
	bool other_expression;
	bool sp_saved;
	u64 start;
	u64 end;
};

/**
 * struct cfi_fde - a described range
 * @dw: the section that describes it
 * @start: its first address
 * @end: its end
 * @beyond: that of the first of its rows that has one, or NULL
 * @other_expression: as in any of its rows
 */
struct cfi_fde {
	Dwarf_CFI *dw;
	u64 start;
	u64 end;
	const char *beyond;
	bool other_expression;
};

struct cfi;

struct cfi *cfi_open(Elf *elf);
void cfi_close(struct cfi *cfi);
const struct cfi_fde *cfi_fdes(const struct cfi *cfi, size_t *nr);
const struct cfi_fde *cfi_find_fde(const struct cfi *cfi, u64 addr);
int cfi_find(struct cfi *cfi, u64 addr, struct cfi_row *row);

#endif /* HOST_CFI_H */

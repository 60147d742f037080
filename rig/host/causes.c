// SPDX-License-Identifier: GPL-2.0
/* Reasons for which SFrame and DWARF can disagree, each with a test. */
#include <errno.h>
#include <string.h>

#include "compare.h"
#include "section.h"
#include "symbols.h"
#include "third.h"

#define AMD64_SP	7

static bool left_out(const struct point *point)
{
	return point->ours == -ENOENT && !point->theirs;
}

/* Its instructions are one jump each, so that nothing is ever pushed. */
static bool is_plt_got(const struct point *point)
{
	const struct unwind_rule *ours = point->rule, *row = &point->row.rule;
	static const unsigned char jump[] = { 0xff, 0x25 };
	const struct unwind_loc right = { UNWIND_LOC_VAL, AMD64_SP, 8 };
	const struct unwind_loc wrong = { UNWIND_LOC_VAL, AMD64_SP, 16 };
	struct elf_section got;
	u64 off;

	if (point->ours || point->theirs ||
	    !elf_section(point->elf, ".plt.got", &got) ||
	    point->addr - got.addr >= got.size)
		return false;
	off = (point->addr - got.addr) & ~7ull;

	return off + sizeof(jump) <= got.size &&
	       !memcmp((char *)got.data->d_buf + off, jump, sizeof(jump)) &&
	       same_loc(&ours->cfa, &wrong) && same_loc(&row->cfa, &right) &&
	       same_loc(&ours->ra, &row->ra) && same_loc(&ours->fp, &row->fp);
}

static bool is_plain(const struct point *point)
{
	struct function func;

	return left_out(point) &&
	       function_find(point->elf, point->addr, &func) && plain_has(&func);
}

/*
 * glibc writes the bytes of .eh_frame for its signal return itself, where the assembler
 * generates nothing, and makes them start a byte early.
 */
static bool is_written_out(const struct point *point)
{
	/* mov $__NR_rt_sigreturn, %rax; syscall */
	static const unsigned char code[] = {
		0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05,
	};
	struct elf_section text;
	u64 off;

	if (!left_out(point) || !(point->row.rule.flags & UNWIND_RULE_SIGNAL) ||
	    !elf_section(point->elf, ".text", &text))
		return false;
	off = point->fde->start + 1 - text.addr;

	return off < text.size && text.size - off >= sizeof(code) &&
	       !memcmp((char *)text.data->d_buf + off, code, sizeof(code)) &&
	       point->fde->end == point->fde->start + 1 + sizeof(code);
}

static bool is_beyond(const struct point *point)
{
	return left_out(point) && point->fde->beyond;
}

static bool is_other_expression(const struct point *point)
{
	return left_out(point) && !point->fde->beyond &&
	       point->fde->other_expression;
}

/* The return address is where it was in the previous row. */
static bool is_not_restored(const struct point *point)
{
	const struct unwind_rule *ours = point->rule, *row = &point->row.rule;
	struct cfi_row first, before;

	return !point->ours && !point->theirs && !ours->flags && !row->flags &&
	       point->row.start > point->fde->start &&
	       !cfi_find(point->cfi, point->fde->start, &first) &&
	       !cfi_find(point->cfi, point->row.start - 1, &before) &&
	       same_loc(&row->ra, &first.rule.ra) &&
	       same_loc(&ours->ra, &before.rule.ra) &&
	       same_loc(&ours->cfa, &row->cfa) && same_loc(&ours->fp, &row->fp);
}

const struct cause causes[] = {
	{ "the compiler", "its libraries have no SFrame", is_plain },
	{ "glibc", "CFI of the return from signals, written out past the assembler",
	  is_written_out },
	{ "SFrame", "no words for a row of the function", is_beyond },
	{ "gas", "left out for an expression of a register that is not tracked",
	  is_other_expression },
	{ "gas", "return address not where .cfi_restore has it", is_not_restored },
	{ "ld", ".plt.got as if a word had been pushed", is_plt_got },
	{},
};

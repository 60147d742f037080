// SPDX-License-Identifier: MIT
/*
 * Where libdw says that a value is (DWARF 5, 2.5 and 6.4.1), as far as a flexible FDE
 * of SFrame can express it: a register or the CFA, plus a constant, and optionally the
 * word there.
 */
#include <dwarf.h>
#include <elfutils/libdw.h>

#include "expression.h"

static bool fits(int64_t off)
{
	return off == (int32_t)off;
}

/* A register plus a constant, or false. */
static bool get_base(const Dwarf_Op *op, struct loc *loc)
{
	uint64_t base;
	int64_t off;

	if (op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31) {
		base = op->atom - DW_OP_breg0;
		off = op->number;
	} else if (op->atom == DW_OP_bregx) {
		base = op->number;
		off = op->number2;
	} else if (op->atom == DW_OP_call_frame_cfa) {
		base = BASE_CFA;
		off = 0;
	} else {
		return false;
	}
	*loc = (struct loc){ LOC_VALUE, base, 0, off };
	return (base < NR_REGS || op->atom == DW_OP_call_frame_cfa) && fits(off);
}

/* Adds what follows a base; false if that is more than a constant and a dereference. */
static bool add_ops(const Dwarf_Op *ops, size_t nr, struct loc *loc)
{
	int64_t off = loc->off;

	for (size_t i = 0; i < nr; i++) {
		if (loc->kind != LOC_VALUE)
			return false;
		if (ops[i].atom == DW_OP_plus_uconst)
			off += (int64_t)ops[i].number;
		else if (ops[i].atom == DW_OP_deref)
			loc->kind = LOC_WORD;
		else
			return false;
		if (!fits(off))
			return false;
	}
	loc->off = off;
	return true;
}

/*
 * What linkers write for .plt: one more word on the stack from some byte of each entry
 * on.  The literals are that byte and the logarithm of the word.
 */
static bool is_plt(const Dwarf_Op *ops, size_t nr)
{
	static const uint8_t form[] = {
		DW_OP_breg16, DW_OP_lit15, DW_OP_and, 0, DW_OP_ge, DW_OP_lit3,
		DW_OP_shl, DW_OP_plus,
	};

	if (nr != sizeof(form) || ops[0].number)
		return false;
	for (size_t i = 0; i < sizeof(form); i++)
		if (form[i] && ops[i].atom != form[i])
			return false;
	return ops[3].atom > DW_OP_lit0 && ops[3].atom <= DW_OP_lit15;
}

bool expression_cfa(Dwarf_Frame *frame, struct row *row)
{
	Dwarf_Op *ops;
	size_t nr;

	if (dwarf_frame_cfa(frame, &ops, &nr) || !nr ||
	    !get_base(&ops[0], &row->cfa) || row->cfa.base == BASE_CFA)
		return false;
	if (is_plt(ops + 1, nr - 1)) {
		row->pushed = ops[4].atom - DW_OP_lit0;
		return fits((int64_t)row->cfa.off + PLT_PUSHED);
	}
	return add_ops(ops + 1, nr - 1, &row->cfa);
}

/* In a register: its value. */
static bool is_register(const Dwarf_Op *ops, size_t nr, struct loc *loc)
{
	uint64_t reg;

	if (nr != 1)
		return false;
	if (ops->atom == DW_OP_regx)
		reg = ops->number;
	else if (ops->atom >= DW_OP_reg0 && ops->atom <= DW_OP_reg31)
		reg = ops->atom - DW_OP_reg0;
	else
		return false;
	*loc = (struct loc){ LOC_VALUE, reg, 0, 0 };
	return reg < NR_REGS;
}

enum register_is expression_register(Dwarf_Frame *frame, int reg, struct loc *loc)
{
	Dwarf_Op mem[3], *ops;
	bool is_value;
	size_t nr;

	*loc = (struct loc){ .kind = LOC_SAME };
	if (dwarf_frame_register(frame, reg, mem, &ops, &nr))
		return REGISTER_BEYOND;
	if (!nr)
		return ops ? REGISTER_UNDEFINED : REGISTER_FOUND;
	if (is_register(ops, nr, loc))
		return REGISTER_FOUND;

	is_value = ops[nr - 1].atom == DW_OP_stack_value;
	nr -= is_value;
	/* An expression starts with the CFA on the stack, and need not use it. */
	if (nr > 1 && ops[0].atom == DW_OP_call_frame_cfa && get_base(&ops[1], loc)) {
		ops++;
		nr--;
	}
	if (!nr || !get_base(&ops[0], loc) || !add_ops(ops + 1, nr - 1, loc))
		return REGISTER_BEYOND;
	if (is_value)
		return REGISTER_FOUND;
	/* The address of the value, not the value. */
	if (loc->kind == LOC_WORD)
		return REGISTER_BEYOND;
	loc->kind = LOC_WORD;
	return REGISTER_FOUND;
}

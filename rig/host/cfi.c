// SPDX-License-Identifier: GPL-2.0
/*
 * libdw, wrapped in the kernel's types.  Its expressions are evaluated for the given
 * address only, with registers that have no value yet: the result is a register or the
 * CFA plus a constant, the word there, or a number.
 */
#include <dwarf.h>
#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "cfi.h"
#include "section.h"

#define AMD64_FP	6
#define AMD64_SP	7
#define AMD64_RA	16
#define MAX_DEPTH	16
#define FDE_PCREL_4	(DW_EH_PE_pcrel | DW_EH_PE_sdata4)

enum value_kind { NUMBER, ADDRESS, WORD_AT };

struct value {
	enum value_kind kind;
	u8 base;
	s64 off;
};

struct machine {
	struct value stack[MAX_DEPTH];
	size_t depth;
	u64 pc;
	bool is_value;		/* DW_OP_stack_value, or a register */
};

/* One of the two sections of CFI. */
struct frames {
	struct elf_section sec;
	bool eh;
	Dwarf_CFI *dw;
};

struct cfi {
	Dwarf *debug;
	Dwarf_CFI *eh_dw;
	struct cfi_fde *fdes;
	size_t nr;
};

static bool push(struct machine *m, enum value_kind kind, u8 base, s64 off)
{
	if (m->depth == MAX_DEPTH)
		return false;
	m->stack[m->depth++] = (struct value) { kind, base, off };

	return true;
}

static bool push_register(struct machine *m, u64 reg, s64 off)
{
	if (reg == AMD64_RA)
		return push(m, NUMBER, 0, m->pc + off);

	return reg < AMD64_RA && push(m, ADDRESS, reg, off);
}

static bool run_unary(struct machine *m, const Dwarf_Op *op)
{
	struct value *top = &m->stack[m->depth - 1];

	if (!m->depth)
		return false;
	if (op->atom == DW_OP_plus_uconst && top->kind != WORD_AT) {
		top->off += op->number;
		return true;
	}
	if (op->atom == DW_OP_deref && top->kind == ADDRESS) {
		top->kind = WORD_AT;
		return true;
	}

	return false;
}

static bool run_binary(struct machine *m, const Dwarf_Op *op)
{
	struct value *to, *from;

	if (m->depth < 2)
		return false;
	from = &m->stack[--m->depth];
	to = &m->stack[m->depth - 1];
	if (op->atom == DW_OP_plus && to->kind == NUMBER) {
		struct value swap = *to;

		*to = *from;
		*from = swap;
	}
	if (from->kind != NUMBER || to->kind == WORD_AT)
		return false;
	if (op->atom == DW_OP_plus || op->atom == DW_OP_minus) {
		to->off += op->atom == DW_OP_plus ? from->off : -from->off;
		return true;
	}
	if (to->kind != NUMBER)
		return false;

	switch (op->atom) {
	case DW_OP_and:
		to->off &= from->off;
		return true;
	case DW_OP_ge:
		to->off = to->off >= from->off;
		return true;
	case DW_OP_shl:
		to->off = (u64)to->off << (from->off & 63);
		return true;
	default:
		return false;
	}
}

static bool run_op(struct machine *m, const Dwarf_Op *op)
{
	switch (op->atom) {
	case DW_OP_breg0 ... DW_OP_breg31:
		return push_register(m, op->atom - DW_OP_breg0, op->number);
	case DW_OP_bregx:
		return push_register(m, op->number, op->number2);
	case DW_OP_regx:
		m->is_value = true;
		return push_register(m, op->number, 0);
	case DW_OP_reg0 ... DW_OP_reg31:
		m->is_value = true;
		return push_register(m, op->atom - DW_OP_reg0, 0);
	case DW_OP_call_frame_cfa:
		return push(m, ADDRESS, UNWIND_BASE_CFA, 0);
	case DW_OP_lit0 ... DW_OP_lit31:
		return push(m, NUMBER, 0, op->atom - DW_OP_lit0);
	case DW_OP_const1u ... DW_OP_consts:
		return push(m, NUMBER, 0, op->number);
	case DW_OP_stack_value:
		m->is_value = true;
		return m->depth;
	default:
		return run_unary(m, op) || run_binary(m, op);
	}
}

static bool run(u64 pc, const Dwarf_Op *ops, size_t nr, struct value *val,
		bool *is_value)
{
	struct machine m = { .pc = pc };
	size_t i;

	for (i = 0; i < nr; i++) {
		if (!run_op(&m, &ops[i]))
			return false;
	}
	/* The CFA is below an expression for a register. */
	if (!m.depth)
		return false;
	*val = m.stack[m.depth - 1];
	*is_value = m.is_value;

	return val->kind != NUMBER && val->off == (s32)val->off;
}

static bool cfa_loc(Dwarf_Frame *frame, u64 pc, struct cfi_row *row)
{
	struct unwind_loc *loc = &row->rule.cfa;
	struct value val;
	Dwarf_Op *ops;
	bool is_value;
	size_t nr;

	if (dwarf_frame_cfa(frame, &ops, &nr) || !nr)
		return false;
	/* Anything else is a register and an offset. */
	row->cfa_expression = nr > 1;
	if (!run(pc, ops, nr, &val, &is_value))
		return false;
	*loc = (struct unwind_loc) {
		val.kind == WORD_AT ? UNWIND_LOC_MEM : UNWIND_LOC_VAL,
		val.base, val.off,
	};

	return true;
}

static bool register_loc(Dwarf_Frame *frame, u64 pc, int reg,
			 struct unwind_loc *loc)
{
	Dwarf_Op ops_mem[3], *ops;
	struct value val;
	bool is_value;
	size_t nr;

	if (dwarf_frame_register(frame, reg, ops_mem, &ops, &nr))
		return false;
	*loc = (struct unwind_loc) { .kind = ops ? UNWIND_LOC_LOST :
						   UNWIND_LOC_SAME };
	if (!nr)
		return true;
	if (!run(pc, ops, nr, &val, &is_value) ||
	    (val.kind == WORD_AT && !is_value))
		return false;
	*loc = (struct unwind_loc) {
		val.kind == WORD_AT || !is_value ? UNWIND_LOC_MEM :
						   UNWIND_LOC_VAL,
		val.base, val.off,
	};

	return true;
}

/*
 * The caller's SP is the CFA, unless stated otherwise.  For the kernel's signal frames
 * it is: both are the same word.
 */
static bool sp_is_cfa(Dwarf_Frame *frame, u64 pc, struct cfi_row *row)
{
	struct unwind_loc sp;

	if (!register_loc(frame, pc, AMD64_SP, &sp))
		return false;
	row->sp_saved = sp.kind == UNWIND_LOC_MEM &&
		row->rule.cfa.kind == UNWIND_LOC_MEM &&
		sp.base == row->rule.cfa.base && sp.off == row->rule.cfa.off;

	return row->sp_saved || sp.kind == UNWIND_LOC_LOST ||
	       sp.kind == UNWIND_LOC_SAME ||
	       (sp.kind == UNWIND_LOC_VAL && sp.base == UNWIND_BASE_CFA && !sp.off);
}

/* Any callee-saved register but SP and FP. */
static bool other_expression(Dwarf_Frame *frame, u64 pc)
{
	static const u8 saved[] = { 3, 12, 13, 14, 15 };
	struct unwind_loc loc;
	size_t i;

	for (i = 0; i < sizeof(saved); i++) {
		if (!register_loc(frame, pc, saved[i], &loc) ||
		    (loc.kind == UNWIND_LOC_MEM && loc.base != UNWIND_BASE_CFA))
			return true;
	}

	return false;
}

static void read_row(Dwarf_Frame *frame, u64 pc, struct cfi_row *row)
{
	struct unwind_rule *rule = &row->rule;

	if (!cfa_loc(frame, pc, row))
		row->beyond = "CFA is an expression";
	else if (!register_loc(frame, pc, AMD64_RA, &rule->ra))
		row->beyond = "RA is an expression";
	else if (!register_loc(frame, pc, AMD64_FP, &rule->fp))
		row->beyond = "FP is an expression";
	else if (!sp_is_cfa(frame, pc, row))
		row->beyond = "SP is not the CFA";
	else if (rule->fp.kind == UNWIND_LOC_LOST)
		row->beyond = "FP is undefined";
	else if (rule->fp.kind == UNWIND_LOC_VAL &&
		 rule->fp.base == UNWIND_BASE_CFA)
		row->beyond = "FP is an address near the CFA";
	row->other_expression = other_expression(frame, pc);
	if (!row->beyond && rule->ra.kind == UNWIND_LOC_LOST)
		rule->flags |= UNWIND_RULE_OUTERMOST;
}

/* 0, -ENOENT if nothing describes @addr, or -EINVAL. */
int cfi_find(struct cfi *cfi, u64 addr, struct cfi_row *row)
{
	const struct cfi_fde *fde = cfi_find_fde(cfi, addr);
	Dwarf_Addr start, end;
	Dwarf_Frame *frame;
	bool is_signal;

	*row = (struct cfi_row) {};
	if (!fde)
		return -ENOENT;
	if (dwarf_cfi_addrframe(fde->dw, addr, &frame))
		return -EINVAL;
	if (dwarf_frame_info(frame, &start, &end, &is_signal) != AMD64_RA) {
		free(frame);
		return -EINVAL;
	}
	row->start = start;
	row->end = end;
	read_row(frame, addr, row);
	if (is_signal)
		row->rule.flags |= UNWIND_RULE_SIGNAL | UNWIND_RULE_EXACT;
	free(frame);

	return 0;
}

const struct cfi_fde *cfi_fdes(const struct cfi *cfi, size_t *nr)
{
	*nr = cfi->nr;

	return cfi->fdes;
}

static int cmp_fde(const void *a, const void *b)
{
	const struct cfi_fde *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

static int cmp_addr(const void *key, const void *elem)
{
	const struct cfi_fde *fde = elem;
	u64 addr = *(const u64 *)key;

	return (addr >= fde->end) - (addr < fde->start);
}

const struct cfi_fde *cfi_find_fde(const struct cfi *cfi, u64 addr)
{
	return bsearch(&addr, cfi->fdes, cfi->nr, sizeof(*cfi->fdes), cmp_addr);
}

static s64 read_s32(const unsigned char *p)
{
	s32 val;

	memcpy(&val, p, sizeof(val));

	return val;
}

/* The encoding of addresses in the FDEs of @cie, by its augmentation. */
static int address_encoding(const Dwarf_CIE *cie)
{
	const unsigned char *data = cie->augmentation_data;
	const char *aug = cie->augmentation;

	if (*aug++ != 'z')
		return -1;
	for (; *aug && *aug != 'R'; aug++) {
		if (*aug == 'P')
			data += *data == DW_EH_PE_absptr ? 9 : 5;
		else if (*aug == 'L')
			data++;
	}

	return *aug ? *data : -1;
}

/* Start and size of what @fde describes. */
static bool fde_range(const struct frames *frames, const Dwarf_FDE *fde,
		      const Dwarf_CIE *cie, u64 range[2])
{
	if (!frames->eh) {
		memcpy(range, fde->start, 2 * sizeof(range[0]));
		return true;
	}
	if (address_encoding(cie) != FDE_PCREL_4)
		return false;
	range[0] = frames->sec.addr + read_s32(fde->start) +
		(fde->start - (unsigned char *)frames->sec.data->d_buf);
	range[1] = (u32)read_s32(fde->start + 4);

	return true;
}

static bool add_fde(struct cfi *cfi, size_t known, const struct frames *frames,
		    const Dwarf_FDE *fde)
{
	Dwarf_CFI_Entry cie;
	Dwarf_Off next;
	struct cfi_fde *more;
	u64 range[2];

	if (dwarf_next_cfi(frames->sec.ident, frames->sec.data, frames->eh,
			   fde->CIE_pointer, &next, &cie) ||
	    !dwarf_cfi_cie_p(&cie) || !fde_range(frames, fde, &cie.cie, range))
		return false;
	/* In .debug_frame the linker leaves what it has discarded at 0. */
	if ((!frames->eh && !range[0]) ||
	    bsearch(&range[0], cfi->fdes, known, sizeof(*cfi->fdes), cmp_addr))
		return true;
	more = realloc(cfi->fdes, (cfi->nr + 1) * sizeof(*more));
	if (!more)
		return false;
	cfi->fdes = more;
	cfi->fdes[cfi->nr++] = (struct cfi_fde) {
		.dw = frames->dw, .start = range[0], .end = range[0] + range[1],
	};

	return true;
}

/* Adds the section's entries for ranges that are not described yet. */
static bool read_fdes(struct cfi *cfi, const struct frames *frames)
{
	size_t known = cfi->nr;
	Dwarf_CFI_Entry entry;
	Dwarf_Off off = 0, next;
	int ret;

	if (!frames->dw)
		return false;
	while (!(ret = dwarf_next_cfi(frames->sec.ident, frames->sec.data,
				      frames->eh, off, &next, &entry))) {
		if (!dwarf_cfi_cie_p(&entry) &&
		    !add_fde(cfi, known, frames, &entry.fde))
			return false;
		off = next;
	}
	qsort(cfi->fdes, cfi->nr, sizeof(*cfi->fdes), cmp_fde);

	return ret == 1;
}

static bool read_rows(struct cfi *cfi, struct cfi_fde *fde)
{
	struct cfi_row row;
	u64 at;

	for (at = fde->start; at < fde->end; at = row.end) {
		if (cfi_find(cfi, at, &row) || row.end <= at)
			return false;
		fde->beyond = fde->beyond ?: row.beyond;
		fde->other_expression |= row.other_expression;
	}

	return true;
}

static bool read_sections(struct cfi *cfi, Elf *elf)
{
	struct frames eh = { .eh = true }, debug = {};
	size_t i;

	if (elf_section(elf, ".eh_frame", &eh.sec)) {
		cfi->eh_dw = dwarf_getcfi_elf(elf);
		eh.dw = cfi->eh_dw;
		if (!read_fdes(cfi, &eh))
			return false;
	}
	if (elf_section(elf, ".debug_frame", &debug.sec)) {
		cfi->debug = dwarf_begin_elf(elf, DWARF_C_READ, NULL);
		debug.dw = cfi->debug ? dwarf_getcfi(cfi->debug) : NULL;
		if (!read_fdes(cfi, &debug))
			return false;
	}
	for (i = 0; i < cfi->nr; i++) {
		if (!read_rows(cfi, &cfi->fdes[i]))
			return false;
	}

	return cfi->nr;
}

/* NULL if there is none, or if any of it cannot be read. */
struct cfi *cfi_open(Elf *elf)
{
	struct cfi *cfi = calloc(1, sizeof(*cfi));

	if (cfi && !read_sections(cfi, elf)) {
		cfi_close(cfi);
		return NULL;
	}

	return cfi;
}

void cfi_close(struct cfi *cfi)
{
	if (cfi->debug)
		dwarf_end(cfi->debug);
	if (cfi->eh_dw)
		dwarf_cfi_end(cfi->eh_dw);
	free(cfi->fdes);
	free(cfi);
}

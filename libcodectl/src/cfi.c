// SPDX-License-Identifier: MIT
/*
 * Programs of call frame information, run for x86-64.
 *
 * DWARF 5, 6.4.2; LSB 5.0, 10.6 for .eh_frame; register numbers as in the psABI, figure
 * 3.36.  Only the rules for FP, SP and the return address count.
 */
#include <string.h>

#include "cfi.h"

#define REG_FP		6
#define REG_SP		7
#define MAX_REMEMBERED	16

#define DW_EH_PE_ABSPTR		0x00
#define DW_EH_PE_ULEB128	0x01
#define DW_EH_PE_UDATA2		0x02
#define DW_EH_PE_UDATA4		0x03
#define DW_EH_PE_UDATA8		0x04
#define DW_EH_PE_SLEB128	0x09
#define DW_EH_PE_SDATA2		0x0a
#define DW_EH_PE_SDATA4		0x0b
#define DW_EH_PE_SDATA8		0x0c
#define DW_EH_PE_PCREL		0x10

/* The upper two bits of an instruction, and the others if those are 0. */
enum cfi_op {
	DW_CFA_ADVANCE_LOC		= 0x40,
	DW_CFA_OFFSET			= 0x80,
	DW_CFA_RESTORE			= 0xc0,

	DW_CFA_NOP			= 0x00,
	DW_CFA_SET_LOC			= 0x01,
	DW_CFA_ADVANCE_LOC1		= 0x02,
	DW_CFA_ADVANCE_LOC2		= 0x03,
	DW_CFA_ADVANCE_LOC4		= 0x04,
	DW_CFA_OFFSET_EXTENDED		= 0x05,
	DW_CFA_RESTORE_EXTENDED		= 0x06,
	DW_CFA_UNDEFINED		= 0x07,
	DW_CFA_SAME_VALUE		= 0x08,
	DW_CFA_REGISTER			= 0x09,
	DW_CFA_REMEMBER_STATE		= 0x0a,
	DW_CFA_RESTORE_STATE		= 0x0b,
	DW_CFA_DEF_CFA			= 0x0c,
	DW_CFA_DEF_CFA_REGISTER		= 0x0d,
	DW_CFA_DEF_CFA_OFFSET		= 0x0e,
	DW_CFA_DEF_CFA_EXPRESSION	= 0x0f,
	DW_CFA_EXPRESSION		= 0x10,
	DW_CFA_OFFSET_EXTENDED_SF	= 0x11,
	DW_CFA_DEF_CFA_SF		= 0x12,
	DW_CFA_DEF_CFA_OFFSET_SF	= 0x13,
	DW_CFA_VAL_OFFSET		= 0x14,
	DW_CFA_VAL_OFFSET_SF		= 0x15,
	DW_CFA_VAL_EXPRESSION		= 0x16,
	DW_CFA_GNU_ARGS_SIZE		= 0x2e,
	DW_CFA_GNU_NEGATIVE_OFFSET	= 0x2f,
};

/* Where the value of a register is. */
enum where {
	UNSPECIFIED,
	SAME,
	LOST,
	AT_CFA,		/* in the word at CFA + off */
	IS_CFA,		/* CFA + off */
	ELSEWHERE,
};

struct place {
	enum where where;
	int64_t off;
};

/**
 * struct rules - how to unwind from an address
 * @cfa: where the base of the CFA is: %SAME for @cfa_reg
 * @cfa_reg: the base register
 * @cfa_off: what is added to it
 * @fp: the caller's FP
 * @sp: the caller's SP
 * @ra: the return address
 */
struct rules {
	enum where cfa;
	uint64_t cfa_reg;
	int64_t cfa_off;
	struct place fp;
	struct place sp;
	struct place ra;
};

/**
 * struct machine - a running program
 * @fde: its function
 * @in: its instructions
 * @now: the rules from @off on
 * @initial: those at the entry
 * @off: how far it has got, from the start of the function
 * @remembered: rules to return to
 * @depth: number of remembered rules
 * @rows: the resulting rows, or NULL
 * @nr: number of rows
 * @max: room for them
 */
struct machine {
	const struct cfi_fde *fde;
	struct cfi_reader in;
	struct rules now;
	struct rules initial;
	uint64_t off;
	struct rules remembered[MAX_REMEMBERED];
	unsigned int depth;
	struct code_jit_unwind_fre *rows;
	size_t nr;
	size_t max;
};

/* --- reading */

uint64_t codectl_cfi_read(struct cfi_reader *r, size_t size)
{
	uint64_t value = 0;

	if (r->bad || (size_t)(r->end - r->at) < size) {
		r->bad = true;
		return 0;
	}
	memcpy(&value, r->at, size);
	r->at += size;

	return value;
}

/* Bits above the 64th are dropped. */
static uint64_t read_leb(struct cfi_reader *r, bool is_signed)
{
	unsigned int shift = 0;
	uint64_t value = 0;
	uint8_t byte;

	do {
		byte = codectl_cfi_read(r, 1);
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	if (is_signed && (byte & 0x40) && shift < 64)
		value |= ~0ULL << shift;

	return value;
}

uint64_t codectl_cfi_read_uleb(struct cfi_reader *r)
{
	return read_leb(r, false);
}

int64_t codectl_cfi_read_sleb(struct cfi_reader *r)
{
	return read_leb(r, true);
}

/* An address; an encoding that needs more than the section to be resolved is bad. */
uint64_t codectl_cfi_read_encoded(struct cfi_reader *r, uint8_t encoding)
{
	uint64_t base = 0;

	if ((encoding & 0xf0) == DW_EH_PE_PCREL)
		base = (uintptr_t)r->at;
	else if (encoding & 0xf0)
		r->bad = true;

	switch (encoding & 0x0f) {
	case DW_EH_PE_ABSPTR:
	case DW_EH_PE_UDATA8:
	case DW_EH_PE_SDATA8:
		return base + codectl_cfi_read(r, 8);
	case DW_EH_PE_ULEB128:
		return base + codectl_cfi_read_uleb(r);
	case DW_EH_PE_SLEB128:
		return base + codectl_cfi_read_sleb(r);
	case DW_EH_PE_UDATA2:
		return base + codectl_cfi_read(r, 2);
	case DW_EH_PE_SDATA2:
		return base + (int16_t)codectl_cfi_read(r, 2);
	case DW_EH_PE_UDATA4:
		return base + codectl_cfi_read(r, 4);
	case DW_EH_PE_SDATA4:
		return base + (int32_t)codectl_cfi_read(r, 4);
	default:
		r->bad = true;
		return 0;
	}
}

/* --- rows */

static bool fits(int64_t off)
{
	return off == (int32_t)off;
}

/* Can a row express the rules? */
static bool is_known(const struct rules *rules)
{
	return rules->cfa == SAME &&
	       (rules->cfa_reg == REG_FP || rules->cfa_reg == REG_SP) &&
	       fits(rules->cfa_off) &&
	       rules->ra.where == AT_CFA && fits(rules->ra.off) &&
	       (rules->sp.where < AT_CFA ||
		(rules->sp.where == IS_CFA && !rules->sp.off));
}

static struct code_jit_unwind_fre row_of(const struct machine *m)
{
	const struct rules *rules = &m->now;
	struct code_jit_unwind_fre row = { .info = CODE_FRE_UNKNOWN };

	if (rules->ra.where == LOST) {
		row.info = CODE_FRE_OUTERMOST;
		return row;
	}
	if (!is_known(rules))
		return row;

	row.cfa_off = rules->cfa_off;
	row.ra_off = rules->ra.off;
	row.info = rules->cfa_reg == REG_SP ? CODE_FRE_BASE_SP : 0;
	if (m->fde->cie.is_signal)
		row.info |= CODE_FRE_SIGNAL;
	if (rules->fp.where == AT_CFA && fits(rules->fp.off)) {
		row.info |= CODE_FRE_FP_SAVED;
		row.fp_off = rules->fp.off;
	} else if (rules->fp.where > SAME) {
		row.info |= CODE_FRE_FP_UNDEF;
	}

	return row;
}

static bool is_same_rule(const struct code_jit_unwind_fre *a,
			 const struct code_jit_unwind_fre *b)
{
	return a->cfa_off == b->cfa_off && a->ra_off == b->ra_off &&
	       a->fp_off == b->fp_off && a->info == b->info;
}

/* The rules hold up to @off. */
static void advance(struct machine *m, uint64_t off)
{
	struct code_jit_unwind_fre row, *last;

	if (off < m->off)
		m->in.bad = true;
	if (off > m->fde->len)
		off = m->fde->len;
	if (m->in.bad || off == m->off)
		return;

	/* Without a CFA nothing is known of a frame. */
	if (m->now.cfa != UNSPECIFIED) {
		row = row_of(m);
		row.ip_off = m->off;
		row.size = off - m->off;
		last = m->nr ? &m->rows[m->nr - 1] : NULL;
		if (last && is_same_rule(last, &row) &&
		    last->ip_off + last->size == row.ip_off)
			last->size += row.size;
		else if (m->nr < m->max)
			m->rows[m->nr++] = row;
		else
			m->in.bad = true;
	}
	m->off = off;
}

/* --- instructions */

static void set_place(struct machine *m, uint64_t reg, enum where where,
		      int64_t off)
{
	const struct place place = { where, off };

	if (reg == REG_FP)
		m->now.fp = place;
	else if (reg == REG_SP)
		m->now.sp = place;
	else if (reg == m->fde->cie.ra_reg)
		m->now.ra = place;
}

static void restore_place(struct machine *m, uint64_t reg)
{
	if (reg == REG_FP)
		m->now.fp = m->initial.fp;
	else if (reg == REG_SP)
		m->now.sp = m->initial.sp;
	else if (reg == m->fde->cie.ra_reg)
		m->now.ra = m->initial.ra;
}

static void set_cfa(struct machine *m, uint64_t reg, int64_t off)
{
	m->now.cfa = SAME;
	m->now.cfa_reg = reg;
	m->now.cfa_off = off;
}

static void skip_block(struct machine *m)
{
	uint64_t len = codectl_cfi_read_uleb(&m->in);

	if (len > (size_t)(m->in.end - m->in.at))
		m->in.bad = true;
	else
		m->in.at += len;
}

static uint64_t factored(struct machine *m, uint64_t off)
{
	return off * (uint64_t)m->fde->cie.data_align;
}

static void remember(struct machine *m)
{
	if (m->depth == MAX_REMEMBERED)
		m->in.bad = true;
	else
		m->remembered[m->depth++] = m->now;
}

static void recall(struct machine *m)
{
	if (!m->depth)
		m->in.bad = true;
	else
		m->now = m->remembered[--m->depth];
}

static void step_location(struct machine *m, size_t size)
{
	uint64_t delta = codectl_cfi_read(&m->in, size) * m->fde->cie.code_align;

	advance(m, m->off + delta);
}

/* Instructions that say where the CFA is; false: another one. */
static bool run_cfa(struct machine *m, uint8_t op)
{
	uint64_t reg;

	switch (op) {
	case DW_CFA_DEF_CFA:
		reg = codectl_cfi_read_uleb(&m->in);
		set_cfa(m, reg, codectl_cfi_read_uleb(&m->in));
		return true;
	case DW_CFA_DEF_CFA_SF:
		reg = codectl_cfi_read_uleb(&m->in);
		set_cfa(m, reg, factored(m, codectl_cfi_read_sleb(&m->in)));
		return true;
	case DW_CFA_DEF_CFA_REGISTER:
		set_cfa(m, codectl_cfi_read_uleb(&m->in), m->now.cfa_off);
		return true;
	case DW_CFA_DEF_CFA_OFFSET:
		m->now.cfa_off = codectl_cfi_read_uleb(&m->in);
		return true;
	case DW_CFA_DEF_CFA_OFFSET_SF:
		m->now.cfa_off = factored(m, codectl_cfi_read_sleb(&m->in));
		return true;
	case DW_CFA_DEF_CFA_EXPRESSION:
		skip_block(m);
		m->now.cfa = ELSEWHERE;
		return true;
	default:
		return false;
	}
}

/* Instructions that say where a register is; anything else is bad. */
static void run_register(struct machine *m, uint8_t op)
{
	uint64_t reg = codectl_cfi_read_uleb(&m->in);

	switch (op) {
	case DW_CFA_OFFSET_EXTENDED:
		set_place(m, reg, AT_CFA, factored(m, codectl_cfi_read_uleb(&m->in)));
		return;
	case DW_CFA_OFFSET_EXTENDED_SF:
		set_place(m, reg, AT_CFA, factored(m, codectl_cfi_read_sleb(&m->in)));
		return;
	case DW_CFA_GNU_NEGATIVE_OFFSET:
		set_place(m, reg, AT_CFA, -factored(m, codectl_cfi_read_uleb(&m->in)));
		return;
	case DW_CFA_VAL_OFFSET:
		set_place(m, reg, IS_CFA, factored(m, codectl_cfi_read_uleb(&m->in)));
		return;
	case DW_CFA_VAL_OFFSET_SF:
		set_place(m, reg, IS_CFA, factored(m, codectl_cfi_read_sleb(&m->in)));
		return;
	case DW_CFA_UNDEFINED:
		set_place(m, reg, LOST, 0);
		return;
	case DW_CFA_SAME_VALUE:
		set_place(m, reg, SAME, 0);
		return;
	case DW_CFA_RESTORE_EXTENDED:
		restore_place(m, reg);
		return;
	case DW_CFA_REGISTER:
		codectl_cfi_read_uleb(&m->in);
		set_place(m, reg, ELSEWHERE, 0);
		return;
	case DW_CFA_EXPRESSION:
	case DW_CFA_VAL_EXPRESSION:
		skip_block(m);
		set_place(m, reg, ELSEWHERE, 0);
		return;
	default:
		m->in.bad = true;
	}
}

/* Instructions on the location and the state as a whole; false: another one. */
static bool run_other(struct machine *m, uint8_t op)
{
	switch (op) {
	case DW_CFA_NOP:
		return true;
	case DW_CFA_SET_LOC:
		advance(m, codectl_cfi_read_encoded(&m->in, m->fde->cie.fde_encoding) -
			   m->fde->start);
		return true;
	case DW_CFA_ADVANCE_LOC1:
		step_location(m, 1);
		return true;
	case DW_CFA_ADVANCE_LOC2:
		step_location(m, 2);
		return true;
	case DW_CFA_ADVANCE_LOC4:
		step_location(m, 4);
		return true;
	case DW_CFA_REMEMBER_STATE:
		remember(m);
		return true;
	case DW_CFA_RESTORE_STATE:
		recall(m);
		return true;
	case DW_CFA_GNU_ARGS_SIZE:
		codectl_cfi_read_uleb(&m->in);
		return true;
	default:
		return false;
	}
}

static void run_op(struct machine *m)
{
	uint8_t op = codectl_cfi_read(&m->in, 1), low = op & 0x3f;

	switch (op & 0xc0) {
	case DW_CFA_ADVANCE_LOC:
		advance(m, m->off + low * m->fde->cie.code_align);
		return;
	case DW_CFA_OFFSET:
		set_place(m, low, AT_CFA, factored(m, codectl_cfi_read_uleb(&m->in)));
		return;
	case DW_CFA_RESTORE:
		restore_place(m, low);
		return;
	}
	if (!run_other(m, op) && !run_cfa(m, op))
		run_register(m, op);
}

static void run(struct machine *m, const struct cfi_reader *program)
{
	m->in = *program;
	while (!m->in.bad && m->in.at < m->in.end)
		run_op(m);
}

/*
 * Stores the rows of a function in @rows, as far as its program can be understood; what
 * follows has none.  Returns how many.
 */
size_t codectl_cfi_rows(const struct cfi_fde *fde,
			struct code_jit_unwind_fre *rows, size_t max)
{
	struct machine m = { .fde = fde, .rows = rows, .max = max };

	run(&m, &fde->cie.program);
	if (m.in.bad || m.off)
		return 0;
	m.initial = m.now;
	run(&m, &fde->program);
	advance(&m, fde->len);

	return m.nr;
}

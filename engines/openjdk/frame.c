// SPDX-License-Identifier: MIT
#include "frame.h"

#define WORD	8

/* Has the return address of an exception before it is pushed. */
#define REG_DX	2
/* The interpreter's callers keep their SP here. */
#define REG_R13	13

/* The saved FP and the return address. */
#define USUAL	(2 * WORD)

void frame_begin(struct frame *frame, enum code_state state, uint32_t size)
{
	*frame = (struct frame){
		.sp = NOWHERE, .base = NOWHERE, .ra = WORD, .fp = USUAL,
		.copy = NOWHERE, .ra_reg = -1,
	};
	switch (state) {
	case STATE_CALLED:
		frame->sp = WORD;
		frame->fp = 0;
		break;
	case STATE_JUMPED:
		frame->sp = 0;
		frame->ra = NOWHERE;
		frame->ra_reg = REG_DX;
		frame->fp = 0;
		frame->aligned = true;
		break;
	case STATE_BODY:
		frame->sp = size;
		break;
	case STATE_FRAME:
		frame->base = USUAL;
		break;
	case STATE_INTERPRETED:
		frame->interpreted = true;
		break;
	case STATE_LOST:
		frame->ra = NOWHERE;
		break;
	}
}

bool frame_is_lost(const struct frame *frame)
{
	return !frame->interpreted &&
	       (frame->ra == NOWHERE || (frame->base == NOWHERE && frame->sp == NOWHERE));
}

void frame_row(const struct frame *frame, bool by_sp, struct code_jit_unwind_fre *row)
{
	*row = (struct code_jit_unwind_fre){ .info = CODE_FRE_UNKNOWN };
	if (frame->interpreted) {
		row->cfa_off = -WORD;
		row->ra_off = WORD;
		row->info = CODE_FRE_SP_SAVED | CODE_FRE_FP_SAVED;
		return;
	}
	if (frame_is_lost(frame))
		return;
	row->info = 0;
	row->cfa_off = frame->base;
	row->ra_off = -frame->ra;
	if (frame->base == NOWHERE || (by_sp && frame->sp != NOWHERE)) {
		row->info = CODE_FRE_BASE_SP;
		row->cfa_off = frame->sp;
	}
	if (frame->fp == NOWHERE) {
		row->info |= CODE_FRE_FP_UNDEF;
	} else if (frame->fp) {
		row->info |= CODE_FRE_FP_SAVED;
		row->fp_off = -frame->fp;
	}
}

static void lower_sp(struct frame *frame, int64_t bytes)
{
	int64_t sp = frame->sp + bytes;

	if (frame->sp == NOWHERE)
		return;
	frame->sp = sp > INT32_MIN / 2 && sp < INT32_MAX / 2 ? sp : NOWHERE;
}

void frame_overwrite_fp(struct frame *frame)
{
	if (frame->interpreted)
		frame_begin(frame, STATE_LOST, 0);
	frame->base = NOWHERE;
	if (!frame->fp)
		frame->fp = NOWHERE;
}

static void restore_fp(struct frame *frame)
{
	frame->base = NOWHERE;
	frame->fp = 0;
}

static void push(struct frame *frame, int reg)
{
	if (frame->made == 2 && reg == REG_R13)
		frame_begin(frame, STATE_INTERPRETED, 0);
	lower_sp(frame, WORD);
	if (frame->sp == NOWHERE) {
		frame->made = reg == REG_FP;
		/*
		 * After SP was aligned, the return address is pushed again, as in
		 * adapters that the interpreter calls: nothing else matters there.
		 */
		if (reg >= 0 && reg == frame->ra_reg)
			frame_begin(frame, STATE_CALLED, 0);
		return;
	}
	if (reg == REG_FP && !frame->fp)
		frame->fp = frame->sp;
	if (reg >= 0 && reg == frame->ra_reg && frame->ra == NOWHERE)
		frame->ra = frame->sp;
}

static void pop(struct frame *frame, int reg)
{
	int32_t from = frame->sp;

	lower_sp(frame, -WORD);
	if (reg == REG_SP) {
		frame->sp = NOWHERE;
	} else if (reg == REG_FP) {
		if (from != NOWHERE && from == frame->fp)
			restore_fp(frame);
		else if (from != NOWHERE || frame->fp)
			frame_overwrite_fp(frame);
	}
	if (from != NOWHERE && from == frame->ra) {
		frame->ra = NOWHERE;
		frame->ra_reg = reg;
	}
}

static void leave(struct frame *frame)
{
	int32_t base = frame->base;

	if (frame->interpreted || base == NOWHERE) {
		frame_begin(frame, STATE_LOST, 0);
		return;
	}
	frame->sp = base;
	pop(frame, REG_FP);
}

/* "mov %from, %to", of which one is SP or FP. */
static void move(struct frame *frame, int to, int from)
{
	if (from == REG_SP && to == REG_FP) {
		if (frame->sp == NOWHERE)
			frame->made = frame->made == 1 ? 2 : 0;
		else if (frame->fp && frame->fp != NOWHERE)
			frame->base = frame->sp;
		else
			frame_overwrite_fp(frame);
	} else if (from == REG_SP) {
		frame->copy = frame->sp;
		frame->copy_reg = to;
	} else if (to == REG_SP && from == REG_FP) {
		frame->sp = frame->base;
	} else if (to == REG_SP) {
		frame->sp = from == frame->copy_reg ? frame->copy : NOWHERE;
	} else if (to == REG_FP) {
		frame_overwrite_fp(frame);
	}
}

/* CFA - the address of an operand in memory. */
static int32_t distance(const struct frame *frame, const struct insn *insn)
{
	int32_t from = NOWHERE;

	if (insn->base == REG_SP)
		from = frame->sp;
	else if (insn->base == REG_FP)
		from = frame->base;
	if (from == NOWHERE)
		return NOWHERE;

	return from - insn->disp;
}

static void store(struct frame *frame, const struct insn *insn, int reg)
{
	int32_t to = distance(frame, insn);

	if (to == NOWHERE)
		return;
	if (reg == REG_FP && !frame->fp && to >= USUAL)
		frame->fp = to;
	/* HotSpot stores the return address in the slot reserved for it. */
	if (frame->ra == NOWHERE &&
	    (reg == frame->ra_reg || (insn->base == REG_FP && to == WORD)))
		frame->ra = to;
}

static void load(struct frame *frame, const struct insn *insn, int reg)
{
	int32_t from = distance(frame, insn);

	if (from != NOWHERE && from == frame->ra)
		frame->ra_reg = reg;
	if (reg == REG_SP) {
		/* Another stack, or another part of it: FP may not belong to it. */
		frame->sp = NOWHERE;
		if (insn->base != REG_FP)
			frame->base = NOWHERE;
	} else if (reg == REG_FP) {
		if (from != NOWHERE && from == frame->fp)
			restore_fp(frame);
		else
			frame_overwrite_fp(frame);
	}
}

static void load_address(struct frame *frame, const struct insn *insn, int reg)
{
	int32_t to = distance(frame, insn);

	if (reg == REG_SP) {
		frame->sp = to;
	} else if (reg == REG_FP) {
		if (to != NOWHERE && frame->fp && frame->fp != NOWHERE)
			frame->base = to;
		else
			frame_overwrite_fp(frame);
	}
}

/* 81 and 83: arithmetic of SP and an immediate operand. */
static void add_number(struct frame *frame, const struct insn *insn)
{
	int64_t number = insn->number;

	switch (insn->reg & 7) {
	case 0:
		lower_sp(frame, -number);
		break;
	case 4:
		if (number != -16 || !frame->aligned || frame->sp % 16)
			frame->sp = NOWHERE;
		break;
	case 5:
		if (frame->made == 2) {
			frame_begin(frame, STATE_FRAME, 0);
			frame->sp = USUAL;
		}
		lower_sp(frame, number);
		break;
	case 7:
		break;
	default:
		frame->sp = NOWHERE;
	}
}

/* Instructions with two operands, of which one may be in memory. */
static void step_two(struct frame *frame, const struct insn *insn)
{
	bool registers = !insn->memory;
	int reg = insn->reg, rm = insn->rm;

	switch (insn->opcode) {
	case 0x01: case 0x29: case 0x21:	/* add, sub, and: to rm */
		if (registers && rm == REG_SP)
			frame->sp = NOWHERE;
		break;
	case 0x03: case 0x2b: case 0x23:
		if (reg == REG_SP)
			frame->sp = NOWHERE;
		break;
	case 0x81: case 0x83:
		if (registers && rm == REG_SP)
			add_number(frame, insn);
		break;
	case 0x89:
		if (registers)
			move(frame, rm, reg);
		else
			store(frame, insn, reg);
		break;
	case 0x8b:
		if (registers)
			move(frame, reg, rm);
		else
			load(frame, insn, reg);
		break;
	case 0x8d:
		load_address(frame, insn, reg);
		break;
	case 0x8f:
		pop(frame, -1);
		break;
	case 0xff:
		if ((insn->reg & 7) == 6)
			push(frame, -1);
		break;
	}
}

void frame_step(struct frame *frame, const struct insn *insn)
{
	uint8_t made = frame->made, opcode = insn->opcode;
	bool interpreted = frame->interpreted;

	if (opcode >= 0x50 && opcode <= 0x57)
		push(frame, insn->reg);
	else if (opcode >= 0x58 && opcode <= 0x5f)
		pop(frame, insn->reg);
	else if (opcode == 0x68 || opcode == 0x6a || opcode == 0x9c)
		push(frame, -1);
	else if (opcode == 0x9d)
		pop(frame, -1);
	else if (opcode == 0xc9)
		leave(frame);
	else if (opcode == 0xe8 && !insn->number)
		push(frame, -1);
	else if (insn->modrm)
		step_two(frame, insn);
	/* The instructions that make a frame are consecutive. */
	if (made == frame->made && frame->interpreted == interpreted)
		frame->made = 0;
}

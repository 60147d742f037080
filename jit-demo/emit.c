// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emit.h"

static void put(struct emit *e, uint8_t byte)
{
	if (e->len == EMIT_CODE) {
		fprintf(stderr, "jit-demo: a function is too long\n");
		exit(1);
	}
	e->code[e->len++] = byte;
}

static void put_le(struct emit *e, uint64_t value, int bytes)
{
	for (int i = 0; i < bytes; i++)
		put(e, value >> 8 * i);
}

/* REX.W, with the fourth bits of the registers. */
static void put_rex(struct emit *e, unsigned int reg, unsigned int base)
{
	put(e, 0x48 | (reg >> 3) << 2 | base >> 3);
}

static void put_modrm(struct emit *e, unsigned int reg, unsigned int rm)
{
	put(e, 0xc0 | (reg & 7) << 3 | (rm & 7));
}

static void put_op(struct emit *e, uint8_t opcode, unsigned int reg,
		   unsigned int rm)
{
	put_rex(e, reg, rm);
	put(e, opcode);
	put_modrm(e, reg, rm);
}

/* An operand at @base + @off; %rsp and %r12 as a base need a SIB byte. */
static void put_memory(struct emit *e, uint8_t opcode, unsigned int reg,
		       enum reg base, int32_t off)
{
	put_rex(e, reg, base);
	put(e, opcode);
	put(e, 0x80 | (reg & 7) << 3 | (base & 7));
	if ((base & 7) == RSP)
		put(e, 0x24);
	put_le(e, off, 4);
}

void emit_start(struct emit *e)
{
	e->len = 0;
	e->pushed = 0;
	e->mark_off = 0;
	e->mark_from = 0;
	e->mark_to = 0;
	codectl_build_start(&e->builder, e->rows, EMIT_ROWS);
}

unsigned int emit_end(struct emit *e)
{
	int nr = codectl_build_end(&e->builder, e->len);

	if (nr < 0) {
		fprintf(stderr, "jit-demo: no rows: %s\n", strerror(-nr));
		exit(1);
	}
	return nr;
}

/* --------------------------------------------------------------- the stack */

static void put_push(struct emit *e, enum reg reg)
{
	if (reg >= R8)
		put(e, 0x41);
	put(e, 0x50 | (reg & 7));
}

static void put_pop(struct emit *e, enum reg reg)
{
	if (reg >= R8)
		put(e, 0x41);
	put(e, 0x58 | (reg & 7));
}

void emit_push(struct emit *e, enum reg reg)
{
	put_push(e, reg);
	e->pushed += 8;
	codectl_build_push(&e->builder, e->len);
}

void emit_pop(struct emit *e, enum reg reg)
{
	put_pop(e, reg);
	e->pushed -= 8;
	codectl_build_adjust(&e->builder, e->len, -8);
}

void emit_save(struct emit *e, enum reg reg)
{
	put_push(e, reg);
	if (reg == RBP)
		codectl_build_push_fp(&e->builder, e->len);
	else
		codectl_build_push(&e->builder, e->len);
}

void emit_restore(struct emit *e, enum reg reg)
{
	put_pop(e, reg);
	if (reg == RBP)
		codectl_build_pop_fp(&e->builder, e->len);
	else
		codectl_build_adjust(&e->builder, e->len, -8);
}

void emit_frame(struct emit *e, int32_t bytes)
{
	emit_alu_imm(e, ALU_SUB, RSP, bytes);
	codectl_build_adjust(&e->builder, e->len, bytes);
}

void emit_enter(struct emit *e)
{
	emit_save(e, RBP);
	emit_mov(e, RBP, RSP);
	codectl_build_set_fp(&e->builder, e->len);
}

void emit_align(struct emit *e)
{
	emit_alu_imm(e, ALU_AND, RSP, -16);
}

void emit_leave(struct emit *e)
{
	put(e, 0xc9);
	codectl_build_leave(&e->builder, e->len);
}

void emit_ret(struct emit *e)
{
	put(e, 0xc3);
}

void emit_mark(struct emit *e, enum reg base, int32_t off, int32_t cfa,
	       uint32_t id)
{
	emit_store_imm(e, base, off + 8, id);
	emit_lea(e, R11, base, cfa);
	emit_mov_imm(e, R10, MARK_MAGIC);
	emit_alu(e, ALU_XOR, R11, R10);
	emit_store(e, base, off, R11);
	e->mark_off = cfa - off;
	e->mark_from = e->len;
}

void emit_unmark(struct emit *e, enum reg base, int32_t off)
{
	emit_store_imm(e, base, off, 0);
	e->mark_to = e->len;
}

/* ------------------------------------------------------------------- moves */

void emit_mov(struct emit *e, enum reg to, enum reg from)
{
	put_op(e, 0x89, from, to);
}

void emit_mov_imm(struct emit *e, enum reg to, int64_t value)
{
	put_rex(e, 0, to);
	if (value == (int32_t)value) {
		put(e, 0xc7);
		put_modrm(e, 0, to);
		put_le(e, value, 4);
	} else {
		put(e, 0xb8 | (to & 7));
		put_le(e, value, 8);
	}
}

void emit_lea(struct emit *e, enum reg to, enum reg base, int32_t off)
{
	put_memory(e, 0x8d, to, base, off);
}

void emit_load(struct emit *e, enum reg to, enum reg base, int32_t off)
{
	put_memory(e, 0x8b, to, base, off);
}

void emit_store(struct emit *e, enum reg base, int32_t off, enum reg from)
{
	put_memory(e, 0x89, from, base, off);
}

void emit_store_imm(struct emit *e, enum reg base, int32_t off, int32_t value)
{
	put_memory(e, 0xc7, 0, base, off);
	put_le(e, value, 4);
}

void emit_load_indexed(struct emit *e)
{
	put_le(e, 0xc8048b48, 4);	/* mov (%rax,%rcx,8), %rax */
}

void emit_store_indexed(struct emit *e)
{
	put_le(e, 0xc8148948, 4);	/* mov %rdx, (%rax,%rcx,8) */
}

/* -------------------------------------------------------------- arithmetic */

void emit_alu(struct emit *e, enum alu op, enum reg to, enum reg from)
{
	put_op(e, op, from, to);
}

void emit_alu_imm(struct emit *e, enum alu op, enum reg to, int32_t value)
{
	put_op(e, 0x81, op >> 3, to);
	put_le(e, value, 4);
}

void emit_imul(struct emit *e, enum reg to, enum reg from)
{
	put_rex(e, to, from);
	put(e, 0x0f);
	put(e, 0xaf);
	put_modrm(e, to, from);
}

void emit_unary(struct emit *e, enum unary op, enum reg reg)
{
	put_op(e, 0xf7, op, reg);
}

void emit_cqo(struct emit *e)
{
	put_le(e, 0x9948, 2);
}

void emit_shift(struct emit *e, enum shift op)
{
	put_op(e, 0xd3, op, RAX);
}

void emit_test(struct emit *e, uint32_t bits)
{
	put_le(e, 0x00f7, 2);			/* testl $bits, (%rax) */
	put_le(e, bits, 4);
}

void emit_step(struct emit *e, enum step dir, enum reg base, int32_t off)
{
	put_memory(e, 0xff, dir, base, off);
}

void emit_set(struct emit *e, enum cond when)
{
	put_le(e, 0xc0900f | when << 8, 3);	/* setcc %al */
	put_le(e, 0xc0b60f, 3);			/* movzbl %al, %eax */
}

/* ------------------------------------------------------------------- jumps */

static void patch(struct emit *e, uint32_t jump, uint32_t value)
{
	memcpy(e->code + jump - 4, &value, 4);
}

/* Until the label is known, each jump holds the position of the previous one. */
void emit_jump(struct emit *e, enum cond when, struct label *label)
{
	if (when == COND_ALWAYS) {
		put(e, 0xe9);
	} else {
		put(e, 0x0f);
		put(e, 0x80 | when);
	}
	put_le(e, label->jumps, 4);
	if (label->at)
		patch(e, e->len, label->at - e->len);
	else
		label->jumps = e->len;
}

void emit_label(struct emit *e, struct label *label)
{
	uint32_t jump = label->jumps, before;

	label->at = e->len;
	label->jumps = 0;
	while (jump) {
		memcpy(&before, e->code + jump - 4, 4);
		patch(e, jump, label->at - jump);
		jump = before;
	}
}

void emit_call_at(struct emit *e, enum reg base, int32_t off)
{
	put_memory(e, 0xff, 2, base, off);
}

void emit_jump_at(struct emit *e, enum reg base, int32_t off)
{
	put_memory(e, 0xff, 4, base, off);
}

void emit_call_reg(struct emit *e, enum reg reg)
{
	put_op(e, 0xff, 2, reg);
}

void emit_jump_reg(struct emit *e, enum reg reg)
{
	put_op(e, 0xff, 4, reg);
}

/* SPDX-License-Identifier: MIT */
/*
 * Emits machine code for x86-64 and its unwind rows: each instruction that changes where the
 * caller's values are is reported to the row builder of libcodectl.
 */
#ifndef EMIT_H
#define EMIT_H

#include <stdint.h>

#include <codectl.h>

enum reg {
	RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI,
	R8, R9, R10, R11, R12, R13, R14, R15,
};

/* Arithmetic by the opcode of "op %reg, %reg". */
enum alu {
	ALU_ADD = 0x01, ALU_OR = 0x09, ALU_AND = 0x21,
	ALU_SUB = 0x29, ALU_XOR = 0x31, ALU_CMP = 0x39,
};

/* The /digit of opcodes with one operand: f7, d3, ff. */
enum unary { UNARY_NOT = 2, UNARY_NEG = 3, UNARY_IDIV = 7 };
enum shift { SHIFT_LEFT = 4, SHIFT_RIGHT = 7 };
enum step { STEP_UP = 0, STEP_DOWN = 1 };

enum cond {
	COND_EQ = 0x4, COND_NE = 0x5, COND_LT = 0xc, COND_GE = 0xd,
	COND_LE = 0xe, COND_GT = 0xf, COND_ALWAYS = 0x10,
};

/* A place in the code; jumps to it may be emitted before it is known. */
struct label {
	uint32_t at;		/* 0: not known yet */
	uint32_t jumps;		/* the last unresolved jump to it, or 0 */
};

#define EMIT_CODE	(32 * 1024)
#define EMIT_ROWS	4096

/*
 * Each frame of compiled code has a mark, two words that identify its code: a magic number,
 * combined with the frame's CFA, and the number of the code.
 */
#define MARK_MAGIC	0x6b72616d2d74696aULL

struct emit {
	uint32_t len;
	uint32_t pushed;	/* bytes of temporaries on the stack */
	uint32_t mark_off;	/* the mark is at CFA - mark_off ... */
	uint32_t mark_from;	/* ... in this part of the code */
	uint32_t mark_to;
	struct codectl_builder builder;
	uint8_t code[EMIT_CODE];
	struct code_jit_unwind_fre rows[EMIT_ROWS];
};

void emit_start(struct emit *e);
/* The number of rows. */
unsigned int emit_end(struct emit *e);

/* Temporaries. */
void emit_push(struct emit *e, enum reg reg);
void emit_pop(struct emit *e, enum reg reg);

/* Prologue and epilogue. */
void emit_save(struct emit *e, enum reg reg);
void emit_restore(struct emit *e, enum reg reg);
void emit_frame(struct emit *e, int32_t bytes);
void emit_enter(struct emit *e);		/* push %rbp; mov %rsp, %rbp */
void emit_align(struct emit *e);		/* only with %rbp as the base */
void emit_leave(struct emit *e);
void emit_ret(struct emit *e);

/* Stores the mark at @base + @off; the CFA is @base + @cfa.  Clobbers %r10 and %r11. */
void emit_mark(struct emit *e, enum reg base, int32_t off, int32_t cfa,
	       uint32_t id);
void emit_unmark(struct emit *e, enum reg base, int32_t off);

void emit_mov(struct emit *e, enum reg to, enum reg from);
void emit_mov_imm(struct emit *e, enum reg to, int64_t value);
void emit_lea(struct emit *e, enum reg to, enum reg base, int32_t off);
void emit_load(struct emit *e, enum reg to, enum reg base, int32_t off);
void emit_store(struct emit *e, enum reg base, int32_t off, enum reg from);
void emit_store_imm(struct emit *e, enum reg base, int32_t off, int32_t value);
/* Loads %rax from, or stores %rdx to, the word at %rax + 8 * %rcx. */
void emit_load_indexed(struct emit *e);
void emit_store_indexed(struct emit *e);

void emit_alu(struct emit *e, enum alu op, enum reg to, enum reg from);
void emit_alu_imm(struct emit *e, enum alu op, enum reg to, int32_t value);
void emit_imul(struct emit *e, enum reg to, enum reg from);
void emit_unary(struct emit *e, enum unary op, enum reg reg);
void emit_cqo(struct emit *e);
/* %rax by %cl */
void emit_shift(struct emit *e, enum shift op);
/* Tests bits of the 32-bit word at %rax. */
void emit_test(struct emit *e, uint32_t bits);
/* Increments or decrements the word at @base + @off. */
void emit_step(struct emit *e, enum step dir, enum reg base, int32_t off);
/* %rax = 1 if @when holds, else 0 */
void emit_set(struct emit *e, enum cond when);

void emit_jump(struct emit *e, enum cond when, struct label *label);
void emit_label(struct emit *e, struct label *label);
void emit_call_at(struct emit *e, enum reg base, int32_t off);
void emit_jump_at(struct emit *e, enum reg base, int32_t off);
void emit_call_reg(struct emit *e, enum reg reg);
void emit_jump_reg(struct emit *e, enum reg reg);

#endif /* EMIT_H */

/* SPDX-License-Identifier: MIT */
#ifndef INSN_H
#define INSN_H

#include <stdbool.h>
#include <stdint.h>

/* Numbers of registers in instructions. */
#define REG_SP	4
#define REG_FP	5

/**
 * struct insn - an instruction, as far as it matters to frames
 * @len: its length
 * @plain: it neither writes to SP or FP nor copies one; what comes below is not told then
 * @leads: it is a direct jump, to its end and @number
 * @ends: it never goes on to the next instruction
 * @modrm: it has two operands of which one may be in memory
 * @memory: one is
 * @may_write_fp: FP is one of those that it may write to
 * @opcode: its opcode, if that is of one byte and takes no prefix but REX; or 0
 * @reg: the register, or the rest of the opcode
 * @rm: the other register, or any if @memory
 * @base: the register that an operand in memory counts from, if it is that and @disp; or -1
 * @disp: see there
 * @number: the number in it
 */
struct insn {
	uint32_t len;
	bool plain;
	bool leads;
	bool ends;
	bool modrm;
	bool memory;
	bool may_write_fp;
	uint8_t opcode;
	int8_t reg;
	int8_t rm;
	int8_t base;
	int32_t disp;
	int64_t number;
};

/*
 * Decode the instruction at @bytes, of which there are @left; false if it is none.  With
 * @moves those are not plain that move a register to memory by SP or FP, or from there.
 */
bool insn_decode(const uint8_t *bytes, uint32_t left, bool moves, struct insn *insn);

/* Whether it writes to FP, which is slow to tell. */
bool insn_writes_fp(const uint8_t *bytes, uint32_t left);

#endif /* INSN_H */

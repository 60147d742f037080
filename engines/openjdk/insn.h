/* SPDX-License-Identifier: MIT */
#ifndef INSN_H
#define INSN_H

#include <stdbool.h>
#include <stdint.h>

/* Numbers of registers in instructions. */
#define REG_SP	4
#define REG_FP	5

/**
 * struct insn - the properties of an instruction that matter for frames
 * @len: its length
 * @plain: it neither writes to SP or FP nor copies one; the members below are not set then
 * @leads: it is a direct jump to its end plus @number
 * @ends: it never goes on to the next instruction
 * @modrm: it has two operands, one of which may be in memory
 * @memory: one of them is
 * @may_write_fp: it may write to FP
 * @opcode: its opcode, if that is of one byte and takes no prefix but REX; or 0
 * @reg: the register, or the rest of the opcode
 * @rm: the other register, or any if @memory
 * @base: the register of an operand in memory at that register plus @disp; or -1
 * @disp: see @base
 * @number: its immediate operand
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
 * Decodes the instruction in the @left bytes at @bytes; false if there is none.  With @moves,
 * instructions that move a register to or from memory at SP or FP are not plain.
 */
bool insn_decode(const uint8_t *bytes, uint32_t left, bool moves, struct insn *insn);

/* Does it write to FP?  Slow. */
bool insn_writes_fp(const uint8_t *bytes, uint32_t left);

#endif /* INSN_H */

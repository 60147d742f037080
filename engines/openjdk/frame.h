/* SPDX-License-Identifier: MIT */
#ifndef FRAME_H
#define FRAME_H

/*
 * Where the caller's values are at an instruction, and how instructions change that.
 */

#include <stdbool.h>
#include <stdint.h>

#include "insn.h"
#include "rows.h"

/* No such place. */
#define NOWHERE	INT32_MIN

/**
 * struct frame - where the caller's values are
 * @sp: CFA - SP, or %NOWHERE
 * @base: CFA - FP if FP is the base of the frame, or %NOWHERE
 * @ra: CFA - the address of the return address, or %NOWHERE
 * @fp: CFA - the address of the caller's FP; 0: FP has it; %NOWHERE: it is lost
 * @copy: CFA - the value of register @copy_reg, a copy of SP, or %NOWHERE
 * @copy_reg: see @copy
 * @ra_reg: the register that the return address was popped into, or -1
 * @made: how much of a frame has been made while SP is unknown: 1 after "push %rbp",
 *	2 after "mov %rsp, %rbp"
 * @interpreted: FP points to a frame of the interpreter
 * @aligned: CFA is a multiple of 16, as in compiled methods: aligning an SP that is one as
 *	well changes nothing
 */
struct frame {
	int32_t sp;
	int32_t base;
	int32_t ra;
	int32_t fp;
	int32_t copy;
	int8_t copy_reg;
	int8_t ra_reg;
	uint8_t made;
	bool interpreted;
	bool aligned;
};

/* Is nothing known about the caller? */
bool frame_is_lost(const struct frame *frame);

void frame_begin(struct frame *frame, enum code_state state, uint32_t size);
/* @by_sp: use SP as the base where both SP and FP are possible. */
void frame_row(const struct frame *frame, bool by_sp, struct code_jit_unwind_fre *row);

/* Applies @insn, if it is one that HotSpot uses to make frames. */
void frame_step(struct frame *frame, const struct insn *insn);

/* FP gets a value that is not the caller's. */
void frame_overwrite_fp(struct frame *frame);

#endif /* FRAME_H */

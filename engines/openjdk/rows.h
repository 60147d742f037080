/* SPDX-License-Identifier: MIT */
#ifndef ROWS_H
#define ROWS_H

/*
 * Makes rows for code of HotSpot by reading its instructions: the only unwind information
 * that HotSpot keeps is the size of a frame.
 */

#include <stdbool.h>
#include <stdint.h>

#include <codectl.h>

/**
 * enum code_state - where the caller's values are at the start of a piece of code, and after
 *	an instruction that does not continue at the next one, unless a branch leads there
 * @STATE_CALLED: it was called, so the return address is on top of the stack
 * @STATE_JUMPED: the frame that it came from is on top, without a return address
 * @STATE_BODY: a frame of a known size has been made
 * @STATE_FRAME: FP points to a frame of the usual form, with the caller's FP and the
 *	return address
 * @STATE_INTERPRETED: FP points to a frame of the interpreter, which has the caller's SP
 *	at FP - 8
 * @STATE_LOST: unknown
 */
enum code_state {
	STATE_CALLED,
	STATE_JUMPED,
	STATE_BODY,
	STATE_FRAME,
	STATE_INTERPRETED,
	STATE_LOST,
};

/**
 * struct code - code to make rows for
 * @start: its address, where it can be read
 * @len: its length
 * @frame_size: for STATE_BODY: distance from SP to CFA in the body
 * @body: for STATE_BODY: offset where the body begins, if the code before it has been
 *	overwritten, or 0
 * @osr_entry: offset of a second entry point, or 0
 * @begin: the state at its start
 * @otherwise: the state after an instruction that does not continue at the next one
 * @by_sp: prefer SP to FP in rules: FP is not restored in frames of virtual threads that
 *	continue in another thread
 * @any_fp: any instruction may write to FP, not only those that make and undo frames
 */
struct code {
	uint64_t start;
	uint32_t len;
	uint32_t frame_size;
	uint32_t body;
	uint32_t osr_entry;
	enum code_state begin;
	enum code_state otherwise;
	bool by_sp;
	bool any_fp;
};

/**
 * struct rows - rows, and the state while making them; zeroed at first
 * @fre: the rows, @nr of them, counted from the start of the code
 * @nr: how many
 * @disagree: number of branches whose state differs from that of their target
 */
struct rows {
	struct code_jit_unwind_fre *fre;
	unsigned int nr;
	unsigned int disagree;
	unsigned int max;
	struct frame *frames;
	unsigned int nr_frames;
	unsigned int max_frames;
	uint16_t *at;
	uint32_t max_at;
};

/* Return: 0 or -ENOMEM.  A row is CODE_FRE_UNKNOWN where no rule is known. */
int rows_of(struct rows *rows, const struct code *code);
void rows_free(struct rows *rows);

#endif /* ROWS_H */

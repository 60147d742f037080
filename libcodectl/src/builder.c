// SPDX-License-Identifier: MIT
/*
 * Rows from what an emitter does to the stack.
 */
#include <errno.h>

#include "internal.h"

#define WORD	8

static bool is_fp_based(const struct codectl_builder *b)
{
	return !(b->now.info & CODE_FRE_BASE_SP);
}

/* Ends the row that covers the code up to @off. */
static void end_row(struct codectl_builder *b, uint32_t off)
{
	if (off < b->now.ip_off)
		b->error = -EINVAL;
	if (b->error || off == b->now.ip_off)
		return;
	if (b->nr == b->max) {
		b->error = -ENOSPC;
		return;
	}

	b->now.size = off - b->now.ip_off;
	b->rows[b->nr++] = b->now;
	b->now.ip_off = off;
}

/* From @off on, the rule is @rule. */
static void set_rule(struct codectl_builder *b, uint32_t off,
		     struct code_jit_unwind_fre rule)
{
	const struct code_jit_unwind_fre *now = &b->now;

	if (b->sp_off < 0)
		b->error = -EINVAL;
	if (rule.info == now->info && rule.cfa_off == now->cfa_off &&
	    rule.fp_off == now->fp_off) {
		if (off < now->ip_off)
			b->error = -EINVAL;
		return;
	}
	end_row(b, off);
	rule.ip_off = b->now.ip_off;
	b->now = rule;
}

/* From @off on, SP is @bytes lower. */
static void move_sp(struct codectl_builder *b, uint32_t off, int32_t bytes,
		    struct code_jit_unwind_fre rule)
{
	if (__builtin_add_overflow(b->sp_off, bytes, &b->sp_off))
		b->error = -EINVAL;
	if (!is_fp_based(b))
		rule.cfa_off = b->sp_off;
	set_rule(b, off, rule);
}

void codectl_build_start(struct codectl_builder *b,
			 struct code_jit_unwind_fre *rows, uint32_t max)
{
	*b = (struct codectl_builder) {
		.rows = rows,
		.max = max,
		.word = WORD,
		.sp_off = WORD,
		.now = {
			.cfa_off = WORD,
			.ra_off = -WORD,
			.info = CODE_FRE_BASE_SP,
		},
	};
	codectl_build_save(b);
}

void codectl_build_push(struct codectl_builder *b, uint32_t off)
{
	move_sp(b, off, b->word, b->now);
}

void codectl_build_adjust(struct codectl_builder *b, uint32_t off,
			  int32_t bytes)
{
	move_sp(b, off, bytes, b->now);
}

void codectl_build_push_fp(struct codectl_builder *b, uint32_t off)
{
	struct code_jit_unwind_fre rule = b->now;

	/* What is pushed has to be the caller's. */
	if (is_fp_based(b) ||
	    (rule.info & (CODE_FRE_FP_SAVED | CODE_FRE_FP_UNDEF)))
		b->error = -EINVAL;
	rule.info |= CODE_FRE_FP_SAVED;
	rule.fp_off = -b->sp_off - (int32_t)b->word;
	move_sp(b, off, b->word, rule);
}

void codectl_build_store_fp(struct codectl_builder *b, uint32_t off,
			    int32_t sp_off)
{
	struct code_jit_unwind_fre rule = b->now;

	if (is_fp_based(b) || sp_off < 0 ||
	    (rule.info & (CODE_FRE_FP_SAVED | CODE_FRE_FP_UNDEF)))
		b->error = -EINVAL;
	rule.info |= CODE_FRE_FP_SAVED;
	rule.fp_off = (uint32_t)sp_off - (uint32_t)b->sp_off;
	set_rule(b, off, rule);
}

void codectl_build_load_fp(struct codectl_builder *b, uint32_t off)
{
	struct code_jit_unwind_fre rule = b->now;

	if (is_fp_based(b) || !(rule.info & CODE_FRE_FP_SAVED))
		b->error = -EINVAL;
	rule.info &= ~CODE_FRE_FP_SAVED;
	rule.fp_off = 0;
	set_rule(b, off, rule);
}

/* FP is restored from where it was saved, and SP is right above that. */
static void restore_fp(struct codectl_builder *b, uint32_t off)
{
	struct code_jit_unwind_fre rule = b->now;

	if (!(rule.info & CODE_FRE_FP_SAVED))
		b->error = -EINVAL;
	b->sp_off = -rule.fp_off - (int32_t)b->word;
	rule.info = (rule.info & ~CODE_FRE_FP_SAVED) | CODE_FRE_BASE_SP;
	rule.cfa_off = b->sp_off;
	rule.fp_off = 0;
	set_rule(b, off, rule);
}

void codectl_build_pop_fp(struct codectl_builder *b, uint32_t off)
{
	if (b->sp_off != -b->now.fp_off)
		b->error = -EINVAL;
	restore_fp(b, off);
}

void codectl_build_set_fp(struct codectl_builder *b, uint32_t off)
{
	struct code_jit_unwind_fre rule = b->now;

	rule.info &= ~CODE_FRE_BASE_SP;
	if (!(rule.info & CODE_FRE_FP_SAVED))
		rule.info |= CODE_FRE_FP_UNDEF;
	rule.cfa_off = b->sp_off;
	set_rule(b, off, rule);
}

void codectl_build_leave(struct codectl_builder *b, uint32_t off)
{
	/* FP has to point to where the caller's was saved. */
	if (!is_fp_based(b) || b->now.cfa_off != -b->now.fp_off)
		b->error = -EINVAL;
	restore_fp(b, off);
}

void codectl_build_fp_undef(struct codectl_builder *b, uint32_t off)
{
	struct code_jit_unwind_fre rule = b->now;

	if (is_fp_based(b))
		b->error = -EINVAL;
	rule.info = (rule.info & ~CODE_FRE_FP_SAVED) | CODE_FRE_FP_UNDEF;
	rule.fp_off = 0;
	set_rule(b, off, rule);
}

void codectl_build_save(struct codectl_builder *b)
{
	b->saved = b->now;
	b->saved_sp_off = b->sp_off;
}

void codectl_build_resume(struct codectl_builder *b, uint32_t off)
{
	b->sp_off = b->saved_sp_off;
	set_rule(b, off, b->saved);
}

int codectl_build_end(struct codectl_builder *b, uint32_t len)
{
	end_row(b, len);

	return b->error ? b->error : (int)b->nr;
}

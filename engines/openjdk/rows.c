// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "frame.h"
#include "rows.h"

/*
 * Code is read once from its start to its end.  The frame at a branch is kept for its target.
 * If a target is only reached by branches from after it, the code is read once more, and
 * again if that leads to further such targets.
 */
#define MAX_TIMES	8

struct reader {
	struct rows *rows;
	const struct code *code;
	const uint8_t *bytes;
	struct frame now;
	struct frame last;
	bool interpreted;
	bool again;
};

static int grow(void **array, uint32_t *max, uint32_t wanted, size_t size)
{
	uint32_t new_max = wanted + wanted / 2 + 16;
	void *new;

	if (wanted <= *max)
		return 0;
	new = realloc(*array, new_max * size);
	if (!new)
		return -ENOMEM;
	*array = new;
	*max = new_max;

	return 0;
}

static bool same_frame(const struct frame *a, const struct frame *b)
{
	return a->sp == b->sp && a->base == b->base && a->ra == b->ra &&
	       a->fp == b->fp && a->interpreted == b->interpreted;
}

static bool same_rule(const struct code_jit_unwind_fre *a,
		      const struct code_jit_unwind_fre *b)
{
	return a->cfa_off == b->cfa_off && a->ra_off == b->ra_off &&
	       a->fp_off == b->fp_off && a->info == b->info;
}

/* The index of a frame in rows->frames, plus 1; 0: there is no room for more. */
static unsigned int number_of(struct rows *rows, const struct frame *frame)
{
	unsigned int i;

	for (i = rows->nr_frames; i-- > 0;) {
		if (same_frame(&rows->frames[i], frame))
			return i + 1;
	}
	if (rows->nr_frames == UINT16_MAX ||
	    grow((void **)&rows->frames, &rows->max_frames, rows->nr_frames + 1,
		 sizeof(*frame)))
		return 0;
	rows->frames[rows->nr_frames] = *frame;

	return ++rows->nr_frames;
}

/* Is the current frame the same as the one at @off, which has been read already? */
static bool agrees(const struct reader *r, uint32_t off)
{
	const struct rows *rows = r->rows;
	unsigned int low = 0, high = rows->nr, middle;
	struct code_jit_unwind_fre row;

	while (high - low > 1) {
		middle = (low + high) / 2;
		if (rows->fre[middle].ip_off <= off)
			low = middle;
		else
			high = middle;
	}
	frame_row(&r->now, r->code->by_sp, &row);

	return rows->nr && same_rule(&rows->fre[low], &row);
}

/* A branch from @from leads to @to. */
static void branch(struct reader *r, uint32_t from, int64_t to)
{
	struct rows *rows = r->rows;

	/* Other branches to it may know more. */
	if (from < r->code->body || to < 0 || to >= r->code->len ||
	    (frame_is_lost(&r->now) && r->now.ra_reg < 0 && r->now.copy == NOWHERE))
		return;
	if (!rows->at[to]) {
		if (to <= from && agrees(r, to))
			return;
		rows->at[to] = number_of(rows, &r->now);
		r->again |= to <= from;
	} else if (!same_frame(&rows->frames[rows->at[to] - 1], &r->now)) {
		rows->disagree++;
	}
}

/* The frame at @off, if the previous instruction does not continue there. */
static void arrive(struct reader *r, uint32_t off)
{
	const struct code *code = r->code;
	enum code_state state = code->otherwise;

	if (off < code->body)
		state = STATE_LOST;

	/* A method of the interpreter has not made its frame yet. */
	if (state == STATE_INTERPRETED && !r->interpreted)
		state = STATE_LOST;
	frame_begin(&r->now, state, code->frame_size);
}

/* Begins a row at @off, unless the last one is still right. */
static int begin_row(struct reader *r, uint32_t off)
{
	struct code_jit_unwind_fre row;
	struct rows *rows = r->rows;

	if (rows->nr && same_frame(&r->last, &r->now))
		return 0;
	r->last = r->now;
	frame_row(&r->now, r->code->by_sp, &row);
	row.ip_off = off;
	row.size = 0;
	if (rows->nr && same_rule(&rows->fre[rows->nr - 1], &row))
		return 0;
	if (grow((void **)&rows->fre, &rows->max, rows->nr + 1, sizeof(row)))
		return -ENOMEM;
	rows->fre[rows->nr++] = row;

	return 0;
}

/* Instructions that frame_step() does not know. */
static void step_unusual(struct reader *r, uint32_t off, const struct frame *before,
			 const struct insn *insn)
{
	if (r->code->any_fp && insn->may_write_fp && same_frame(before, &r->now) &&
	    insn_writes_fp(r->bytes + off, r->code->len - off))
		frame_overwrite_fp(&r->now);
}

/* Reads instructions from @off up to the next possible change of the frame; returns their size. */
static uint32_t read_some(struct reader *r, uint32_t off, bool *ended)
{
	const struct code *code = r->code;
	uint32_t start = off, end = off < code->body ? code->body : code->len;
	/* Unlike methods, stubs move the return address. */
	bool moves = code->any_fp || r->now.ra_reg >= 0;
	struct frame before = r->now;
	struct insn insn;

	do {
		if (!insn_decode(r->bytes + off, code->len - off, moves, &insn)) {
			*ended = true;
			return off + 1 - start;
		}
		if (insn.plain)
			r->now.made = 0;
		if (insn.leads)
			branch(r, off, (int64_t)off + insn.len + insn.number);
		off += insn.len;
	} while (insn.plain && !insn.ends && off < end && !r->rows->at[off] &&
		 off != code->osr_entry);
	*ended = insn.ends;
	if (!insn.plain) {
		frame_step(&r->now, &insn);
		step_unusual(r, off - insn.len, &before, &insn);
		r->interpreted |= r->now.interpreted;
	}

	return off - start;
}

static int read_all(struct reader *r)
{
	const struct code *code = r->code;
	struct rows *rows = r->rows;
	uint32_t off, len;
	bool ended = false;

	rows->nr = 0;
	rows->disagree = 0;
	r->again = false;
	r->interpreted = code->begin == STATE_INTERPRETED;
	frame_begin(&r->now, code->begin, code->frame_size);
	for (off = 0; off < code->len; off += len) {
		int ret;

		if (off && off == code->body)
			arrive(r, off);
		else if (rows->at[off])
			r->now = rows->frames[rows->at[off] - 1];
		else if (off && off == code->osr_entry)
			frame_begin(&r->now, STATE_CALLED, 0);
		else if (ended)
			arrive(r, off);
		/* The row is for the state before the instruction. */
		ret = begin_row(r, off);
		if (ret)
			return ret;
		len = read_some(r, off, &ended);
		if (off < code->body && len > code->body - off)
			len = code->body - off;
		rows->fre[rows->nr - 1].size += len;
	}

	return 0;
}

int rows_of(struct rows *rows, const struct code *code)
{
	struct reader r = {
		.rows = rows,
		.code = code,
		.bytes = (const uint8_t *)(uintptr_t)code->start,
	};
	unsigned int times = MAX_TIMES;
	int ret;

	ret = grow((void **)&rows->at, &rows->max_at, code->len, sizeof(*rows->at));
	if (ret)
		return ret;
	memset(rows->at, 0, code->len * sizeof(*rows->at));
	rows->nr_frames = 0;
	do {
		ret = read_all(&r);
	} while (!ret && r.again && --times);

	return ret;
}

void rows_free(struct rows *rows)
{
	free(rows->fre);
	free(rows->frames);
	free(rows->at);
	*rows = (struct rows){ 0 };
}

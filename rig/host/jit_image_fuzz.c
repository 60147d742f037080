// SPDX-License-Identifier: GPL-2.0
/*
 * libFuzzer target for the reader of the tables of compiled code
 *
 * The input is memory with tables, initially as libcodectl writes them.  Every address
 * is looked up.  If the chain follows the rules for the writer, the result must be that
 * of a linear search.
 */
#include <linux/errno.h>
#include <linux/uaccess.h>
#include <sys/mman.h>

#include "jit.h"
#include "jit_image.h"

#define ROW_LEN		sizeof(struct code_jit_unwind_fre)
#define TABLE_LEN	sizeof(struct code_jit_unwind_table)
/* Two tries of a whole chain, each with a bisection and the row. */
#define MAX_LOADS	(2 * CODE_JIT_MAX_TABLES * (32 + 16))
/* A budget that is never used up. */
#define MAX_STEPS	(2 * (CODE_JIT_MAX_TABLES + 32))
#define MOST_STEPS	(MAX_STEPS + 1)

struct user_arena user_arena;

struct truth {
	const struct code_jit_unwind_fre *row[JIT_IMAGE_TEXT];
	bool descending;
	u64 low;		/* the next row starts here or above */
	u64 high;		/* and ends here or below */
};

static void require(bool ok)
{
	if (!ok)
		abort();
}

static bool note_row(struct truth *truth, const struct code_jit_unwind_fre *row)
{
	u64 start = row->ip_off, end = start + row->size, off;

	if (start < truth->low || end > truth->high)
		return false;
	if (truth->descending)
		truth->high = start;
	else
		truth->low = end;
	/* Retired rows must not share addresses, either. */
	if (!row->size) {
		truth->low += !truth->descending;
		truth->high -= truth->descending && truth->high;
	}
	for (off = start; off < end && off < JIT_IMAGE_TEXT; off++)
		truth->row[off] = row;

	return true;
}

/* May a writer produce this chain?  Fills in what covers what. */
static bool note_chain(struct truth *truth, unsigned long at)
{
	const struct code_jit_unwind_table *table;
	unsigned int nr;
	u64 i, rows;

	for (nr = 0; at; nr++, at = table->next) {
		if (nr == CODE_JIT_MAX_TABLES || at % sizeof(u64) ||
		    !user_range_ok(at, TABLE_LEN))
			return false;
		table = (const void *)at;
		if (table->used_len > table->reserved_len ||
		    table->used_len % ROW_LEN || !table->used_len ||
		    !user_range_ok(at + TABLE_LEN, table->used_len))
			return false;
		rows = table->used_len / ROW_LEN;
		for (i = 0; i < rows; i++) {
			if (!note_row(truth, &table->fre[i]))
				return false;
		}
	}

	return true;
}

static void check_right(const struct jit_unwind *jit, int ret,
			const struct code_jit_unwind_fre *fre,
			const struct code_jit_unwind_fre *row)
{
	if (!row) {
		require(jit->flags & CODE_JIT_DEFAULT_RULE ? !ret :
							     ret == -ENODATA);
		return;
	}
	require(!ret && fre->ip_off == row->ip_off && fre->size == row->size);
	if (!jit_fre_known(row)) {
		require(fre->info == CODE_FRE_UNKNOWN);
		return;
	}
	require(fre->info == row->info && fre->cfa_off == row->cfa_off &&
		fre->ra_off == row->ra_off && fre->fp_off == row->fp_off);
}

/* A row that was found is no longer valid if any of it has changed, or cannot be read. */
static void check_remains(const struct jit_unwind *jit,
			  const struct jit_place *place)
{
	u32 *size = (u32 *)(place->row +
			    offsetof(struct code_jit_unwind_fre, size));
	struct user_arena arena = user_arena;
	struct code_jit_unwind_fre fre;
	u32 was = *size;

	require(jit_row_remains(place->row, jit->seq, place->seq, &fre));
	require(!jit->seq ||
		!jit_row_remains(place->row, jit->seq, place->seq + 2, &fre));
	*size = 0;
	require(!jit_row_remains(place->row, jit->seq, place->seq, &fre));
	*size = was;
	user_arena.fault = (unsigned long)size;
	require(!jit_row_remains(place->row, jit->seq, place->seq, &fre));
	user_arena.end = place->row;
	require(!jit_row_remains(place->row, jit->seq, place->seq, &fre));
	user_arena = arena;
}

/* A row of which a word cannot be read gives no rule. */
static void check_faults(const struct jit_unwind *jit,
			 const struct jit_place *place, u32 off)
{
	struct user_arena arena = user_arena;
	struct code_jit_unwind_fre fre;
	unsigned long at;

	for (at = 0; at < ROW_LEN; at += sizeof(u64)) {
		user_arena.fault = place->row + at;
		require(jit_find(jit, off, &fre) == -EFAULT);
	}
	user_arena = arena;
}

static void try_address(const struct jit_unwind *jit, const struct truth *truth,
			u32 off)
{
	struct code_jit_unwind_fre fre;
	unsigned int budget = MOST_STEPS;
	struct jit_place place;
	int ret;

	user_arena.loads = 0;
	ret = jit_find_place(jit, off, &fre, &place, &budget);
	require(budget >= MOST_STEPS - MAX_STEPS);
	require(user_arena.window_start == user_arena.window_end);
	require(user_arena.loads <= MAX_LOADS);
	require(!ret || ret == -ENODATA || ret == -EFAULT || ret == -EAGAIN ||
		ret == -EINVAL);
	if (!ret)
		require(off - fre.ip_off < fre.size &&
			(fre.info == CODE_FRE_UNKNOWN || jit_fre_known(&fre)));
	if (!ret && place.row) {
		check_remains(jit, &place);
		check_faults(jit, &place, off);
	}
	if (truth)
		check_right(jit, ret, &fre, truth->row[off]);
}

static void *map_memory(void)
{
	void *mem = mmap((void *)JIT_IMAGE_BASE, JIT_IMAGE_MAX,
			 PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS |
			 MAP_FIXED_NOREPLACE, -1, 0);

	require(mem == (void *)JIT_IMAGE_BASE);

	return mem;
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct truth truth = { .high = 1UL << 32 };
	struct jit_unwind jit = {};
	struct jit_image image;
	static void *mem;
	bool right;
	u32 off;

	if (!mem)
		mem = map_memory();
	if (size < sizeof(image) || size - sizeof(image) > JIT_IMAGE_MAX)
		return 0;
	memcpy(&image, data, sizeof(image));
	size -= sizeof(image);
	memcpy(mem, data + sizeof(image), size);
	user_arena.start = JIT_IMAGE_BASE;
	user_arena.end = JIT_IMAGE_BASE + size;
	user_arena.fault = user_arena.end - image.fault % (size + 1);

	jit.head = JIT_IMAGE_BASE + image.head / sizeof(u64) * sizeof(u64);
	if (image.seq)
		jit.seq = JIT_IMAGE_BASE + image.seq / sizeof(u32) * sizeof(u32);
	jit.flags = image.flags;
	jit.rule = image.rule;
	jit.rule.info = CODE_FRE_OUTERMOST;
	memset(jit.rule.__reserved, 0, sizeof(jit.rule.__reserved));

	truth.descending = jit.flags & CODE_JIT_DESCENDING;
	right = !jit.seq && user_arena.fault == user_arena.end &&
		note_chain(&truth, jit.head);
	for (off = 0; off < JIT_IMAGE_TEXT; off++)
		try_address(&jit, right ? &truth : NULL, off);

	return 0;
}

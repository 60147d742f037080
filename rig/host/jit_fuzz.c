// SPDX-License-Identifier: GPL-2.0
/*
 * libFuzzer target for the reader of the tables of compiled code
 *
 * The input is a recipe for a chain of tables, in which anything can be right or wrong.
 * Every address is looked up.  A load outside of the tables ends the run; so does a
 * lookup with too many loads or, where all tables are right, one whose result differs
 * from that of a linear search.
 */
#include <linux/errno.h>
#include <linux/uaccess.h>

#include "fuzz_input.h"
#include "jit.h"

#define TEXT_LEN	256
#define MAX_TABLES	80
#define MAX_ROWS	16
#define ARENA_LEN	(MAX_TABLES * sizeof(struct slot))
/* Two tries of a whole chain, each with a bisection and the row. */
#define MAX_LOADS	(2 * CODE_JIT_MAX_TABLES * (32 + 16))

struct user_arena user_arena;

struct slot {
	struct code_jit_unwind_table table;
	struct code_jit_unwind_fre rows[MAX_ROWS];
};

struct chain {
	struct jit_unwind jit;
	struct slot *slots;
	u32 at;			/* where the next row starts, or ends */
	bool right;
	/* Row that covers each address. */
	const struct code_jit_unwind_fre *truth[TEXT_LEN];
};

/* Rows are consecutive unless the input says otherwise. */
static void make_row(struct input *in, struct chain *chain,
		     struct code_jit_unwind_fre *row)
{
	bool descending = chain->jit.flags & CODE_JIT_DESCENDING;
	u32 gap = next_byte(in) % 32, size = next_byte(in) % 32, i;
	u8 kind = next_byte(in);

	*row = (struct code_jit_unwind_fre) {
		.size = size,
		.cfa_off = (s8)kind,
		.info = next_byte(in),
		.__reserved[2] = kind == 0xff,
	};
	if (kind == 0x80) {
		row->ip_off = next_word(in);
		row->size = next_word(in);
		chain->right = false;
		return;
	}

	/* At least one byte further: a chain has to make progress. */
	if (descending) {
		gap += !gap + size;
		if (gap > chain->at)
			chain->right = false;
		row->ip_off = chain->at - gap;
		chain->at -= gap;
	} else {
		row->ip_off = chain->at + gap;
		chain->at += gap + size + !size;
	}
	for (i = row->ip_off; i < TEXT_LEN && i - row->ip_off < size; i++)
		chain->truth[i] = row;
}

static void make_table(struct input *in, struct chain *chain, unsigned int nr,
		       unsigned int tables)
{
	struct slot *slot = &chain->slots[nr];
	unsigned int rows = 1 + next_byte(in) % MAX_ROWS, i;
	u8 kind = next_byte(in);

	for (i = 0; i < rows; i++)
		make_row(in, chain, &slot->rows[i]);
	slot->table.reserved_len = sizeof(slot->rows);
	slot->table.used_len = rows * sizeof(*slot->rows);
	if (nr + 1 < tables)
		slot->table.next = (unsigned long)&chain->slots[nr + 1];

	if (kind & 0x80) {
		chain->right = false;
		if (kind & 1)
			slot->table.used_len = next_word(in);
		if (kind & 2)
			slot->table.reserved_len = next_word(in);
		if (kind & 4)
			slot->table.next = next_word(in);
		if (kind & 8)
			slot->table.next = (unsigned long)chain->slots +
				next_word(in) % ARENA_LEN;
		if (kind & 16)
			slot->table.next = (unsigned long)
				&chain->slots[next_byte(in) % MAX_TABLES];
	}
}

static void make_chain(struct input *in, struct chain *chain)
{
	unsigned int tables = next_byte(in) % (MAX_TABLES + 1), i;
	static u32 seq;

	chain->jit.flags = next_byte(in) & (CODE_JIT_DEFAULT_RULE |
					    CODE_JIT_DESCENDING);
	chain->jit.rule = (struct code_jit_unwind_fre) { .cfa_off = 0x1000 };
	chain->right = tables <= CODE_JIT_MAX_TABLES;
	if (chain->jit.flags & CODE_JIT_DESCENDING)
		chain->at = TEXT_LEN;
	if (tables)
		chain->jit.head = (unsigned long)chain->slots;
	for (i = 0; i < tables; i++)
		make_table(in, chain, i, tables);

	switch (next_byte(in)) {
	case 1:		/* after the arena */
		chain->jit.seq = (unsigned long)&seq;
		chain->right = false;
		break;
	case 2:		/* as even or odd as the row before it */
		chain->jit.seq = (unsigned long)&chain->slots[0].rows[1].size;
		chain->right = false;
		break;
	case 3:
		user_arena.fault -= next_word(in) % ARENA_LEN;
		chain->right = false;
	}
}

static void try_address(const struct chain *chain, u32 off)
{
	const struct code_jit_unwind_fre *truth = chain->truth[off];
	struct code_jit_unwind_fre fre;
	int ret;

	user_arena.loads = 0;
	ret = jit_find(&chain->jit, off, &fre);
	require(user_arena.window_start == user_arena.window_end);
	require(user_arena.loads <= MAX_LOADS);
	require(!ret || ret == -ENODATA ||
		(!chain->right && (ret == -EFAULT || ret == -EAGAIN ||
				    ret == -EINVAL)));
	require(ret != -ENODATA || !(chain->jit.flags & CODE_JIT_DEFAULT_RULE));
	if (!ret) {
		require(off - fre.ip_off < fre.size);
		require(fre.info == CODE_FRE_UNKNOWN || jit_fre_known(&fre));
	}
	if (!chain->right)
		return;

	if (!truth) {
		require(ret == -ENODATA || fre.cfa_off == 0x1000);
		return;
	}
	require(!ret && fre.ip_off == truth->ip_off && fre.size == truth->size);
	require(fre.cfa_off == truth->cfa_off);
	require(fre.info == (jit_fre_known(truth) ? truth->info :
						    CODE_FRE_UNKNOWN));
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct input in = { data, data + size };
	struct chain chain = {};
	u32 off;

	chain.slots = calloc(1, ARENA_LEN);
	require(chain.slots);
	user_arena.start = (unsigned long)chain.slots;
	user_arena.end = user_arena.start + ARENA_LEN;
	user_arena.fault = user_arena.end;

	make_chain(&in, &chain);
	for (off = 0; off < TEXT_LEN; off++)
		try_address(&chain, off);
	free(chain.slots);

	return 0;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * libFuzzer target for the reader of granule maps
 *
 * The input is a recipe for functions and their records, in which anything can be right
 * or wrong.  Every address is looked up.  A load outside of slots and pool ends the
 * run; so does a lookup with too many loads or, where all is right, one whose result
 * differs from that of a linear search.
 */
#include <linux/errno.h>
#include <linux/minmax.h>
#include <linux/uaccess.h>

#include "fuzz_input.h"
#include "granules.h"

#define NR_SLOTS	64
#define POOL_LEN	8192
#define MAX_ROWS	8
#define RECORD_LEN(rows)						\
	(sizeof(struct code_jit_record) +				\
	 (rows) * sizeof(struct code_jit_unwind_fre))
/* Two tries of a record, each with a bisection and the row. */
#define MAX_LOADS	(2 * (32 + 16))

struct user_arena user_arena;

struct arena {
	u32 slots[NR_SLOTS];
	u8 pool[POOL_LEN];
};

/* What to expect at an address: the rule, identified by code_id and cfa_off. */
struct truth {
	bool covered;
	u64 code_id;
	s32 cfa_off;
};

struct map {
	struct jit_unwind jit;
	struct arena *arena;
	struct truth *truth;
	u32 text_len;
	u32 at;			/* granule where the next function may be */
	u32 used;		/* of the pool */
	bool right;
};

/* Rows follow one another from the start of the function, and may end after it. */
static void make_rows(struct input *in, struct map *map,
		      struct code_jit_record *record)
{
	u32 at = record->start, end = record->start + record->len, i, off;
	struct code_jit_unwind_fre *row;

	for (i = 0; i < record->nr; i++) {
		row = &record->fre[i];
		at += next_byte(in) % 8;
		*row = (struct code_jit_unwind_fre) {
			.ip_off = at,
			.size = next_byte(in) % 32,
			.cfa_off = i + 1,
			.info = next_byte(in),
		};
		at += row->size + !row->size;
		for (off = row->ip_off; off < min(at, end) &&
		     off - row->ip_off < row->size; off++) {
			map->truth[off].covered = true;
			map->truth[off].cfa_off = row->cfa_off;
		}
	}
}

static void spoil_record(struct input *in, struct map *map,
			 struct code_jit_record *record, u8 kind)
{
	map->right = false;
	if (kind & 1)
		record->seq = next_word(in);
	if (kind & 2)
		record->start = next_word(in);
	if (kind & 4)
		record->len = next_word(in);
	if (kind & 8)
		record->nr = next_word(in);
	if (kind & 16 && record->nr)
		record->fre[0].ip_off = next_word(in);
}

static void make_function(struct input *in, struct map *map)
{
	const u32 granule = 1U << map->jit.shift;
	u32 first = map->at + next_byte(in) % 4, rows = next_byte(in) % MAX_ROWS;
	u32 granules = 1 + next_byte(in) % 4, len, i;
	struct code_jit_record *record;
	u8 kind = next_byte(in);

	len = granules * granule - next_byte(in) % granule;
	if (first + granules > NR_SLOTS ||
	    map->used + RECORD_LEN(rows) > POOL_LEN)
		return;
	record = (void *)&map->arena->pool[map->used];
	record->seq = 2 * kind;
	record->start = first * granule;
	record->len = len;
	record->nr = rows;
	record->code_id = first + 1;
	for (i = record->start; i < record->start + len; i++)
		map->truth[i].code_id = record->code_id;
	make_rows(in, map, record);
	for (i = first; i < first + granules; i++)
		map->arena->slots[i] = map->used / CODE_JIT_RECORD_ALIGN;
	map->used += RECORD_LEN(rows);
	map->at = first + granules;
	if (kind & 0x80)
		spoil_record(in, map, record, kind);
}

static void make_map(struct input *in, struct map *map)
{
	unsigned int functions = next_byte(in) % 32;
	u8 kind = next_byte(in);

	map->jit = (struct jit_unwind) {
		.flags = CODE_JIT_GRANULES | (kind & CODE_JIT_DEFAULT_RULE),
		.rule.cfa_off = 0x1000,
		.nr_slots = NR_SLOTS,
		.slots = (unsigned long)map->arena->slots,
		.pool = (unsigned long)map->arena->pool,
		.pool_len = POOL_LEN,
		.shift = CODE_JIT_MIN_SHIFT + kind / 2 % 2,
	};
	map->text_len = NR_SLOTS << map->jit.shift;
	map->truth = calloc(map->text_len, sizeof(*map->truth));
	require(map->truth);
	map->right = true;
	map->used = CODE_JIT_RECORD_ALIGN;
	while (functions--)
		make_function(in, map);

	if (kind & 0x80) {
		map->right = false;
		map->arena->slots[next_byte(in) % NR_SLOTS] = next_word(in);
		map->arena->slots[next_byte(in) % NR_SLOTS] =
			next_word(in) % (POOL_LEN / CODE_JIT_RECORD_ALIGN);
	}
	if (kind & 0x40) {
		map->right = false;
		map->jit.pool_len = sizeof(struct code_jit_record) +
				    next_word(in) % (POOL_LEN - 64);
	}
	if (kind & 0x20) {
		map->right = false;
		user_arena.fault -= next_word(in) % sizeof(struct arena);
	}
}

static void try_code_id(const struct map *map, u32 off)
{
	u64 id = 0;
	int ret;

	user_arena.loads = 0;
	ret = jit_find_code_id(&map->jit, off, &id);
	require(user_arena.window_start == user_arena.window_end);
	require(user_arena.loads <= MAX_LOADS);
	if (map->right && map->truth[off].code_id)
		require(!ret && id == map->truth[off].code_id);
	else if (map->right)
		require(ret == -ENODATA);
}

/* A row that was found remains valid, since nothing has changed. */
static void try_row(const struct map *map, u32 off, const struct truth *truth)
{
	struct code_jit_unwind_fre fre;
	unsigned int budget = ~0U;
	struct jit_place place;

	if (jit_find_place(&map->jit, off, &fre, &place, &budget) || !place.row)
		return;
	user_arena.loads = 0;
	if (jit_granule_remains(&map->jit, off, place.row, place.seq, &fre))
		require(!map->right || fre.cfa_off == truth->cfa_off);
	else
		require(!map->right);
	require(user_arena.window_start == user_arena.window_end);
	require(user_arena.loads <= MAX_LOADS);
}

static void try_address(const struct map *map, u32 off)
{
	const struct truth *truth = &map->truth[off];
	struct code_jit_unwind_fre fre;
	int ret;

	user_arena.loads = 0;
	ret = jit_find(&map->jit, off, &fre);
	require(user_arena.window_start == user_arena.window_end);
	require(user_arena.loads <= MAX_LOADS);
	require(!ret || ret == -ENODATA ||
		(!map->right && (ret == -EFAULT || ret == -EAGAIN ||
				 ret == -EINVAL)));
	require(ret != -ENODATA || !(map->jit.flags & CODE_JIT_DEFAULT_RULE));
	if (!ret) {
		require(off - fre.ip_off < fre.size);
		require(fre.info == CODE_FRE_UNKNOWN || jit_fre_known(&fre));
	}
	try_row(map, off, truth);
	if (!map->right)
		return;

	if (truth->covered)
		require(!ret && fre.cfa_off == truth->cfa_off);
	else
		require(ret == -ENODATA || fre.cfa_off == 0x1000);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct input in = { data, data + size };
	struct map map = {};
	u32 off;

	map.arena = calloc(1, sizeof(*map.arena));
	require(map.arena);
	user_arena.start = (unsigned long)map.arena;
	user_arena.end = user_arena.start + sizeof(*map.arena);
	user_arena.fault = user_arena.end;

	make_map(&in, &map);
	for (off = 0; off < map.text_len; off++) {
		try_address(&map, off);
		try_code_id(&map, off);
	}
	free(map.truth);
	free(map.arena);

	return 0;
}

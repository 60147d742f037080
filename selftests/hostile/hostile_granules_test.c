// SPDX-License-Identifier: GPL-2.0
/*
 * Granule maps that are wrong, under a live sampler: a stack may be short, the walk
 * ends, and no address of the kernel's is ever recorded.
 */
#include <limits.h>

#include "granule_map.h"
#include "hostile_fixture.h"

#define SHIFT 4
#define SAMPLED_RUNS 40
/* What is said of the body's row holds for both walks. */
#define BODY_ROW 2

#define MAP_PARTS							\
	struct granule_map map = stub_granules(s, SHIFT);		\
	jit_record *r HOSTILE_UNUSED =					\
		(void *)(map.pool + CODE_JIT_RECORD_ALIGN)

#define HOSTILE(name, wanted, ...)					\
	HOSTILE_PARTS(name, wanted, MAP_PARTS, __VA_ARGS__)

static void set_slots(const struct granule_map *map, uint32_t slot)
{
	for (int i = 0; i < STUB_SIZE >> SHIFT; i++)
		map->slots[i] = slot;
}

HOSTILE(nothing_wrong, WHOLE, r->code_id = -1UL);
HOSTILE(slots_0, SHORT, set_slots(&map, 0));
HOSTILE(slots_all_ones, SHORT, set_slots(&map, ~0U));
HOSTILE(slots_int_max, SHORT, set_slots(&map, INT_MAX));
HOSTILE(slots_at_the_end_of_the_pool, SHORT, set_slots(&map, map.room / 8));
HOSTILE(slots_at_the_last_record, SHORT, set_slots(&map, map.room / 8 - 3));
HOSTILE(slots_after_the_last_record, SHORT, set_slots(&map, map.room / 8 - 2));
HOSTILE(slots_amid_the_record, SHORT, set_slots(&map, 2));
HOSTILE(slots_at_a_row, SHORT, set_slots(&map, 4));
HOSTILE(slots_at_each_other, SHORT,
	for (int i = 0; i < STUB_SIZE >> SHIFT; i++)
		map.slots[i] = i + 1);
HOSTILE(slots_elsewhere_all_ones, WHOLE,
	for (int i = STUB_SIZE >> SHIFT; i < PAGE >> SHIFT; i++)
		map.slots[i] = ~0U);

HOSTILE(seq_1, SHORT, r->seq = 1);
HOSTILE(seq_all_ones, SHORT, r->seq = ~0U);
HOSTILE(seq_even_and_huge, WHOLE, r->seq = ~1U);
HOSTILE(start_all_ones, SHORT, r->start = ~0U);
HOSTILE(start_wraps, SHORT, r->start = ~0U; r->len = ~0U);
HOSTILE(len_0, SHORT, r->len = 0);
HOSTILE(len_all_ones, WHOLE, r->len = ~0U);
HOSTILE(nr_0, SHORT, r->nr = 0);
HOSTILE(nr_before_the_body, SHORT, r->nr = BODY_ROW);
HOSTILE(nr_one_more_than_room, SHORT,
	r->nr = (map.room - CODE_JIT_RECORD_ALIGN - sizeof(*r)) / 24 + 1);
HOSTILE(nr_all_the_room, SHORT,
	r->nr = (map.room - CODE_JIT_RECORD_ALIGN - sizeof(*r)) / 24);
HOSTILE(nr_int_max, SHORT, r->nr = INT_MAX);
HOSTILE(nr_all_ones, SHORT, r->nr = ~0U);
HOSTILE(nr_so_that_bytes_wrap, SHORT, r->nr = 0xaaaaaaab);

HOSTILE(rows_reversed, PREFIX, jit_rows_reverse(r->fre, STUB_ROWS));
HOSTILE(rows_swapped, PREFIX, jit_rows_reverse(&r->fre[1], 3));
HOSTILE(rows_at_0, LIES,
	for (int i = 0; i < STUB_ROWS; i++) {
		r->fre[i].ip_off = 0;
		r->fre[i].size = ~0U;
	});
HOSTILE(rows_endless, WHOLE,
	for (int i = 0; i < STUB_ROWS; i++)
		r->fre[i].size = ~0U);
HOSTILE(rows_elsewhere, SHORT,
	for (int i = 0; i < STUB_ROWS; i++)
		r->fre[i].ip_off += PAGE);
HOSTILE(rows_at_the_last_offset, SHORT,
	for (int i = 0; i < STUB_ROWS; i++) {
		r->fre[i].ip_off = ~0U;
		r->fre[i].size = ~0U;
	});
HOSTILE(rows_all_ones, SHORT, memset(r->fre, 0xff, STUB_ROWS * 24));
HOSTILE(record_all_ones, SHORT, memset(r, 0xff, sizeof(*r)));
HOSTILE(pool_all_0, SHORT, memset(map.pool, 0, map.room));
HOSTILE(pool_all_ones, SHORT, memset(map.pool, 0xff, map.room));
HOSTILE(all_ones, SHORT, memset(s->table, 0xff, s->table_room));

static void set_random(uint8_t *at, size_t len, unsigned int seed)
{
	for (size_t i = 0; i < len; i++) {
		seed = seed * 1103515245 + 12345;
		at[i] = seed >> 16;
	}
}

HOSTILE(random_slots, PREFIX,
	set_random((void *)map.slots, map.pool - (uint8_t *)map.slots, 1));
HOSTILE(random_pool, LIES, set_random(map.pool, map.room, 2));
HOSTILE(random_rows, LIES, set_random((void *)r->fre, STUB_ROWS * 24, 3));
HOSTILE(random_all, LIES, set_random(s->table, s->table_room, 4));

/* A row of the body that leads elsewhere. */
static void set_body(jit_record *r, int32_t cfa, int32_t ra)
{
	r->fre[BODY_ROW].cfa_off = cfa;
	r->fre[BODY_ROW].ra_off = ra;
}

HOSTILE(cfa_far_above, SHORT, set_body(r, INT_MAX, -8));
HOSTILE(cfa_far_below, SHORT, set_body(r, INT_MIN, -8));
HOSTILE(ra_far_above, SHORT, set_body(r, STUB_FRAME, INT_MAX));
HOSTILE(ra_far_below, SHORT, set_body(r, STUB_FRAME, INT_MIN));

TEST_F(hostile, map)
{
	struct granule_map map = stub_granules(&self->stub, SHIFT);
	struct code_jit_info info = stub_granule_info(&self->stub, &map);

	variant->change(&self->stub);
	ASSERT_EQ(0, register_jit(&info));
	check_both(_metadata, self, variant->verdict);
	check_samples(_metadata, self, SAMPLED_RUNS);
}

FIXTURE(places)
{
	FIXTURE_DATA(hostile) base;
	struct granule_map map;
	struct code_jit_info info;
};

FIXTURE_SETUP(places)
{
	REQUIRE_CODECTL();
	ASSERT_EQ(0, sampler_open_syscall(&self->base.marks, MARKER_NR));
	ASSERT_EQ(0, stub_map(&self->base.stub, 2));
	self->map = stub_granules(&self->base.stub, SHIFT);
	self->info = stub_granule_info(&self->base.stub, &self->map);
}

FIXTURE_TEARDOWN(places)
{
	sampler_close(&self->base.marks);
}

static void check_info(struct __test_metadata *_metadata,
		       FIXTURE_DATA(places) * self, enum verdict verdict)
{
	ASSERT_EQ(0, register_jit(&self->info));
	check_both(_metadata, &self->base, verdict);
	check_samples(_metadata, &self->base, SAMPLED_RUNS);
	ASSERT_EQ(0, unregister_text(self->info.text_start,
				     self->info.text_end));
}

TEST_F(places, slots_where_nothing_is)
{
	const uint64_t slots[] = { 4, PAGE, USER_END - PAGE, USER_END - 1024 };

	for (size_t i = 0; i < ARRAY_SIZE(slots); i++) {
		TH_LOG("slots at %lx", slots[i]);
		self->info.slots = slots[i];
		check_info(_metadata, self, SHORT);
	}
}

TEST_F(places, pool_where_nothing_is)
{
	const uint64_t pools[] = { 8, PAGE, USER_END - PAGE };

	self->info.pool_len = PAGE;
	for (size_t i = 0; i < ARRAY_SIZE(pools); i++) {
		TH_LOG("pool at %lx", pools[i]);
		self->info.pool = pools[i];
		check_info(_metadata, self, SHORT);
	}
}

/* Nothing of what is there needs to be a map. */
TEST_F(places, slots_and_pool_in_each_other)
{
	self->info.pool = self->info.slots;
	check_info(_metadata, self, SHORT);
	self->info.slots = self->info.pool;
	self->info.pool = addr_of(self->map.pool);
	check_info(_metadata, self, WHOLE);
	self->info.slots = self->info.pool;
	check_info(_metadata, self, PREFIX);
}

TEST_F(places, pool_that_ends_amid_the_record)
{
	const uint64_t record = CODE_JIT_RECORD_ALIGN + sizeof(jit_record);

	self->info.pool_len = record + STUB_ROWS * sizeof(jit_row);
	check_info(_metadata, self, WHOLE);
	self->info.pool_len--;
	check_info(_metadata, self, SHORT);
	self->info.pool_len = record;
	check_info(_metadata, self, SHORT);
	self->info.pool_len = record - 1;
	check_info(_metadata, self, SHORT);
	self->info.pool_len = record - CODE_JIT_RECORD_ALIGN;
	check_info(_metadata, self, SHORT);
}

/* The whole of user space from some address on. */
TEST_F(places, pool_without_an_end)
{
	self->info.pool_len = USER_END - self->info.pool;
	check_info(_metadata, self, WHOLE);
}

TEST_HARNESS_MAIN

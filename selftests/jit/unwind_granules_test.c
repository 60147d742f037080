// SPDX-License-Identifier: GPL-2.0
/*
 * Granule maps that are right: where functions and their rows are, and what comes,
 * goes and is used again.
 */
#include <sys/mman.h>

#include "granule_map.h"
#include "jit_table_fixture.h"

static void walk_map(struct __test_metadata *_metadata,
		     FIXTURE_DATA(table) * self, const struct granule_map *map,
		     unsigned int topmost, unsigned int below)
{
	const struct code_jit_info info = stub_granule_info(&self->stub, map);

	walk_region(_metadata, self, &info, topmost, below);
}

static struct granule_map empty_map(FIXTURE_DATA(table) * self,
				    unsigned int shift)
{
	memset(self->stub.table, 0, self->stub.table_room);
	return granule_map_init(self->stub.table, self->stub.table_room, PAGE,
				shift);
}

/* The stub with one row that covers all of it. */
static struct granule_map map_of(FIXTURE_DATA(table) * self, jit_row row)
{
	struct granule_map map = empty_map(self, 4);

	granule_map_add(&map, 0, STUB_SIZE, &row, 1);
	return map;
}

TEST_F(table, right_with_each_shift)
{
	for (unsigned int shift = 4; shift <= 12; shift++) {
		struct granule_map map = stub_granules(&self->stub, shift);

		TH_LOG("shift %u", shift);
		walk_map(_metadata, self, &map, COMPLETE, COMPLETE);
	}
}

TEST_F(table, empty)
{
	struct granule_map map = empty_map(self, 4);

	walk_map(_metadata, self, &map, NONE);
}

TEST_F(table, function_that_comes_goes_and_comes_again)
{
	struct granule_map map = empty_map(self, 6);
	struct code_jit_info info = stub_granule_info(&self->stub, &map);
	jit_row row[STUB_ROWS];
	jit_record *record;

	ASSERT_EQ(0, register_jit(&info));
	walk(_metadata, self, NONE);
	stub_jit_rows(row, 0);
	record = granule_map_add(&map, 0, STUB_SIZE, row, STUB_ROWS);
	ASSERT_NE(NULL, record);
	walk(_metadata, self, COMPLETE, COMPLETE);
	walk(_metadata, self, COMPLETE, COMPLETE);
	granule_map_store(&map, 0, STUB_SIZE, NULL);
	walk(_metadata, self, NONE);
	granule_map_store(&map, 0, STUB_SIZE, record);
	walk(_metadata, self, COMPLETE, COMPLETE);
}

/* What a walk has found is not what the next one goes by. */
TEST_F(table, record_used_again)
{
	struct granule_map map = map_of(self, (jit_row){ STUB_SIZE, 0, OUTERMOST });
	struct code_jit_info info = stub_granule_info(&self->stub, &map);
	jit_record *record = (void *)(map.pool + CODE_JIT_RECORD_ALIGN);

	ASSERT_EQ(0, register_jit(&info));
	for (int i = 0; i < 3; i++) {
		walk(_metadata, self, 1, 2);
		record->seq++;
		record->fre[0] = (jit_row){ STUB_SIZE, 0, BODY };
		record->seq++;
		walk(_metadata, self, COMPLETE, COMPLETE);
		record->seq++;
		walk(_metadata, self, NONE);
		record->fre[0] = (jit_row){ STUB_SIZE, 0, OUTERMOST };
		record->seq++;
	}
}

TEST_F(table, function_replaced)
{
	struct granule_map map = map_of(self, (jit_row){ STUB_SIZE, 0, OUTERMOST });
	struct code_jit_info info = stub_granule_info(&self->stub, &map);
	const jit_row row = { STUB_SIZE, 0, BODY };

	ASSERT_EQ(0, register_jit(&info));
	walk(_metadata, self, 1, 2);
	ASSERT_NE(NULL, granule_map_add(&map, 0, STUB_SIZE, &row, 1));
	walk(_metadata, self, COMPLETE, COMPLETE);
}

/* Rows say nothing before and after their function. */
TEST_F(table, function_is_less_than_its_rows)
{
	const unsigned int marker = self->stub.marker_off;
	const unsigned int call = self->stub.call_off;
	const jit_row row = { PAGE, 0, BODY };
	struct granule_map map = empty_map(self, 6);

	ASSERT_LT(call, marker);
	granule_map_add(&map, 0, marker, &row, 1);
	walk_map(_metadata, self, &map, 1, COMPLETE);
	granule_map_add(&map, 0, marker + 1, &row, 1);
	walk_map(_metadata, self, &map, COMPLETE, COMPLETE);
	/* What returns there was called before. */
	granule_map_add(&map, call, STUB_SIZE - call, &row, 1);
	walk_map(_metadata, self, &map, COMPLETE, 2);
	granule_map_add(&map, call - 1, STUB_SIZE - call + 1, &row, 1);
	walk_map(_metadata, self, &map, COMPLETE, COMPLETE);
}

/* Two functions, in order of their records or not. */
TEST_F(table, functions_in_any_order)
{
	const jit_row first = { 16, 0, OUTERMOST };
	const jit_row rest = { STUB_SIZE - 16, 16, BODY };
	struct granule_map map = empty_map(self, 4);

	granule_map_add(&map, 16, STUB_SIZE - 16, &rest, 1);
	granule_map_add(&map, 0, 16, &first, 1);
	walk_map(_metadata, self, &map,
		 self->stub.marker_off >= 16 ? COMPLETE : 1,
		 self->stub.call_off > 16 ? COMPLETE : 2);
	map = empty_map(self, 4);
	granule_map_add(&map, 0, 16, &first, 1);
	granule_map_add(&map, 16, STUB_SIZE - 16, &rest, 1);
	walk_map(_metadata, self, &map,
		 self->stub.marker_off >= 16 ? COMPLETE : 1,
		 self->stub.call_off > 16 ? COMPLETE : 2);
}

TEST_F(table, gap_between_rows)
{
	const unsigned int marker = self->stub.marker_off;
	const jit_row rows[] = {
		{ marker, 0, BODY },
		{ STUB_SIZE - marker - 1, marker + 1, BODY },
	};
	struct granule_map map = empty_map(self, 4);

	granule_map_add(&map, 0, STUB_SIZE, rows, 2);
	walk_map(_metadata, self, &map, 1, COMPLETE);
}

/* It is what holds where no function is, until one is there. */
TEST_F(table, default_rule)
{
	struct granule_map map = empty_map(self, 4);
	struct code_jit_info info = stub_granule_info(&self->stub, &map);
	const struct code_jit_info rule = with_default(&self->stub);
	const jit_row row = { STUB_SIZE, 0, OUTERMOST };

	info.jit_flags |= CODE_JIT_DEFAULT_RULE;
	info.cfa_off = rule.cfa_off;
	info.ra_off = rule.ra_off;
	info.fp_off = rule.fp_off;
	info.info = rule.info;
	ASSERT_EQ(0, register_jit(&info));
	walk(_metadata, self, COMPLETE, COMPLETE);
	walk(_metadata, self, COMPLETE, COMPLETE);
	ASSERT_NE(NULL, granule_map_add(&map, 0, STUB_SIZE, &row, 1));
	walk(_metadata, self, 1, 2);
	granule_map_store(&map, 0, STUB_SIZE, NULL);
	walk(_metadata, self, COMPLETE, COMPLETE);
}

/* Slots of a large text take memory where there are functions only. */
TEST_F(table, far_into_four_gib)
{
	const uint64_t len = CODE_JIT_MAX_TEXT, at = len - PAGE;
	const size_t slots = len / 16 * 4;
	uint8_t *text = mmap(NULL, len, PROT_NONE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	uint8_t *mem = mmap(NULL, slots + PAGE, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	struct granule_map map;
	struct code_jit_info info;
	jit_row row[STUB_ROWS];

	ASSERT_NE(MAP_FAILED, text);
	ASSERT_NE(MAP_FAILED, mem);
	ASSERT_EQ(0, stub_text_at(&self->stub, text + at));
	map = granule_map_init(mem, slots + PAGE, len, 4);
	stub_jit_rows(row, at);
	ASSERT_NE(NULL, granule_map_add(&map, at, STUB_SIZE, row, STUB_ROWS));
	info = stub_granule_info(&self->stub, &map);
	info.text_start = addr_of(text);
	info.text_end = addr_of(text) + len;
	walk_region(_metadata, self, &info, COMPLETE, COMPLETE);
	munmap(mem, slots + PAGE);
}

TEST_HARNESS_MAIN

// SPDX-License-Identifier: GPL-2.0
/*
 * Tables of compiled code that are right: every kind of row and default rule,
 * gaps, and seq.
 */
#include "jit_table_fixture.h"

/* With the stub's page for a region. */
static void walk_stub(struct __test_metadata *_metadata,
		      FIXTURE_DATA(table) * self, unsigned int topmost,
		      unsigned int below)
{
	const struct code_jit_info info = stub_jit_info(&self->stub);

	walk_region(_metadata, self, &info, topmost, below);
}

TEST_F(table, right)
{
	stub_jit_table(&self->stub);
	walk_stub(_metadata, self, COMPLETE, COMPLETE);
}

TEST_F(table, empty)
{
	table_of(self, NULL, 0);
	walk_stub(_metadata, self, NONE);
}

TEST_F(table, rows_that_come_later)
{
	jit_table *t = table_of(self, NULL, 0);
	jit_row row[STUB_ROWS];

	stub_jit_rows(row, 0);
	ASSERT_EQ(0, stub_register_jit(&self->stub));
	walk(_metadata, self, NONE);
	ASSERT_EQ(0, jit_table_append(t, row, STUB_ROWS));
	walk(_metadata, self, COMPLETE, COMPLETE);
}

TEST_F(table, switched_off)
{
	stub_jit_table(&self->stub);
	ASSERT_EQ(0, stub_register_jit(&self->stub));
	EXPECT_EQ(0, sysctl_write("kernel/codectl", 0));
	stub_run(&self->stub, NULL);
	EXPECT_EQ(0, sysctl_write("kernel/codectl", 1));
	ASSERT_TRUE(sampler_next(&self->sampler, &self->stack));
	EXPECT_EQ(1, self->stack.nr);
	walk(_metadata, self, COMPLETE, COMPLETE);
}

/* Rows and the address: exact when topmost, a return address below. */
TEST_F(table, row_at_the_address)
{
	uint32_t at = self->stub.marker_off;
	const jit_row rows[] = { { at, 0, OUTERMOST },
				 { STUB_SIZE - at, at, BODY } };

	table_of(self, rows, 2);
	walk_stub(_metadata, self, COMPLETE, 2);
}

TEST_F(table, row_after_the_address)
{
	uint32_t at = self->stub.marker_off + 1;
	const jit_row rows[] = { { at, 0, BODY },
				 { STUB_SIZE - at, at, OUTERMOST } };

	table_of(self, rows, 2);
	walk_stub(_metadata, self, COMPLETE, COMPLETE);
}

TEST_F(table, row_after_the_call)
{
	uint32_t at = self->stub.call_off;
	const jit_row rows[] = { { at, 0, BODY },
				 { STUB_SIZE - at, at, OUTERMOST } };

	table_of(self, rows, 2);
	walk_stub(_metadata, self, 1, COMPLETE);
}

/* One byte is covered, or all but one are. */
TEST_F(table, rows_of_one_byte)
{
	const jit_row marker = { 1, self->stub.marker_off, BODY };
	const jit_row call = { 1, self->stub.call_off - 1, BODY };

	table_of(self, &marker, 1);
	walk_stub(_metadata, self, COMPLETE, 2);
	table_of(self, &call, 1);
	walk_stub(_metadata, self, 1, COMPLETE);
}

/* A gap is a gap: before, between and after rows. */
TEST_F(table, gaps)
{
	uint32_t marker = self->stub.marker_off, call = self->stub.call_off;
	const jit_row around_marker[] = {
		{ marker, 0, BODY },
		{ STUB_SIZE - marker - 1, marker + 1, BODY },
	};
	const jit_row around_call[] = {
		{ call - 1, 0, BODY },
		{ STUB_SIZE - call, call, BODY },
	};

	table_of(self, around_marker, 1);
	walk_stub(_metadata, self, 1, COMPLETE);
	table_of(self, around_marker, 2);
	walk_stub(_metadata, self, 1, COMPLETE);
	table_of(self, around_call, 2);
	walk_stub(_metadata, self, COMPLETE, 2);
	table_of(self, around_marker + 1, 1);
	walk_stub(_metadata, self, NONE);
}

/* The region's first byte, and its last one, may be covered or not. */
TEST_F(table, region_ends_at_the_function)
{
	struct code_jit_info info = stub_jit_info(&self->stub);
	jit_row row = { self->stub.marker_off + 1, 0, BODY };

	info.text_end = info.text_start + row.size;
	table_of(self, &row, 1);
	walk_region(_metadata, self, &info, COMPLETE, COMPLETE);
	row.size = ~0U;
	table_of(self, &row, 1);
	walk_region(_metadata, self, &info, COMPLETE, COMPLETE);
}

/* Outside the region its rows say nothing. */
TEST_F(table, rows_beyond_the_region)
{
	struct code_jit_info info = stub_jit_info(&self->stub);
	const jit_row row = { STUB_SIZE, 0, BODY };

	info.text_end = info.text_start + self->stub.marker_off;
	table_of(self, &row, 1);
	walk_region(_metadata, self, &info, 1, COMPLETE);
}

/* The region starts with the instruction, and offsets with it. */
TEST_F(table, region_starts_inside_a_page)
{
	struct code_jit_info info = stub_jit_info(&self->stub);
	const jit_row row = { 1, 0, BODY };

	info.text_start += self->stub.marker_off;
	table_of(self, &row, 1);
	walk_region(_metadata, self, &info, COMPLETE, 2);
}

static void walk_infos(struct __test_metadata *_metadata,
		       FIXTURE_DATA(table) * self, const uint8_t *info,
		       unsigned int nr)
{
	for (unsigned int i = 0; i < nr; i++) {
		const jit_row row = { STUB_SIZE, 0, STUB_FRAME, -8, STUB_FP_OFF,
				      info[i] };

		TH_LOG("info %#x", info[i]);
		table_of(self, &row, 1);
		walk_stub(_metadata, self, NONE);
	}
}

TEST_F(table, rows_that_end_the_stack)
{
	const uint8_t infos[] = {
		CODE_FRE_OUTERMOST, RIGHT_INFO | CODE_FRE_OUTERMOST,
		CODE_FRE_UNKNOWN, RIGHT_INFO | CODE_FRE_UNKNOWN,
		RIGHT_INFO | CODE_FRE_RA_REG,
		RIGHT_INFO | CODE_FRE_FP_UNDEF,
		0xff,
	};

	walk_infos(_metadata, self, infos, ARRAY_SIZE(infos));
}

TEST_F(table, reserved_bytes)
{
	for (int i = 0; i < 3; i++) {
		jit_row row = { STUB_SIZE, 0, BODY };

		row.__reserved[i] = 1 << i;
		table_of(self, &row, 1);
		walk_stub(_metadata, self, NONE);
	}
}

/* The word in the place of the saved FP is no matter here. */
TEST_F(table, frame_pointer_kept_or_lost)
{
	const jit_row kept = { STUB_SIZE, 0, STUB_FRAME, -8, 0,
			       CODE_FRE_BASE_SP };
	const jit_row lost = { STUB_SIZE, 0, STUB_FRAME, -8, 0,
			       CODE_FRE_BASE_SP | CODE_FRE_FP_UNDEF };

	table_of(self, &kept, 1);
	walk_stub(_metadata, self, COMPLETE, COMPLETE);
	table_of(self, &lost, 1);
	walk_stub(_metadata, self, COMPLETE, COMPLETE);
}

/* The word at the SP of the stub is that of its caller: of a frame of any size. */
TEST_F(table, saved_sp)
{
	jit_row row = { STUB_SIZE, 0, 0, STUB_FRAME - 8, STUB_FRAME + STUB_FP_OFF,
			RIGHT_INFO | CODE_FRE_SP_SAVED };

	stub_plant_cfa = true;
	table_of(self, &row, 1);
	walk_stub(_metadata, self, COMPLETE, COMPLETE);
	/* And by the frame pointer. */
	row.info &= ~CODE_FRE_BASE_SP;
	stub_fp_off = -STUB_FRAME;
	table_of(self, &row, 1);
	walk_stub(_metadata, self, COMPLETE, COMPLETE);
	/* From above the frame, where all offsets are as they are of a CFA. */
	row.cfa_off -= STUB_FRAME + 8;
	row.ra_off -= STUB_FRAME + 8;
	row.fp_off -= STUB_FRAME + 8;
	stub_fp_off = 8;
	table_of(self, &row, 1);
	walk_stub(_metadata, self, COMPLETE, COMPLETE);
	stub_fp_off = 0;
	stub_plant_cfa = false;
}

TEST_F(table, saved_sp_that_is_none)
{
	const jit_row row = { STUB_SIZE, 0, 0, STUB_FRAME - 8, STUB_FRAME + STUB_FP_OFF,
			      RIGHT_INFO | CODE_FRE_SP_SAVED };
	const uint64_t words[] = { 1, addr_of(&row) + 4, -1ULL };

	table_of(self, &row, 1);
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		stub_plant = words[i];
		walk_stub(_metadata, self, NONE);
	}
	stub_plant = 0;
}

/*
 * What the stub's frame pointer leads to the last of: the caller's SP, RA and frame
 * pointer.  By their offsets alone they could be those of a usual frame.
 */
static uint64_t elsewhere[4];

static void walk_elsewhere(struct __test_metadata *_metadata,
			   FIXTURE_DATA(table) * self, unsigned int ra_off)
{
	const jit_row rows[] = {
		{ STUB_SIZE, 0, -16, -8, 0, CODE_FRE_FP_SAVED | CODE_FRE_SP_SAVED },
		{ STUB_SIZE, STUB_SIZE, OUTERMOST },
	};

	table_of(self, rows, 2);
	elsewhere[0] = addr_of(&elsewhere[3]) & -8;
	elsewhere[1] = addr_of(self->stub.text) + ra_off;
	elsewhere[2] = addr_of(&elsewhere[2]);
	stub_fp = addr_of(&elsewhere[2]);
	ASSERT_EQ(0, stub_register_jit(&self->stub));
	stub_run(&self->stub, NULL);
	stub_fp = 0;
	ASSERT_TRUE(sampler_next(&self->sampler, &self->stack));
}

/* Below the stack that the code has left. */
TEST_F(table, saved_sp_of_another_stack)
{
	walk_elsewhere(_metadata, self, STUB_SIZE + 8);
	ASSERT_EQ(2, self->stack.nr);
	EXPECT_EQ(elsewhere[1], self->stack.ip[1]);
}

/* A frame that is its own caller: a stack is as long as one may be. */
TEST_F(table, saved_sp_of_the_same_frame)
{
	walk_elsewhere(_metadata, self, self->stub.marker_off);
	ASSERT_LT(100, self->stack.nr);
	for (unsigned int i = 1; i < self->stack.nr; i++)
		ASSERT_EQ(elsewhere[1], self->stack.ip[i]);
}

/* By a frame pointer far from the frame, on either side. */
TEST_F(table, cfa_at_any_offset_from_fp)
{
	const int32_t offsets[] = { 16, 69696, 1 << 30, -8, -69696, -(1 << 30) };

	for (size_t i = 0; i < ARRAY_SIZE(offsets); i++) {
		const jit_row row = { STUB_SIZE, 0, offsets[i], -8, STUB_FP_OFF,
				      CODE_FRE_FP_SAVED };

		table_of(self, &row, 1);
		stub_fp_off = -offsets[i];
		walk_stub(_metadata, self, COMPLETE, COMPLETE);
	}
	stub_fp_off = 0;
}

/* The stub has a word of the test's choice at its SP. */
TEST_F(table, return_address_anywhere_in_the_frame)
{
	const jit_row row = { STUB_SIZE, 0, STUB_FRAME, -STUB_FRAME,
			      STUB_FP_OFF, RIGHT_INFO };

	stub_plant = addr_of(printf) + 1;
	table_of(self, &row, 1);
	ASSERT_EQ(0, stub_register_jit(&self->stub));
	stub_run(&self->stub, NULL);
	ASSERT_TRUE(sampler_next(&self->sampler, &self->stack));
	EXPECT_LE(2, self->stack.nr);
	EXPECT_EQ(stub_plant, self->stack.ip[1]);
}

TEST_F(table, default_rule_alone)
{
	struct code_jit_info info = with_default(&self->stub);

	info.unwind_head = 0;
	walk_region(_metadata, self, &info, COMPLETE, COMPLETE);
	info.info |= CODE_FRE_OUTERMOST;
	walk_region(_metadata, self, &info, NONE);
}

TEST_F(table, default_rule_under_rows)
{
	struct code_jit_info info = with_default(&self->stub);
	const jit_row marker = { 1, self->stub.marker_off, OUTERMOST };

	table_of(self, NULL, 0);
	walk_region(_metadata, self, &info, COMPLETE, COMPLETE);
	table_of(self, &marker, 1);
	walk_region(_metadata, self, &info, 1, COMPLETE);
	stub_jit_table(&self->stub);
	info.info |= CODE_FRE_OUTERMOST;
	walk_region(_metadata, self, &info, COMPLETE, COMPLETE);
}

/* A row that says there is no rule is a row. */
TEST_F(table, default_rule_does_not_replace_unknown)
{
	const struct code_jit_info info = with_default(&self->stub);
	const jit_row row = { STUB_SIZE, 0, 0, 0, 0, CODE_FRE_UNKNOWN };

	table_of(self, &row, 1);
	walk_region(_metadata, self, &info, NONE);
}

TEST_F(table, default_rule_after_retirement)
{
	const struct code_jit_info info = with_default(&self->stub);
	const jit_row row = { STUB_SIZE, 0, OUTERMOST };
	jit_table *t = table_of(self, &row, 1);

	ASSERT_EQ(0, register_jit(&info));
	walk(_metadata, self, NONE);
	__atomic_store_n(&t->fre[0].size, 0, __ATOMIC_RELAXED);
	walk(_metadata, self, COMPLETE, COMPLETE);
}

/* Table memory that cannot be read is not a gap. */
TEST_F(table, default_rule_is_not_for_faults)
{
	const struct code_jit_info info = with_default(&self->stub);

	ASSERT_EQ(0, munmap(self->stub.table, PAGE));
	walk_region(_metadata, self, &info, NONE);
}

TEST_F(table, flag_of_call_sites)
{
	struct code_jit_info info = stub_jit_info(&self->stub);

	info.jit_flags = CODE_JIT_CALLSITE;
	stub_jit_table(&self->stub);
	walk_region(_metadata, self, &info, COMPLETE, COMPLETE);
}

TEST_F(table, retired_rows)
{
	jit_table *t = stub_jit_table(&self->stub);

	ASSERT_EQ(0, stub_register_jit(&self->stub));
	for (int i = 0; i < STUB_ROWS; i++) {
		uint32_t size = t->fre[i].size;

		t->fre[i].size = 0;
		/* The third is the one of the body. */
		walk(_metadata, self, i == 2 ? 1 : COMPLETE,
		     i == 2 ? 2 : COMPLETE);
		t->fre[i].size = size;
	}
	walk(_metadata, self, COMPLETE, COMPLETE);
}

/* The last function of the largest region there is. */
TEST_F(table, end_of_4_gib)
{
	const uint64_t size = CODE_JIT_MAX_TEXT;
	uint8_t *mem = mmap(NULL, size, PROT_NONE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	jit_row row = { self->stub.marker_off + 1, 0, BODY };
	struct code_jit_info info = {
		.text_start = addr_of(mem),
		.text_end = addr_of(mem) + size,
		.unwind_head = addr_of(self->stub.table),
	};

	ASSERT_NE(MAP_FAILED, mem);
	ASSERT_EQ(0, stub_text_at(&self->stub, mem + size - PAGE));
	row.ip_off = size - PAGE;
	table_of(self, &row, 1);
	walk_region(_metadata, self, &info, COMPLETE, COMPLETE);
	/* Up to the last byte, and beyond it. */
	row.size = PAGE;
	table_of(self, &row, 1);
	walk_region(_metadata, self, &info, COMPLETE, COMPLETE);
	row.size = ~0U;
	table_of(self, &row, 1);
	walk_region(_metadata, self, &info, COMPLETE, COMPLETE);
	info.jit_flags = CODE_JIT_DESCENDING;
	walk_region(_metadata, self, &info, COMPLETE, COMPLETE);
	munmap(mem, size);
}

/* Two regions, one table: offsets count from each region's own start. */
TEST_F(table, shared_by_two_regions)
{
	struct stub other;

	ASSERT_EQ(0, stub_map(&other, 1));
	stub_jit_table(&self->stub);
	other.table = self->stub.table;
	ASSERT_EQ(0, stub_register_jit(&self->stub));
	ASSERT_EQ(0, stub_register_jit(&other));
	walk(_metadata, self, COMPLETE, COMPLETE);
	self->stub.text = other.text;
	walk(_metadata, self, COMPLETE, COMPLETE);
}

/* What a table at an address said before does not count. */
TEST_F(table, reused_after_unregistering)
{
	const jit_row row = { STUB_SIZE, 0, OUTERMOST };

	for (int i = 0; i < 3; i++) {
		stub_jit_table(&self->stub);
		walk_stub(_metadata, self, COMPLETE, COMPLETE);
		table_of(self, &row, 1);
		walk_stub(_metadata, self, NONE);
		stub_table(&self->stub);
		ASSERT_EQ(0, stub_register(&self->stub));
		walk(_metadata, self, COMPLETE, COMPLETE);
		ASSERT_EQ(0, stub_unregister(&self->stub));
	}
}

TEST_F(table, seq)
{
	struct code_jit_info info = stub_jit_info(&self->stub);
	static uint32_t seq;

	stub_jit_table(&self->stub);
	info.seq = addr_of(&seq);
	ASSERT_EQ(0, register_jit(&info));
	walk(_metadata, self, COMPLETE, COMPLETE);
	for (seq = 1; seq < 6; seq++)
		walk(_metadata, self, seq & 1 ? 1 : COMPLETE,
		     seq & 1 ? 2 : COMPLETE);
	seq = ~0U;
	walk(_metadata, self, NONE);
	seq = 0;
	walk(_metadata, self, COMPLETE, COMPLETE);
}

/* The default rule is not for what cannot be told. */
TEST_F(table, seq_odd_with_a_default_rule)
{
	struct code_jit_info info = with_default(&self->stub);
	static uint32_t seq = 1;

	stub_jit_table(&self->stub);
	info.seq = addr_of(&seq);
	walk_region(_metadata, self, &info, NONE);
}

TEST_HARNESS_MAIN

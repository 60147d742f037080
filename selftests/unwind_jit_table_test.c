// SPDX-License-Identifier: GPL-2.0
/*
 * Tables of compiled code that are right: every kind of row, chain and default
 * rule, and what a reader makes of gaps.
 */
#include "jit_table.h"
#include "table_fixture.h"

/* Where the frame's rule is none, the walk ends in the stub. */
#define NONE 1, 2

/* A region of three pages, with the stub in the middle one. */
#define STUB_OFF PAGE
#define REGION_SIZE (3 * PAGE)

static struct code_jit_info surround(struct __test_metadata *_metadata,
				     FIXTURE_DATA(table) * self)
{
	uint8_t *mem = map_pages(3, PROT_READ | PROT_EXEC);

	ASSERT_NE(NULL, mem);
	ASSERT_EQ(0, stub_text_at(&self->stub, mem + STUB_OFF));
	return (struct code_jit_info) {
		.text_start = addr_of(mem),
		.text_end = addr_of(mem) + REGION_SIZE,
		.unwind_head = addr_of(self->stub.table),
	};
}

static void walk_region(struct __test_metadata *_metadata,
			FIXTURE_DATA(table) * self,
			const struct code_jit_info *info, unsigned int topmost,
			unsigned int below)
{
	ASSERT_EQ(0, register_jit(info));
	walk(_metadata, self, topmost, below);
	ASSERT_EQ(0, unregister_text(info->text_start, info->text_end));
}

/* With the stub's page for a region. */
static void walk_stub(struct __test_metadata *_metadata,
		      FIXTURE_DATA(table) * self, unsigned int topmost,
		      unsigned int below)
{
	const struct code_jit_info info = stub_jit_info(&self->stub);

	walk_region(_metadata, self, &info, topmost, below);
}

static jit_table *table_of(FIXTURE_DATA(table) * self, const jit_row *row,
			   unsigned int nr)
{
	jit_table *t = jit_table_init(self->stub.table, self->stub.table_room);

	jit_table_append(t, row, nr);
	return t;
}

#define BODY STUB_FRAME, -8, STUB_FP_OFF, CODE_FRE_BASE_SP | CODE_FRE_FP_SAVED
#define OUTERMOST 0, 0, 0, CODE_FRE_OUTERMOST

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

/* A gap is a gap, before, between and behind rows. */
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

#define RIGHT_INFO (CODE_FRE_BASE_SP | CODE_FRE_FP_SAVED)

TEST_F(table, rows_that_end_the_stack)
{
	const uint8_t infos[] = {
		CODE_FRE_OUTERMOST, RIGHT_INFO | CODE_FRE_OUTERMOST,
		CODE_FRE_UNKNOWN, RIGHT_INFO | CODE_FRE_UNKNOWN,
		RIGHT_INFO | CODE_FRE_RA_REG,
		0x80, RIGHT_INFO | 0x80,
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

static struct code_jit_info with_default(const struct stub *stub)
{
	struct code_jit_info info = stub_jit_info(stub);

	info.jit_flags = CODE_JIT_DEFAULT_RULE;
	info.cfa_off = STUB_FRAME;
	info.ra_off = -8;
	info.fp_off = STUB_FP_OFF;
	info.info = RIGHT_INFO;
	return info;
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

/* @nr rows of other code, every other one retired, as the walk finds them. */
static void append_others(jit_table *t, unsigned int nr, int32_t at, int step)
{
	for (unsigned int i = 0; i < nr; i++) {
		jit_row row = { i & 1 ? 0 : 4, at + step * (int)i, OUTERMOST };

		jit_table_append(t, &row, 1);
	}
}

static void append_stub(jit_table *t, bool descending)
{
	jit_row row[STUB_ROWS];

	stub_jit_rows(row, STUB_OFF);
	if (descending)
		jit_rows_reverse(row, STUB_ROWS);
	jit_table_append(t, row, STUB_ROWS);
}

/* The stub among many others, at every distance from both ends. */
TEST_F(table, position_among_many)
{
	struct code_jit_info info = surround(_metadata, self);
	const unsigned int others[] = { 0, 1, 2, 3, 7, 50, 255 };

	ASSERT_EQ(0, stub_table_at(&self->stub, addr_of(self->stub.table) -
				   (1UL << 30), 16));
	info.unwind_head = addr_of(self->stub.table);
	for (size_t i = 0; i < ARRAY_SIZE(others) * ARRAY_SIZE(others); i++) {
		unsigned int before = others[i / ARRAY_SIZE(others)];
		unsigned int behind = others[i % ARRAY_SIZE(others)];
		jit_table *t = table_of(self, NULL, 0);

		info.jit_flags = 0;
		append_others(t, before, 0, 8);
		append_stub(t, false);
		append_others(t, behind, 2 * PAGE, 8);
		walk_region(_metadata, self, &info, COMPLETE, COMPLETE);

		t = table_of(self, NULL, 0);
		info.jit_flags = CODE_JIT_DESCENDING;
		append_others(t, before, REGION_SIZE - 8, -8);
		append_stub(t, true);
		append_others(t, behind, STUB_OFF - 8, -8);
		walk_region(_metadata, self, &info, COMPLETE, COMPLETE);
	}
}

/* Rows in the other order than declared are not found, or by chance. */
TEST_F(table, wrong_direction)
{
	struct code_jit_info info = surround(_metadata, self);
	jit_table *t = table_of(self, NULL, 0);

	append_others(t, 50, 0, 8);
	append_stub(t, false);
	info.jit_flags = CODE_JIT_DESCENDING;
	walk_region(_metadata, self, &info, NONE);
}

#define CHAIN_STEP 160

/* Table @i of a chain; 0 bytes of it are in use. */
static jit_table *chain_table(FIXTURE_DATA(table) * self, unsigned int i)
{
	return (void *)(self->stub.table + i * CHAIN_STEP);
}

/* The stub's rows in table @at of @nr; each of the others has one row. */
static void make_chain(FIXTURE_DATA(table) * self, unsigned int nr,
		       unsigned int at, bool descending)
{
	for (unsigned int i = 0; i < nr; i++) {
		bool low = descending ? i > at : i < at;
		uint32_t off = (low ? 0 : 2 * PAGE) +
			       8 * (descending ? nr - i : i);
		const jit_row row = { 8, off, OUTERMOST };
		jit_table *t = jit_table_init(chain_table(self, i), CHAIN_STEP);

		if (i == at)
			append_stub(t, descending);
		else
			jit_table_append(t, &row, 1);
		if (i)
			jit_table_link(chain_table(self, i - 1), t);
	}
}

static void walk_chain(struct __test_metadata *_metadata,
		       FIXTURE_DATA(table) * self, struct code_jit_info *info,
		       unsigned int nr, unsigned int at)
{
	bool found = at < CODE_JIT_MAX_TABLES;

	for (int descending = 0; descending < 2; descending++) {
		info->jit_flags = descending ? CODE_JIT_DESCENDING : 0;
		make_chain(self, nr, at, descending);
		walk_region(_metadata, self, info, found ? COMPLETE : 1,
			    found ? COMPLETE : 2);
	}
}

TEST_F(table, chains)
{
	const unsigned int lengths[] = { 1, 2, 3, 10, 63, 64, 65, 80 };
	struct code_jit_info info = surround(_metadata, self);

	for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
		unsigned int nr = lengths[i];

		walk_chain(_metadata, self, &info, nr, 0);
		walk_chain(_metadata, self, &info, nr, nr / 2);
		walk_chain(_metadata, self, &info, nr, nr - 1);
	}
	walk_chain(_metadata, self, &info, 65, 63);
}

/* Two tables, the stub's rows in the second, and one row in the first. */
static void walk_pair(struct __test_metadata *_metadata,
		      FIXTURE_DATA(table) * self, bool descending, jit_row row,
		      bool linked)
{
	struct code_jit_info info = surround(_metadata, self);

	info.jit_flags = descending ? CODE_JIT_DESCENDING : 0;
	make_chain(self, 2, 1, descending);
	chain_table(self, 0)->fre[0] = row;
	walk_region(_metadata, self, &info, linked ? COMPLETE : 1,
		    linked ? COMPLETE : 2);
}

TEST_F(table, chain_in_ascending_order)
{
	const struct {
		jit_row row;
		bool linked;
	} firsts[] = {
		{ { 8, STUB_OFF - 8, OUTERMOST }, true },
		{ { 9, STUB_OFF - 8, OUTERMOST }, false },
		{ { ~0U, STUB_OFF - 8, OUTERMOST }, false },
		{ { 0, STUB_OFF - 1, OUTERMOST }, true },
		/* Retired, it could still be the same function. */
		{ { 0, STUB_OFF, OUTERMOST }, false },
		{ { 8, 2 * PAGE, OUTERMOST }, false },
		{ { 8, ~0U, OUTERMOST }, false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(firsts); i++) {
		TH_LOG("first row %zu", i);
		walk_pair(_metadata, self, false, firsts[i].row,
			  firsts[i].linked);
	}
}

TEST_F(table, chain_in_descending_order)
{
	const struct {
		jit_row row;
		bool linked;
	} firsts[] = {
		{ { 8, STUB_OFF + STUB_SIZE, OUTERMOST }, true },
		{ { 8, STUB_OFF + STUB_SIZE - 1, OUTERMOST }, false },
		{ { 0, STUB_OFF + STUB_SIZE, OUTERMOST }, true },
		{ { 0, STUB_OFF + STUB_SIZE - 1, OUTERMOST }, false },
		{ { 8, 0, OUTERMOST }, false },
		{ { ~0U, ~0U, OUTERMOST }, true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(firsts); i++) {
		TH_LOG("first row %zu", i);
		walk_pair(_metadata, self, true, firsts[i].row,
			  firsts[i].linked);
	}
}

TEST_F(table, empty_table_ends_the_chain)
{
	struct code_jit_info info = surround(_metadata, self);

	for (int i = 0; i < 2; i++) {
		make_chain(self, 3, 2, false);
		chain_table(self, i)->used_len = 0;
		walk_region(_metadata, self, &info, NONE);
		chain_table(self, i)->used_len = sizeof(jit_row) - 1;
		walk_region(_metadata, self, &info, NONE);
	}
	make_chain(self, 3, 1, false);
	chain_table(self, 2)->used_len = 0;
	walk_region(_metadata, self, &info, COMPLETE, COMPLETE);
}

/*
 * Behind a broken chain, or too long a one, nobody knows whether there is a row;
 * behind one that ends there is none.
 */
TEST_F(table, default_rule_behind_a_chain)
{
	struct code_jit_info info = surround(_metadata, self);
	const struct code_jit_info rule = with_default(&self->stub);
	jit_row *first = chain_table(self, 0)->fre;

	info.jit_flags = rule.jit_flags;
	info.cfa_off = rule.cfa_off;
	info.ra_off = rule.ra_off;
	info.fp_off = rule.fp_off;
	info.info = rule.info;
	make_chain(self, 65, 64, false);
	walk_region(_metadata, self, &info, NONE);
	chain_table(self, 63)->next = 0;
	walk_region(_metadata, self, &info, COMPLETE, COMPLETE);
	make_chain(self, 2, 1, false);
	chain_table(self, 1)->used_len = 0;
	walk_region(_metadata, self, &info, COMPLETE, COMPLETE);
	make_chain(self, 2, 1, false);
	first->ip_off = STUB_OFF;
	walk_region(_metadata, self, &info, NONE);
	chain_table(self, 0)->next = KERNEL_ADDR;
	walk_region(_metadata, self, &info, NONE);
}

/* A retired row's place may be taken: by the row that is found last. */
TEST_F(table, rows_with_the_same_start)
{
	const jit_row rows[] = { { 0, 0, OUTERMOST },
				 { 0, 0, OUTERMOST },
				 { STUB_SIZE, 0, BODY } };
	struct code_jit_info info = stub_jit_info(&self->stub);
	jit_table *t = table_of(self, rows, 3);

	walk_region(_metadata, self, &info, COMPLETE, COMPLETE);
	info.jit_flags = CODE_JIT_DESCENDING;
	walk_region(_metadata, self, &info, NONE);
	jit_rows_reverse(t->fre, 3);
	walk_region(_metadata, self, &info, COMPLETE, COMPLETE);
	info.jit_flags = 0;
	walk_region(_metadata, self, &info, NONE);
}

/* The body's row is the third. */
TEST_F(table, whole_rows_only)
{
	jit_table *t = stub_jit_table(&self->stub);

	ASSERT_EQ(0, stub_register_jit(&self->stub));
	for (uint64_t len = 0; len < STUB_ROWS * sizeof(jit_row); len++) {
		bool there = len >= 3 * sizeof(jit_row);

		if (len % 24 > 1 && len % 24 < 23)
			continue;
		t->used_len = len;
		walk(_metadata, self, there ? COMPLETE : 1,
		     there ? COMPLETE : 2);
	}
}

/* What is reserved bounds what is in use, in whole rows too. */
TEST_F(table, used_up_to_what_is_reserved)
{
	jit_table *t = stub_jit_table(&self->stub);

	ASSERT_EQ(0, stub_register_jit(&self->stub));
	t->used_len = -1UL;
	t->reserved_len = 3 * sizeof(jit_row);
	walk(_metadata, self, COMPLETE, COMPLETE);
	t->reserved_len += 23;
	walk(_metadata, self, COMPLETE, COMPLETE);
	t->reserved_len -= 24;
	walk(_metadata, self, NONE);
	t->reserved_len = 0;
	walk(_metadata, self, NONE);
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

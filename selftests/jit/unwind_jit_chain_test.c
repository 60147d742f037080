// SPDX-License-Identifier: GPL-2.0
/*
 * Long tables of compiled code and chains of them, in both orders: where rows
 * are found, and where a chain ends.
 */
#include "jit_table_fixture.h"

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

/* Where one table ends and the next one starts, to the byte. */
TEST_F(table, chain_that_splits_a_function)
{
	const uint32_t ends[] = { self->stub.marker_off, self->stub.call_off };
	struct code_jit_info info = stub_jit_info(&self->stub);

	for (int i = 0; i < 12; i++) {
		uint32_t at = ends[i / 6] + i % 3 - 1;
		bool descending = i % 6 / 3;
		jit_row rows[] = { { at, 0, BODY },
				   { STUB_SIZE - at, at, BODY } };

		for (int k = 0; k < 2; k++)
			jit_table_append(jit_table_init(chain_table(self, k),
							CHAIN_STEP),
					 &rows[k ^ descending], 1);
		jit_table_link(chain_table(self, 0), chain_table(self, 1));
		info.jit_flags = descending ? CODE_JIT_DESCENDING : 0;
		walk_region(_metadata, self, &info, COMPLETE, COMPLETE);
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
 * After a broken or too long chain nobody knows whether there is a row; after one that
 * ends there is none.
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
	const struct code_jit_info info = stub_jit_info(&self->stub);
	jit_table *t = stub_jit_table(&self->stub);

	t->used_len = -1UL;
	t->reserved_len = 3 * sizeof(jit_row);
	walk_region(_metadata, self, &info, COMPLETE, COMPLETE);
	t->reserved_len += 23;
	walk_region(_metadata, self, &info, COMPLETE, COMPLETE);
	t->reserved_len -= 24;
	walk_region(_metadata, self, &info, NONE);
	t->reserved_len = 0;
	walk_region(_metadata, self, &info, NONE);
}

TEST_HARNESS_MAIN

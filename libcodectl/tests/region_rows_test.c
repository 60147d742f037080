// SPDX-License-Identifier: MIT
/*
 * Functions and rows in regions: adding, finding, retiring and compacting them.
 */
#include "stand_in.h"
#include "test.h"

#define LEN	(16 * PAGE)

static struct codectl_region *region;
static uint64_t text;

static int add_rows(uint32_t off, uint32_t len,
		    const struct code_jit_unwind_fre *rows, unsigned int nr)
{
	return codectl_region_add(region, text + off, len, rows, nr, NULL);
}

static void add_errors(void)
{
	struct code_jit_unwind_fre rows[2] = {
		test_row(0, 8, 1), test_row(8, 8, 2),
	};

	region = test_open(LEN, NULL, &text);
	CHECK_EQ(add_rows(0, 0, rows, 1), -EINVAL);
	CHECK_EQ(add_rows(0, 16, rows, 0), -EINVAL);
	CHECK_EQ(add_rows(-1, 16, rows, 2), -EINVAL);
	CHECK_EQ(add_rows(LEN, 16, rows, 2), -EINVAL);
	CHECK_EQ(add_rows(LEN - 15, 16, rows, 2), -EINVAL);
	CHECK_EQ(add_rows(0, 15, rows, 2), -EINVAL);
	rows[1].ip_off = 7;
	CHECK_EQ(add_rows(0, 16, rows, 2), -EINVAL);
	rows[1].ip_off = 8;
	rows[1].size = 0;
	CHECK_EQ(add_rows(0, 16, rows, 2), -EINVAL);
	rows[1].size = UINT32_MAX;
	CHECK_EQ(add_rows(0, 16, rows, 2), -EINVAL);
	rows[1] = rows[0];
	CHECK_EQ(add_rows(0, 16, rows, 2), -EINVAL);
	CHECK_EQ(test_id(text), -ENODATA);

	rows[1] = test_row(8, 8, 2);
	CHECK_EQ(add_rows(LEN - 16, 16, rows, 2), 0);
	CHECK_EQ(test_id(text + LEN - 1), 2);
	CHECK_EQ(add_rows(LEN - 16, 16, rows, 2), -EEXIST);
	CHECK_EQ(add_rows(LEN - 32, 17, rows, 2), -EEXIST);
	CHECK_EQ(add_rows(LEN - 32, 16, rows, 2), -EINVAL);
}

static void no_space(void)
{
	struct codectl_region_attr attr = { .max_rows = 3 };

	region = test_open(LEN, &attr, &text);
	CHECK_EQ(test_add(region, text, 8, 1, NULL), 0);
	CHECK_EQ(test_add(region, text + 8, 8, 2, NULL), 0);
	CHECK_EQ(test_add(region, text + 16, 8, 3, NULL), 0);
	CHECK_EQ(test_add(region, text + 24, 8, 4, NULL), -ENOSPC);
	CHECK_EQ(test_id(text + 23), 3);
	CHECK_EQ(test_id(text + 24), -ENODATA);
}

static void sixty_four_tables(void)
{
	struct codectl_region_attr attr = { .table_rows = 2, .max_rows = 128 };
	struct codectl_region_stat stat;
	unsigned int i;

	region = test_open(LEN, &attr, &text);
	for (i = 0; i < 128; i++)
		CHECK_EQ(test_add(region, text + 8 * i, 8, i + 1, NULL), 0);
	CHECK_EQ(test_add(region, text + 8 * i, 8, i + 1, NULL), -ENOSPC);
	for (i = 0; i < 1024; i++)
		CHECK_EQ(test_id(text + i), i / 8 + 1);
	codectl_region_stat(region, &stat);
	CHECK_EQ(stat.tables, CODE_JIT_MAX_TABLES);
	CHECK_EQ(stat.rows, 128);
	CHECK_EQ(stat.rows_used, 128);
	CHECK_EQ(stat.rows_max, 128);
	attr.max_rows++;
	CHECK_EQ(codectl_region_open((void *)test_text(LEN), LEN, &attr,
				     &region), -EINVAL);
	/* If no number was asked for, as many as there can be are enough. */
	attr.max_rows = 0;
	codectl_region_close(region);
	region = test_open(LEN, &attr, &text);
	codectl_region_stat(region, &stat);
	CHECK_EQ(stat.rows_max, 128);
}

/* The default rule is for all that no row covers, and for functions without rows. */
static void default_rule(void)
{
	struct code_jit_unwind_fre rule = test_row(0, 0, 7);
	struct codectl_region_attr attr = {
		.jit_flags = CODE_JIT_DEFAULT_RULE | CODE_JIT_CALLSITE,
		.default_rule = &rule,
	};
	struct codectl_rule found;

	region = test_open(LEN, &attr, &text);
	CHECK_EQ(codectl_lookup(text + 5, &found), 0);
	CHECK_EQ(found.flags, CODECTL_RULE_DEFAULT | CODECTL_RULE_CALLSITE);
	CHECK_EQ(found.cfa_off, 7);
	CHECK_EQ(test_add(region, text, 8, 1, NULL), 0);
	CHECK_EQ(codectl_lookup(text + 5, &found), 0);
	CHECK_EQ(found.flags, CODECTL_RULE_CALLSITE);
	CHECK_EQ(found.cfa_off, 1);
	CHECK_EQ(codectl_region_retire(region, text, 8), 1);
	CHECK_EQ(test_id(text + 5), 7);

	CHECK_EQ(codectl_region_add(region, text + 8, 16, NULL, 0, "f"), 0);
	CHECK_EQ(codectl_lookup(text + 20, &found), 0);
	CHECK_EQ(found.start, text + 8);
	CHECK_EQ(found.size, 16);
	CHECK_EQ(found.flags, CODECTL_RULE_CALLSITE);
	CHECK_EQ(found.cfa_off, 7);
	CHECK_EQ(codectl_region_retire(region, text + 8, 16), 1);
}

static void unknown_rows(void)
{
	struct code_jit_unwind_fre rows[2] = {
		test_row(0, 8, 1), test_row(8, 8, 2),
	};
	struct codectl_rule rule;

	struct codectl_region_attr attr = {
		.jit_flags = CODE_JIT_DEFAULT_RULE,
		.default_rule = rows,
	};

	region = test_open(LEN, NULL, &text);
	rows[0].info = CODE_FRE_FP_SAVED | CODE_FRE_FP_UNDEF;
	CHECK_EQ(add_rows(0, 16, rows, 2), -EINVAL);
	CHECK_EQ(codectl_region_open((void *)test_text(LEN), LEN, &attr,
				     &region), -EINVAL);
	rows[0].info = CODE_FRE_UNKNOWN | CODE_FRE_SP_SAVED;
	rows[1].__reserved[1] = 1;
	CHECK_EQ(add_rows(0, 16, rows, 2), -EINVAL);
	rows[1].__reserved[1] = 0;
	CHECK_EQ(add_rows(0, 16, rows, 2), 0);
	CHECK_EQ(codectl_lookup(text, &rule), 0);
	CHECK_EQ(rule.info, CODE_FRE_UNKNOWN | CODE_FRE_SP_SAVED);
}

static void retire(void)
{
	struct code_jit_unwind_fre rows[2] = {
		test_row(0, 8, 1), test_row(8, 8, 2),
	};

	region = test_open(LEN, NULL, &text);
	CHECK_EQ(add_rows(16, 16, rows, 2), 0);
	CHECK_EQ(add_rows(32, 16, rows, 2), 0);
	CHECK_EQ(codectl_region_retire(region, text + 16, 17), -EINVAL);
	CHECK_EQ(codectl_region_retire(region, text + 23, 25), -EINVAL);
	CHECK_EQ(test_id(text + 24), 2);
	CHECK_EQ(codectl_region_retire(region, text + 24, 0), -EINVAL);
	CHECK_EQ(codectl_region_retire(region, text - 1, 4), -EINVAL);
	CHECK_EQ(codectl_region_retire(region, text + LEN - 1, 2), -EINVAL);
	CHECK_EQ(codectl_region_retire(region, text + 24, 16), 2);
	CHECK_EQ(test_id(text + 23), 1);
	CHECK_EQ(test_id(text + 24), -ENODATA);
	CHECK_EQ(test_id(text + 39), -ENODATA);
	CHECK_EQ(test_id(text + 40), 2);
	CHECK_EQ(codectl_region_retire(region, text, LEN), 2);
	CHECK_EQ(codectl_region_retire(region, text, LEN), 0);
	CHECK_EQ(codectl_region_compact(region), -EINVAL);
}

/* 4 GiB is the maximum, and the last byte is covered. */
static void largest(void)
{
	struct codectl_region_attr attr = { .max_rows = 1000 };
	const uint64_t len = CODE_JIT_MAX_TEXT;
	struct code_jit_unwind_fre row = test_row(0, UINT32_MAX, 3);
	int twice;

	for (twice = 0; twice < 2; twice++) {
		region = test_open(len, &attr, &text);
		CHECK_EQ(test_add(region, text + len - 16, 16, 3, NULL), 0);
		CHECK_EQ(test_id(text + len - 1), 3);
		CHECK_EQ(test_id(text + len - 17), -ENODATA);
		CHECK_EQ(test_id(text + len), -ENOENT);
		CHECK_EQ(codectl_region_retire(region, text + len - 16, 16), 1);
		codectl_region_close(region);
		attr.jit_flags = CODE_JIT_DESCENDING;
	}
	region = test_open(len, NULL, &text);
	CHECK_EQ(codectl_region_add(region, text, len, &row, 1, NULL), -EINVAL);
	CHECK_EQ(test_add(region, text, UINT32_MAX, 3, NULL), 0);
	CHECK_EQ(test_id(text + UINT32_MAX - 1), 3);
	CHECK_EQ(test_id(text + UINT32_MAX), -ENODATA);
}

static uint64_t resident(void)
{
	unsigned long pages = 0;
	FILE *file = fopen("/proc/self/statm", "r");

	CHECK(file);
	CHECK_EQ(fscanf(file, "%*u %lu", &pages), 1);
	fclose(file);

	return pages * PAGE;
}

/* Compacting gives memory back, and names stay with their functions. */
static void compact_memory(void)
{
	const unsigned int nr = 100000;
	struct codectl_region_attr attr = { .flags = CODECTL_REGION_REWRITE,
					    .name_bytes = nr * 32 };
	struct codectl_region_stat stat;
	uint64_t before, after;
	unsigned int i;

	region = test_open(nr * 16, &attr, &text);
	for (i = 0; i < nr; i++)
		CHECK_EQ(test_add(region, text + 16 * i, 16, i, "a name"), 0);
	CHECK_EQ(codectl_region_retire(region, text + 160, (nr - 10) * 16),
		 nr - 10);
	before = resident();
	CHECK_EQ(codectl_region_compact(region), 0);
	after = resident();
	CHECK(before > after + nr * sizeof(struct code_jit_unwind_fre));
	codectl_region_stat(region, &stat);
	CHECK_EQ(stat.rows, 10);
	CHECK_EQ(stat.rows_used, 10);
	CHECK_EQ(stat.names, 10);
	for (i = 0; i < 10; i++)
		CHECK_EQ(test_id(text + 16 * i), i);
	for (; i < nr; i++)
		CHECK_EQ(test_add(region, text + 16 * i, 16, i, "a name"), 0);
	for (i = 0; i < nr; i++)
		CHECK_EQ(test_id(text + 16 * i + 15), i);
	codectl_region_stat(region, &stat);
	CHECK_EQ(stat.names, nr);
	CHECK_EQ(stat.names_lost, 0);
}

/* The kernel has nothing to look at but the rule. */
static void without_rows(void)
{
	struct code_jit_unwind_fre rule = { .cfa_off = 1216, .ra_off = -8,
					    .info = CODE_FRE_BASE_SP };
	struct codectl_region_attr attr = {
		.flags = CODECTL_REGION_NO_ROWS,
		.jit_flags = CODE_JIT_DEFAULT_RULE,
		.default_rule = &rule,
	};
	struct stand_in_entry entry;
	struct codectl_region_stat stat;
	struct codectl_rule found;

	stand_in();
	region = test_open(LEN, &attr, &text);
	CHECK_EQ(stand_in_find(text, &entry), 1);
	CHECK_EQ(entry.unwind_head, 0);
	CHECK_EQ(test_add(region, text, 16, 1, "rows"), -EINVAL);
	CHECK_EQ(codectl_region_add(region, text, 16, NULL, 0, "name"), 0);
	CHECK_EQ(codectl_region_add(region, text + 16, 16, NULL, 0, NULL), 0);
	CHECK_EQ(codectl_lookup(text + LEN - 1, &found), 0);
	CHECK_EQ(found.cfa_off, 1216);
	CHECK_EQ(found.flags, CODECTL_RULE_DEFAULT);
	CHECK_EQ(codectl_region_compact(region), 0);
	CHECK_EQ(codectl_lookup(text + LEN - 1, &found), 0);
	codectl_region_stat(region, &stat);
	CHECK_EQ(stat.names, 1);
	CHECK_EQ(stat.rows_max, 0);
	CHECK_EQ(codectl_region_retire(region, text, LEN), 1);
	codectl_region_close(region);
	CHECK_EQ(stand_in_find(text, &entry), 0);
}

/* If most of the chain is free, it is packed rather than made longer. */
static void packs_what_is_mostly_free(void)
{
	struct codectl_region_attr attr = { .flags = CODECTL_REGION_REWRITE,
					    .max_rows = 1000 };
	struct codectl_region_stat stat;
	unsigned int i, keep;

	for (keep = 40; keep <= 60; keep += 20) {
		region = test_open(LEN, &attr, &text);
		for (i = 0; i < 100; i++)
			CHECK_EQ(test_add(region, text + 32 * i, 16, i, NULL),
				 0);
		CHECK_EQ(codectl_region_retire(region, text,
					       (100 - keep) * 32), 100 - keep);
		/* Between two of those that stay. */
		CHECK_EQ(test_add(region, text + 32 * 90 + 16, 16, 1000, NULL),
			 0);
		codectl_region_stat(region, &stat);
		CHECK_EQ(stat.rows, keep + 1);
		CHECK_EQ(stat.rows_used, keep < 50 ? keep + 1 : 101);
		codectl_region_close(region);
	}
}

static const struct test tests[] = {
	TEST(add_errors),
	TEST(no_space),
	TEST(sixty_four_tables),
	TEST(default_rule),
	TEST(unknown_rows),
	TEST(retire),
	TEST(largest),
	TEST(compact_memory),
	TEST(without_rows),
	TEST(packs_what_is_mostly_free),
};

int main(void)
{
	return test_main(tests, ARRAY_SIZE(tests));
}

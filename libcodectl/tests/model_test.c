// SPDX-License-Identifier: MIT
/*
 * Random operations on a region, each followed by a comparison with an array that has
 * the row for each byte of the text.
 */
#include "test.h"

#define TEXT_LEN	256
#define MAX_FUNC_ROWS	5
#define STEPS		2000

static struct codectl_region *region;
static uint64_t text;
static struct codectl_region_attr attr;
static int shadow[TEXT_LEN];		/* id of the row, 0: none */
static uint32_t row_end[TEXT_LEN];	/* where the row of the byte ends */
static uint64_t max_rows, table_rows;
static int last_id;

/* The state of append-only regions. */
static uint32_t tail_rows, tables;
static struct code_jit_unwind_fre last_row;

static bool descending(void)
{
	return attr.jit_flags & CODE_JIT_DESCENDING;
}

static uint32_t make_rows(struct code_jit_unwind_fre *rows, uint32_t len)
{
	uint32_t nr = 0, want = 1 + test_random(MAX_FUNC_ROWS), off = 0, size;

	while (nr < want && off < len) {
		if (!test_random(4))
			off++;
		if (off >= len)
			break;
		size = 1 + test_random(len - off);
		if (nr + 1 < want && size > 1)
			size = 1 + size / 2;
		rows[nr++] = test_row(off, size, ++last_id);
		off += size;
	}

	return nr;
}

static bool is_free(uint32_t off, uint32_t len)
{
	uint32_t i;

	for (i = off; i < off + len; i++) {
		if (shadow[i])
			return false;
	}

	return true;
}

static uint32_t live_rows(void)
{
	uint32_t i, nr = 0;

	for (i = 0; i < TEXT_LEN; i++)
		nr += shadow[i] && row_end[i] == i + 1;

	return nr;
}

static bool in_order(uint32_t off, uint32_t len)
{
	if (!tail_rows)
		return true;
	if (descending())
		return off + len <= last_row.ip_off;

	return off >= last_row.ip_off + last_row.size;
}

/* The expected answer of a region that only grows. */
static int expect_append(uint32_t off, uint32_t len, uint32_t nr,
			 uint32_t first)
{
	if (!in_order(off, len))
		return is_free(off, len) ? -EINVAL : -EEXIST;
	if (tail_rows + nr <= table_rows)
		return 0;
	if (!tail_rows || nr > table_rows || tables * table_rows == max_rows ||
	    (!descending() && last_row.ip_off == off + first))
		return -ENOSPC;

	return 0;
}

static int expect_add(uint32_t off, uint32_t len, uint32_t nr,
		      uint32_t first)
{
	if (!(attr.flags & CODECTL_REGION_REWRITE))
		return expect_append(off, len, nr, first);
	if (!is_free(off, len))
		return -EEXIST;

	return live_rows() + nr <= max_rows ? 0 : -ENOSPC;
}

static void note_rows(const struct code_jit_unwind_fre *rows, uint32_t nr,
		      uint32_t off)
{
	uint32_t i, k;

	for (i = 0; i < nr; i++) {
		for (k = 0; k < rows[i].size; k++) {
			shadow[off + rows[i].ip_off + k] = rows[i].cfa_off;
			row_end[off + rows[i].ip_off + k] =
				off + rows[i].ip_off + rows[i].size;
		}
	}
	if (tail_rows + nr > table_rows) {
		tail_rows = 0;
		tables++;
	}
	tail_rows += nr;
	last_row = rows[descending() ? 0 : nr - 1];
	last_row.ip_off += off;
}

static void add(void)
{
	struct code_jit_unwind_fre rows[MAX_FUNC_ROWS];
	uint32_t len, off, nr;
	int want;

	len = 1 + test_random(24);
	nr = make_rows(rows, len);
	if (!nr)
		return;
	off = test_random(TEXT_LEN - len + 1);
	/* Mostly where a bump allocator would put it. */
	if (tail_rows && test_random(8) && descending())
		off = last_row.ip_off > len ? last_row.ip_off - len : 0;
	else if (tail_rows && test_random(8) && !descending())
		off = last_row.ip_off + last_row.size;
	if (off + len > TEXT_LEN)
		return;

	want = expect_add(off, len, nr, rows[0].ip_off);
	CHECK_EQ(codectl_region_add(region, text + off, len, rows, nr, NULL),
		 want);
	if (!want)
		note_rows(rows, nr, off);
}

static void retire(uint32_t off, uint32_t len)
{
	uint32_t i, nr = 0;
	int want;

	for (i = off; i < off + len; i++)
		nr += shadow[i] && row_end[i] == i + 1;
	want = nr;
	if ((off && shadow[off] && shadow[off - 1] == shadow[off]) ||
	    (off + len < TEXT_LEN && shadow[off + len] &&
	     shadow[off + len - 1] == shadow[off + len]))
		want = -EINVAL;

	CHECK_EQ(codectl_region_retire(region, text + off, len), want);
	if (want < 0)
		return;
	for (i = off; i < off + len; i++) {
		shadow[i] = 0;
		if (last_row.size && i == last_row.ip_off)
			last_row.size = 0;
	}
}

/* Mostly whole rows. */
static void retire_some(void)
{
	uint32_t off = test_random(TEXT_LEN);
	uint32_t len = 1 + test_random(40);

	if (off + len > TEXT_LEN)
		len = TEXT_LEN - off;
	if (test_random(4)) {
		while (off && shadow[off] && shadow[off - 1] == shadow[off]) {
			off--;
			len++;
		}
		if (shadow[off + len - 1])
			len = row_end[off + len - 1] - off;
	}
	retire(off, len);
}

static void compare(void)
{
	uint32_t i;
	int id;

	for (i = 0; i < TEXT_LEN; i++) {
		id = test_id(text + i);
		if (id != (shadow[i] ? shadow[i] : -ENODATA))
			printf("# at byte %u of the text\n", i);
		CHECK_EQ(id, shadow[i] ? shadow[i] : -ENODATA);
	}
	CHECK_EQ(test_id(text - 1), -ENOENT);
	CHECK_EQ(test_id(text + TEXT_LEN), -ENOENT);
}

static void compare_stat(void)
{
	struct codectl_region_stat stat;

	codectl_region_stat(region, &stat);
	CHECK_EQ(stat.rows, live_rows());
	CHECK_EQ(stat.rows_max, max_rows);
	CHECK(stat.rows_used >= stat.rows && stat.rows_used <= max_rows);
	CHECK(stat.tables * table_rows >= stat.rows_used);
}

static void run_region(unsigned int steps)
{
	struct codectl_region_stat stat;
	unsigned int i, what;

	region = test_open(TEXT_LEN, &attr, &text);
	codectl_region_stat(region, &stat);
	max_rows = stat.rows_max;
	table_rows = attr.table_rows && attr.table_rows < max_rows ?
		     attr.table_rows : max_rows;
	memset(shadow, 0, sizeof(shadow));
	tail_rows = 0;
	tables = 1;

	for (i = 0; i < steps; i++) {
		what = test_random(100);
		if (what < 60)
			add();
		else if (what < 99)
			retire_some();
		else if (attr.flags & CODECTL_REGION_REWRITE)
			CHECK_EQ(codectl_region_compact(region), 0);
		else
			CHECK_EQ(codectl_region_compact(region), -EINVAL);
		if (!test_random(500))
			retire(0, TEXT_LEN);
		compare();
		compare_stat();
	}
	codectl_region_close(region);
	CHECK_EQ(test_id(text), -ENOENT);
	munmap((void *)text, TEXT_LEN);
}

/* Tables of all sizes, from one row to all in one. */
static void run_sizes(unsigned int steps)
{
	static const unsigned int sizes[] = { 0, 1, 2, 3, 5, 7, 8, 16, 64 };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		attr.table_rows = sizes[i];
		attr.max_rows = sizes[i] == 1 ? 64 : 0;
		run_region(steps);
		attr.max_rows = sizes[i] && sizes[i] < 4 ? 64 * sizes[i] : 200;
		run_region(steps);
		attr.max_rows = 11;
		run_region(steps);
	}
}

/* A region that only grows is soon full: many short lives. */
static void run_appending(void)
{
	unsigned int i;

	for (i = 0; i < test_rounds(20); i++)
		run_sizes(STEPS / 80);
}

static void ascending_append(void)
{
	run_appending();
}

static void descending_append(void)
{
	attr.jit_flags = CODE_JIT_DESCENDING;
	run_appending();
}

static void ascending_rewrite(void)
{
	attr.flags = CODECTL_REGION_REWRITE;
	run_sizes(test_rounds(STEPS));
}

static void descending_rewrite(void)
{
	attr.flags = CODECTL_REGION_REWRITE;
	attr.jit_flags = CODE_JIT_DESCENDING;
	run_sizes(test_rounds(STEPS));
}

static const struct test tests[] = {
	TEST(ascending_append),
	TEST(descending_append),
	TEST(ascending_rewrite),
	TEST(descending_rewrite),
};

int main(void)
{
	return test_main(tests, ARRAY_SIZE(tests));
}

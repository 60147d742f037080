// SPDX-License-Identifier: MIT
/*
 * Regions with granule maps: random operations, each followed by a comparison with
 * arrays that have the function and the row for each byte of the text; and what regions
 * report of their space and their names.
 */
#include "../src/internal.h"
#include "stand_in.h"
#include "test.h"

#define TEXT_LEN	1024
#define MAX_FUNC_ROWS	12
#define STEPS		2000
#define MANY_ROWS	10000

static struct codectl_region_attr attr = { .flags = CODECTL_REGION_GRANULES };
static struct codectl_region *region;
static uint64_t text;
static uint32_t granule;

/* For each byte the function, its first and last byte, and the row. */
static int func_of[TEXT_LEN];
static uint32_t func_start[TEXT_LEN], func_end[TEXT_LEN];
static int row_of[TEXT_LEN];
static int last_id, last_func;

static uint32_t make_rows(struct code_jit_unwind_fre *rows, uint32_t len)
{
	uint32_t nr = 0, want = 1 + test_random(MAX_FUNC_ROWS), off = 0, size;

	while (nr < want && off < len) {
		off += !test_random(4);
		if (off >= len)
			break;
		size = 1 + test_random(len - off);
		if (nr + 1 < want && size > 1)
			size = 1 + size / 4;
		rows[nr++] = test_row(off, size, ++last_id);
		off += size;
	}

	return nr;
}

/* Is there a function in one of the granules? */
static bool is_taken(uint32_t off, uint32_t len)
{
	uint32_t i = off / granule * granule;
	uint32_t end = (off + len + granule - 1) / granule * granule;

	for (; i < end && i < TEXT_LEN; i++) {
		if (func_of[i])
			return true;
	}

	return false;
}

static void note(uint32_t off, uint32_t len,
		 const struct code_jit_unwind_fre *rows, uint32_t nr)
{
	uint32_t i, k;

	last_func++;
	for (i = off; i < off + len; i++) {
		func_of[i] = last_func;
		func_start[i] = off;
		func_end[i] = off + len;
	}
	for (i = 0; i < nr; i++)
		for (k = 0; k < rows[i].size; k++)
			row_of[off + rows[i].ip_off + k] = rows[i].cfa_off;
}

static uint32_t count_rows(uint32_t off, uint32_t len)
{
	uint32_t i, nr = 0;

	for (i = off; i < off + len; i++)
		nr += row_of[i] && (i == off || row_of[i - 1] != row_of[i]);

	return nr;
}

static void add(void)
{
	struct code_jit_unwind_fre rows[MAX_FUNC_ROWS];
	uint32_t len = 1 + test_random(100);
	uint32_t off = test_random(TEXT_LEN - len + 1);
	uint32_t nr = make_rows(rows, len);
	int ret;

	if (!nr)
		return;
	if (test_random(4))
		off = off / granule * granule;
	ret = codectl_region_add(region, text + off, len, rows, nr, NULL);
	/* It is unspecified which sizes a small pool has left. */
	if (ret == -ENOSPC && attr.max_rows < MANY_ROWS)
		CHECK(!is_taken(off, len));
	else
		CHECK_EQ(ret, is_taken(off, len) ? -EEXIST : 0);
	if (!ret)
		note(off, len, rows, nr);
}

static void retire(uint32_t off, uint32_t end)
{
	int want = count_rows(off, end - off);
	uint32_t i;

	if ((func_of[off] && func_start[off] < off) ||
	    (func_of[end - 1] && func_end[end - 1] > end))
		want = -EINVAL;
	CHECK_EQ(codectl_region_retire(region, text + off, end - off), want);
	for (i = off; want >= 0 && i < end; i++) {
		func_of[i] = 0;
		row_of[i] = 0;
	}
}

/* Mostly whole functions. */
static void retire_some(void)
{
	uint32_t off = test_random(TEXT_LEN);
	uint32_t end = off + 1 + test_random(200);

	if (end > TEXT_LEN)
		end = TEXT_LEN;
	if (test_random(4)) {
		off = func_of[off] ? func_start[off] : off;
		end = func_of[end - 1] ? func_end[end - 1] : end;
	}
	retire(off, end);
}

static void compare(void)
{
	struct codectl_region_stat stat;
	uint32_t i;

	for (i = 0; i < TEXT_LEN; i++)
		CHECK_EQ(test_id(text + i), row_of[i] ? row_of[i] : -ENODATA);
	codectl_region_stat(region, &stat);
	CHECK_EQ(stat.rows, count_rows(0, TEXT_LEN));
	CHECK(stat.rows_used >= stat.rows && stat.rows_used <= stat.rows_max);
	CHECK_EQ(stat.tables, 0);
}

static void run_steps(unsigned int steps)
{
	granule = 1U << (attr.granule_shift ? attr.granule_shift :
					      CODE_JIT_MIN_SHIFT);
	region = test_open(TEXT_LEN, &attr, &text);
	memset(func_of, 0, sizeof(func_of));
	memset(row_of, 0, sizeof(row_of));
	while (steps--) {
		if (test_random(100) < 60)
			add();
		else if (test_random(100))
			retire_some();
		else
			retire(0, TEXT_LEN);
		compare();
	}
	codectl_region_close(region);
	CHECK_EQ(test_id(text), -ENOENT);
	munmap((void *)text, TEXT_LEN);
}

static void random_operations(void)
{
	attr.max_rows = MANY_ROWS;
	for (attr.granule_shift = CODE_JIT_MIN_SHIFT; attr.granule_shift <= 8;
	     attr.granule_shift++)
		run_steps(STEPS);
	attr.granule_shift = 0;
	run_steps(STEPS);
}

static void random_operations_with_little_space(void)
{
	for (attr.max_rows = 1; attr.max_rows < 200;
	     attr.max_rows += 1 + attr.max_rows / 4)
		run_steps(STEPS / 8);
}

static int open_with(void)
{
	struct codectl_region *r = NULL;
	int ret = codectl_region_open((void *)text, TEXT_LEN, &attr, &r);

	codectl_region_close(r);

	return ret;
}

static void attributes(void)
{
	const struct code_jit_unwind_fre rule = { .cfa_off = 16 };
	uint32_t shift;

	text = test_text(TEXT_LEN);
	for (shift = 0; shift < 40; shift++) {
		attr.granule_shift = shift;
		CHECK_EQ(open_with(), !shift || (shift >= 4 && shift <= 12) ?
			 0 : -EINVAL);
	}
	attr.granule_shift = 0;
	attr.jit_flags = CODE_JIT_CALLSITE;
	CHECK_EQ(open_with(), 0);
	attr.jit_flags = CODE_JIT_DESCENDING;
	CHECK_EQ(open_with(), -EINVAL);
	/* The flags of the region say how. */
	attr.jit_flags = CODE_JIT_GRANULES;
	CHECK_EQ(open_with(), -EINVAL);
	attr.jit_flags = CODE_JIT_DEFAULT_RULE;
	attr.default_rule = &rule;
	CHECK_EQ(open_with(), 0);
	attr.flags = CODECTL_REGION_GRANULES | CODECTL_REGION_NO_ROWS;
	CHECK_EQ(open_with(), -EINVAL);
	attr.flags = CODECTL_REGION_GRANULES | CODECTL_REGION_REWRITE;
	CHECK_EQ(open_with(), -EINVAL);
	attr.flags = CODECTL_REGION_GRANULES;
	attr.table_rows = 5;
	CHECK_EQ(open_with(), -EINVAL);
	attr.table_rows = 0;
	attr.__reserved2 = 1;
	CHECK_EQ(open_with(), -EINVAL);
	attr.__reserved2 = 0;
	attr.flags = 0;
	CHECK_EQ(open_with(), 0);
	attr.granule_shift = 6;
	CHECK_EQ(open_with(), -EINVAL);
}

static uint64_t names_lost(void)
{
	struct codectl_region_stat stat;

	codectl_region_stat(region, &stat);

	return stat.names_lost;
}

/* Rows stay where they are, and names make room for a longer one. */
static void compacting(void)
{
	static char long_name[300];
	uint32_t i;

	memset(long_name, 'x', sizeof(long_name) - 1);
	attr.name_bytes = 1024;
	region = test_open(TEXT_LEN, &attr, &text);
	for (i = 0; !names_lost(); i++)
		CHECK_EQ(test_add(region, text + 16 * i, 16, i + 1, "short"), 0);
	CHECK(i > 8);
	for (i = 0; i < 8; i += 2)
		CHECK_EQ(codectl_region_retire(region, text + 16 * i, 16), 1);
	CHECK_EQ(test_add(region, text, 16, 1, long_name), 0);
	CHECK_EQ(names_lost(), 2);
	CHECK_EQ(codectl_region_retire(region, text, 16), 1);
	CHECK(codectl_region_retire(region, text + 128, TEXT_LEN - 128) > 0);
	CHECK_EQ(codectl_region_compact(region), 0);
	CHECK_EQ(test_add(region, text, 16, 1, long_name), 0);
	CHECK_EQ(names_lost(), 2);
	CHECK_EQ(test_id(text), 1);
	CHECK_EQ(test_id(text + 16), 2);
	codectl_region_close(region);
}

static uint64_t rows_used(void)
{
	struct codectl_region_stat stat;

	codectl_region_stat(region, &stat);

	return stat.rows_used;
}

/* A replacement of the same kind takes no more space, however often. */
static void space_is_used_again(void)
{
	struct code_jit_unwind_fre rows[70];
	uint64_t used = 0;
	uint32_t nr, i;
	int round;

	attr.max_rows = MANY_ROWS;
	region = test_open(TEXT_LEN, &attr, &text);
	for (i = 0; i < ARRAY_SIZE(rows); i++)
		rows[i] = test_row(i, 1, i + 1);
	for (round = 0; round < (int)test_rounds(1000); round++) {
		for (nr = 1; nr <= ARRAY_SIZE(rows); nr++) {
			CHECK_EQ(codectl_region_add(region, text + 16, 80, rows,
						    nr, NULL), 0);
			CHECK_EQ(test_id(text + 15 + nr), nr);
			CHECK_EQ(codectl_region_retire(region, text, TEXT_LEN),
				 nr);
		}
		if (!round)
			used = rows_used();
		CHECK_EQ(rows_used(), used);
	}
	/* One for each size up to 4, and then two for each power of two. */
	CHECK(used < 400);
	codectl_region_close(region);
}

/* Each of the functions takes the row of the record, and one of its own. */
static void space_that_ends(void)
{
	uint32_t i;

	attr.max_rows = 21;
	region = test_open(TEXT_LEN, &attr, &text);
	for (i = 0; i < 10; i++)
		CHECK_EQ(test_add(region, text + 16 * i, 16, i + 1, NULL), 0);
	CHECK_EQ(test_add(region, text + 16 * i, 16, 11, NULL), -ENOSPC);
	CHECK_EQ(test_id(text + 16 * i), -ENODATA);
	CHECK_EQ(codectl_region_retire(region, text + 32, 16), 1);
	CHECK_EQ(test_add(region, text + 16 * i, 16, 11, NULL), 0);
	CHECK_EQ(test_id(text + 16 * i), 11);
	codectl_region_close(region);
}

static void granules_are_not_shared(void)
{
	attr.granule_shift = 6;
	region = test_open(TEXT_LEN, &attr, &text);
	CHECK_EQ(test_add(region, text + 70, 60, 1, NULL), 0);
	CHECK_EQ(test_add(region, text + 130, 10, 2, NULL), -EEXIST);
	CHECK_EQ(test_add(region, text, 65, 2, NULL), -EEXIST);
	CHECK_EQ(test_add(region, text, 64, 2, NULL), 0);
	CHECK_EQ(test_add(region, text + 192, 64, 3, NULL), 0);
	/* It is not there when something next to it retires. */
	CHECK_EQ(codectl_region_retire(region, text + 130, 62), 0);
	CHECK_EQ(codectl_region_retire(region, text + 64, 6), 0);
	CHECK_EQ(codectl_region_retire(region, text + 64, 128), 1);
	codectl_region_close(region);
}

/* One row with the default rule, so that there is something to retire. */
static void default_rule(void)
{
	const struct code_jit_unwind_fre rule = test_row(0, 0, 99);

	attr.jit_flags = CODE_JIT_DEFAULT_RULE;
	attr.default_rule = &rule;
	region = test_open(TEXT_LEN, &attr, &text);
	CHECK_EQ(test_id(text + 20), 99);
	CHECK_EQ(codectl_region_add(region, text + 16, 20, NULL, 0, NULL), 0);
	CHECK_EQ(test_id(text + 20), 99);
	CHECK_EQ(codectl_region_add(region, text + 16, 20, NULL, 0, NULL),
		 -EEXIST);
	CHECK_EQ(codectl_region_retire(region, text + 16, 20), 1);
	CHECK_EQ(test_add(region, text + 16, 20, 5, NULL), 0);
	CHECK_EQ(test_id(text + 20), 5);
	codectl_region_close(region);
}

static void last_bytes_of_the_text(void)
{
	const uint32_t len = 1000;

	attr.granule_shift = 5;
	region = test_open(len, &attr, &text);
	CHECK_EQ(test_add(region, text + len - 1, 1, 1, NULL), 0);
	CHECK_EQ(test_id(text + len - 1), 1);
	CHECK_EQ(test_add(region, text + len - 1, 2, 2, NULL), -EINVAL);
	CHECK_EQ(codectl_region_retire(region, text, len), 1);
	CHECK_EQ(test_add(region, text, len, 3, NULL), 0);
	CHECK_EQ(test_id(text + len - 1), 3);
	codectl_region_close(region);
}

/* As it may be after fork(): the slots of @keep granules only, from @first on. */
static void leave_rest(uint32_t off, uint32_t len, uint32_t first, uint32_t keep)
{
	uint32_t i;

	for (i = off / 16; i < (off + len) / 16; i++) {
		if (i - off / 16 - first >= keep)
			region->slots[i] = 0;
	}
}

/* For a function in 8 granules. */
static void try_rest(uint32_t first, uint32_t keep)
{
	uint32_t at = 16 * first, end = 16 * (first + keep);

	region = test_open(TEXT_LEN, &attr, &text);
	CHECK_EQ(test_add(region, text, 128, 1, NULL), 0);
	leave_rest(0, 128, first, keep);
	CHECK_EQ(test_id(text + at), 1);
	CHECK_EQ(test_add(region, text + at, 16, 2, NULL), -EEXIST);
	/* Others may be before and after it; each retires separately. */
	if (at) {
		CHECK_EQ(test_add(region, text, at, 3, NULL), 0);
		CHECK_EQ(codectl_region_retire(region, text, at), 1);
		CHECK_EQ(test_add(region, text, at, 4, NULL), 0);
	}
	if (end < 128)
		CHECK_EQ(test_add(region, text + end, 128 - end, 5, NULL), 0);
	CHECK_EQ(test_id(text + at), 1);
	/* It goes as a whole, and takes nothing else with it. */
	CHECK_EQ(codectl_region_retire(region, text + end - 1, 1), 1);
	CHECK_EQ(test_id(text + at), -ENODATA);
	CHECK_EQ(test_id(text), at ? 4 : -ENODATA);
	CHECK_EQ(test_id(text + 127), end < 128 ? 5 : -ENODATA);
	CHECK_EQ(test_add(region, text + at, 16 * keep, 6, NULL), 0);
	CHECK_EQ(test_id(text + end - 1), 6);
	CHECK_EQ(codectl_region_retire(region, text, TEXT_LEN),
		 1 + (at > 0) + (end < 128));
	codectl_region_close(region);
}

static void rests_of_functions(void)
{
	uint32_t keep;

	for (keep = 1; keep < 8; keep++) {
		try_rest(0, keep);
		try_rest(8 - keep, keep);
	}
}

/* The kernel may look at the map of a region that it could not be told to forget. */
static void close_refused(bool locked)
{
	const uint32_t *slots;

	stand_in();
	region = test_open(TEXT_LEN, &attr, &text);
	CHECK_EQ(test_add(region, text + 16, 32, 1, NULL), 0);
	slots = region->slots;
	CHECK(slots[1] && slots[2]);
	if (locked)
		CHECK_EQ(mlock(slots, 16), 0);
	stand_in_refuse(EPERM);
	codectl_region_close(region);
	CHECK(!slots[0] && !slots[1] && !slots[2]);
	CHECK_EQ(test_id(text + 16), -ENOENT);
}

static void refused_at_the_end(void)
{
	close_refused(false);
}

static void refused_while_memory_is_locked(void)
{
	close_refused(true);
}

static void names(void)
{
	struct codectl_region_stat stat;

	region = test_open(TEXT_LEN, &attr, &text);
	CHECK_EQ(test_add(region, text + 512, 16, 1, "one"), 0);
	CHECK_EQ(test_add(region, text, 16, 2, "two"), 0);
	CHECK_EQ(test_add(region, text, 16, 3, "three"), -EEXIST);
	codectl_region_stat(region, &stat);
	CHECK_EQ(stat.names, 2);
	CHECK_EQ(codectl_region_retire(region, text + 512, 16), 1);
	codectl_region_stat(region, &stat);
	CHECK_EQ(stat.names, 1);
	codectl_region_close(region);
}

static const struct test tests[] = {
	TEST(random_operations),
	TEST(random_operations_with_little_space),
	TEST(attributes),
	TEST(compacting),
	TEST(space_is_used_again),
	TEST(space_that_ends),
	TEST(granules_are_not_shared),
	TEST(default_rule),
	TEST(last_bytes_of_the_text),
	TEST(rests_of_functions),
	TEST(refused_at_the_end),
	TEST(refused_while_memory_is_locked),
	TEST(names),
};

int main(void)
{
	return test_main(tests, ARRAY_SIZE(tests));
}

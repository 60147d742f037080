// SPDX-License-Identifier: MIT
/*
 * What regions accept, refuse and report about themselves.
 */
#include <sys/resource.h>

#include "stand_in.h"
#include "test.h"

#define LEN	(16 * PAGE)

static struct codectl_region *region;
static uint64_t text;

static int try_open(size_t len, const struct codectl_region_attr *attr)
{
	struct codectl_region *opened;
	int ret = codectl_region_open((void *)text, len, attr, &opened);

	if (!ret)
		codectl_region_close(opened);

	return ret;
}

static void open_errors(void)
{
	struct code_jit_unwind_fre rule = { .cfa_off = 16, .ra_off = -8 };
	struct codectl_region_attr bad[] = {
		{ .flags = 8 },
		{ .flags = CODECTL_REGION_NO_ROWS },
		{ .flags = CODECTL_REGION_NO_ROWS | CODECTL_REGION_REWRITE,
		  .jit_flags = CODE_JIT_DEFAULT_RULE, .default_rule = &rule },
		{ .flags = CODECTL_REGION_NO_ROWS, .max_rows = 1,
		  .jit_flags = CODE_JIT_DEFAULT_RULE, .default_rule = &rule },
		{ .flags = CODECTL_REGION_NO_ROWS, .table_rows = 1,
		  .jit_flags = CODE_JIT_DEFAULT_RULE, .default_rule = &rule },
		{ .jit_flags = 8 },
		{ .jit_flags = CODE_JIT_DEFAULT_RULE },
		{ .default_rule = &rule },
		{ .max_rows = 1ULL << 41 },
		{ .table_rows = 1ULL << 63 },
		{ .name_bytes = 1ULL << 41 },
		{ .__reserved = { 0, 0, 1 } },
	};
	struct codectl_region_attr huge = { .max_rows = 1ULL << 40,
					    .name_bytes = 1ULL << 40 };
	size_t i;

	text = test_text(LEN);
	for (i = 0; i < ARRAY_SIZE(bad); i++)
		CHECK_EQ(try_open(LEN, &bad[i]), -EINVAL);
	CHECK_EQ(try_open(0, NULL), -EINVAL);
	CHECK_EQ(try_open(-text, NULL), -EINVAL);
	CHECK_EQ(codectl_region_open((void *)-PAGE, 2 * PAGE, NULL, &region),
		 -EINVAL);
	CHECK_EQ(codectl_region_open(NULL, LEN, NULL, &region), -EINVAL);
	text = test_text(CODE_JIT_MAX_TEXT + PAGE);
	CHECK_EQ(try_open(CODE_JIT_MAX_TEXT + 1, NULL), -EINVAL);
	/* 24 TiB of rows fit into the address space, twice that do not. */
	huge.max_rows = 1ULL << 40;
	for (i = 0; i < 16 && !codectl_region_open((void *)(text + i * PAGE),
						   PAGE, &huge, &region); i++)
		;
	CHECK(i < 16);
	CHECK_EQ(codectl_region_open((void *)(text + i * PAGE), PAGE, &huge,
				     &region), -ENOMEM);
	codectl_region_close(NULL);
}

static void overlapping_regions(void)
{
	struct codectl_region *other;

	region = test_open(LEN, NULL, &text);
	CHECK_EQ(codectl_region_open((void *)text, LEN, NULL, &other), -EEXIST);
	CHECK_EQ(codectl_region_open((void *)(text + LEN - 1), 1, NULL, &other),
		 -EEXIST);
	codectl_region_close(region);
	CHECK_EQ(try_open(LEN, NULL), 0);
	CHECK_EQ(try_open(LEN, NULL), 0);
}

/* Adjacent regions do not overlap, on either side. */
static void regions_that_touch(void)
{
	struct codectl_region *around[2];

	text = test_text(3 * PAGE);
	CHECK_EQ(codectl_region_open((void *)(text + PAGE), PAGE, NULL,
				     &region), 0);
	CHECK_EQ(codectl_region_open((void *)text, PAGE, NULL, &around[0]), 0);
	CHECK_EQ(codectl_region_open((void *)(text + 2 * PAGE), PAGE, NULL,
				     &around[1]), 0);
	CHECK_EQ(test_add(around[0], text + PAGE - 8, 8, 1, NULL), 0);
	CHECK_EQ(test_add(region, text + PAGE, PAGE, 2, NULL), 0);
	CHECK_EQ(test_add(around[1], text + 2 * PAGE, 8, 3, NULL), 0);
	CHECK_EQ(test_id(text + PAGE - 1), 1);
	CHECK_EQ(test_id(text + PAGE), 2);
	CHECK_EQ(test_id(text + 2 * PAGE - 1), 2);
	CHECK_EQ(test_id(text + 2 * PAGE), 3);
}

/* In whatever order they go, the others stay. */
static void regions_beside(void)
{
	struct codectl_region *regions[3];
	uint64_t texts[3];
	unsigned int i;

	for (i = 0; i < 3; i++) {
		regions[i] = test_open(LEN, NULL, &texts[i]);
		CHECK_EQ(test_add(regions[i], texts[i], 8, i, NULL), 0);
	}
	codectl_region_close(regions[0]);
	CHECK_EQ(test_id(texts[0]), -ENOENT);
	CHECK_EQ(test_id(texts[1]), 1);
	CHECK_EQ(test_id(texts[2]), 2);
	codectl_region_close(regions[2]);
	CHECK_EQ(test_id(texts[1]), 1);
	codectl_region_close(regions[1]);
	CHECK_EQ(test_id(texts[1]), -ENOENT);
}

#define MANY	2000

/* A page of text each, with a page between it and the next; closed at random. */
static void many_regions(void)
{
	static struct codectl_region *regions[MANY];
	struct codectl_region_attr attr = { .max_rows = 16, .name_bytes = 1 };
	uint64_t start;
	unsigned int i;

	text = test_text(2 * MANY * PAGE);
	for (i = 0; i < 2 * MANY; i++) {
		unsigned int at = test_random(MANY);

		start = text + 2 * at * PAGE;
		if (regions[at]) {
			codectl_region_close(regions[at]);
			regions[at] = NULL;
			continue;
		}
		CHECK_EQ(codectl_region_open((void *)start, PAGE, &attr,
					     &regions[at]), 0);
		CHECK_EQ(test_add(regions[at], start, PAGE, at, NULL), 0);
	}
	for (i = 0; i < MANY; i++) {
		start = text + 2 * i * PAGE;
		CHECK_EQ(test_id(start), regions[i] ? (int)i : -ENOENT);
		CHECK_EQ(test_id(start + PAGE - 1),
			 regions[i] ? (int)i : -ENOENT);
		CHECK_EQ(test_id(start - 1), -ENOENT);
		CHECK_EQ(test_id(start + PAGE), -ENOENT);
	}
}

/* Without codectl(2) nobody knows, and it makes no difference. */
static void kernel_knows(void)
{
	bool here = !codectl_probe();
	struct codectl_region_stat stat;
	struct code_jit_info info;

	if (getenv("EXPECT_ALL_FEATURES"))
		CHECK(here);
	region = test_open(LEN, NULL, &text);
	codectl_region_stat(region, &stat);
	CHECK_EQ(stat.registered, here);

	info = (struct code_jit_info) {
		.text_start = text,
		.text_end = text + LEN,
		.unwind_head = text,
	};
	if (here)
		CHECK_EQ(codectl_syscall(CODE_REGISTER_JIT, &info,
					 sizeof(info), 0), -EEXIST);
	codectl_region_close(region);
	if (here) {
		CHECK_EQ(codectl_syscall(CODE_REGISTER_JIT, &info,
					 sizeof(info), 0), 0);
		CHECK_EQ(try_open(LEN, NULL), -EEXIST);
		/* A hole that nothing else is placed in. */
		munmap((void *)(text + PAGE), PAGE);
		CHECK_EQ(try_open(LEN, NULL), -EINVAL);
	}
}

/* The text was unmapped, and other text is in its place; the kernel has noticed. */
static void map_anew(void)
{
	struct code_unregister_info info = {
		.text_start = text,
		.text_end = text + LEN,
	};
	int ret;

	CHECK_EQ(munmap((void *)text, LEN), 0);
	CHECK(mmap((void *)text, LEN, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS |
		   MAP_FIXED, -1, 0) != MAP_FAILED);
	ret = codectl_syscall(CODE_UNREGISTER, &info, sizeof(info), 0);
	CHECK(!ret || ret == -ENOENT);
}

static uint32_t is_registered(const struct codectl_region *which)
{
	struct codectl_region_stat stat;

	codectl_region_stat(which, &stat);

	return stat.registered;
}

/* It is recognised as stale, takes nothing more, and is not in the way. */
static void stale_regions(void)
{
	struct codectl_region *old, *new;

	stand_in();
	old = test_open(LEN, NULL, &text);
	CHECK_EQ(test_add(old, text, 16, 1, "old"), 0);
	CHECK_EQ(is_registered(old), 1);
	map_anew();
	CHECK_EQ(is_registered(old), 0);
	CHECK_EQ(is_registered(old), 0);
	CHECK_EQ(codectl_region_open((void *)text, PAGE, NULL, &new), 0);
	CHECK_EQ(test_add(new, text, 16, 2, "new"), 0);
	CHECK_EQ(test_add(old, text + 16, 16, 1, "old"), -ESTALE);
	CHECK_EQ(codectl_region_retire(old, text, 16), -ESTALE);
	CHECK_EQ(test_add(new, text + PAGE, 16, 2, "new"), -EINVAL);
	CHECK_EQ(test_id(text), 2);
	CHECK_EQ(test_id(text + PAGE), -ENOENT);
	codectl_region_close(old);
	CHECK_EQ(test_id(text), 2);
	CHECK_EQ(is_registered(new), 1);
	codectl_region_close(new);
	CHECK_EQ(test_id(text), -ENOENT);
}

/* Several of them, and one that is still there. */
static void region_over_stale_ones(void)
{
	struct codectl_region *old[3], *new;
	unsigned int i;

	stand_in();
	text = test_text(LEN);
	for (i = 0; i < 2; i++)
		CHECK_EQ(codectl_region_open((void *)(text + 2 * i * PAGE),
					     PAGE, NULL, &old[i]), 0);
	map_anew();
	for (i = 0; i < 2; i++) {
		struct code_unregister_info info = {
			.text_start = text + 2 * i * PAGE,
			.text_end = text + (2 * i + 1) * PAGE,
		};

		codectl_syscall(CODE_UNREGISTER, &info, sizeof(info), 0);
	}
	CHECK_EQ(codectl_region_open((void *)(text + 8 * PAGE), PAGE, NULL,
				     &old[2]), 0);
	CHECK_EQ(codectl_region_open((void *)text, LEN, NULL, &new), -EEXIST);
	CHECK_EQ(codectl_region_open((void *)text, 8 * PAGE, NULL, &new), 0);
	for (i = 0; i < 2; i++)
		CHECK_EQ(test_add(old[i], text + 2 * i * PAGE, 16, i, NULL),
			 -ESTALE);
	CHECK_EQ(test_add(old[2], text + 8 * PAGE, 16, 5, NULL), 0);
	CHECK_EQ(test_add(new, text, 8 * PAGE, 6, NULL), 0);
	CHECK_EQ(test_id(text + 8 * PAGE - 1), 6);
	CHECK_EQ(test_id(text + 8 * PAGE), 5);
}

/* What the kernel would not accept is not accepted without it, either. */
static void text_that_is_not_mapped(void)
{
	text = test_text(LEN);
	CHECK_EQ(munmap((void *)(text + 3 * PAGE), PAGE), 0);
	CHECK_EQ(try_open(LEN, NULL), -EINVAL);
	CHECK_EQ(try_open(3 * PAGE, NULL), 0);
	CHECK_EQ(try_open(3 * PAGE + 1, NULL), -EINVAL);
	text += 4 * PAGE;
	CHECK_EQ(try_open(LEN - 4 * PAGE, NULL), 0);
	text -= 1;
	CHECK_EQ(try_open(PAGE, NULL), -EINVAL);
}

static void filter_that_pretends(void)
{
	stand_in_refuse(0);
	CHECK_EQ(codectl_probe(), -ENOSYS);
	region = test_open(LEN, NULL, &text);
	CHECK_EQ(is_registered(region), 0);
	CHECK_EQ(try_open(LEN, NULL), -EEXIST);
	CHECK_EQ(test_add(region, text, 16, 1, NULL), 0);
	codectl_region_close(region);
}

/* HotSpot's heap, if address space is short. */
static void __attribute__((__unused__)) little_address_space(void)
{
	const size_t len = 240UL << 20;
	struct rlimit limit = { .rlim_cur = 1UL << 30, .rlim_max = 1UL << 30 };
	struct codectl_region_attr attr = { .max_rows = len / 8 };
	struct codectl_region_stat stat;

	text = test_text(len);
	CHECK_EQ(setrlimit(RLIMIT_AS, &limit), 0);
	CHECK_EQ(codectl_region_open((void *)text, len, NULL, &region), 0);
	codectl_region_stat(region, &stat);
	CHECK(stat.rows_max >= len / 64);
	codectl_region_close(region);
	/* All that was asked for, or nothing. */
	attr.name_bytes = 2 * len;
	CHECK_EQ(try_open(len, &attr), -ENOMEM);
}

/* The kernel may have dropped the region: its memory is freed all the same. */
static void dropped_by_the_kernel(void)
{
	struct code_unregister_info info;
	unsigned char mapped;

	stand_in();
	region = test_open(LEN, NULL, &text);
	info = (struct code_unregister_info) {
		.text_start = text,
		.text_end = text + LEN,
	};
	CHECK_EQ(codectl_syscall(CODE_UNREGISTER, &info, sizeof(info), 0), 0);
	CHECK_EQ(mincore(region, 1, &mapped), 0);
	codectl_region_close(region);
	CHECK_EQ(mincore(region, 1, &mapped), -1);
	CHECK_EQ(errno, ENOMEM);
}

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
	TEST(open_errors),
	TEST(overlapping_regions),
	TEST(regions_that_touch),
	TEST(regions_beside),
	TEST(many_regions),
	TEST(kernel_knows),
	TEST(dropped_by_the_kernel),
	TEST(stale_regions),
	TEST(region_over_stale_ones),
	TEST(text_that_is_not_mapped),
	TEST(filter_that_pretends),
#ifndef __SANITIZE_ADDRESS__
	/* This sanitizer takes terabytes for itself. */
	TEST(little_address_space),
#endif
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

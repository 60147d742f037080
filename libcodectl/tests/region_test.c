// SPDX-License-Identifier: MIT
/*
 * Regions: which text they may have, what they report about themselves, and when they end.
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
};

int main(void)
{
	return test_main(tests, ARRAY_SIZE(tests));
}

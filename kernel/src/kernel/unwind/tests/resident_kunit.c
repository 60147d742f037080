// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of tables in the kernel's memory: they agree with the decoder about the
 * section that they were built from, address by address
 */
#include <linux/err.h>
#include <linux/sizes.h>

#include "../resident.h"
#include "sframe_image.h"

/* The word for what the decoder says; a rule that does not fit into it is at @step. */
static u64 decoded(const struct sframe_section *sec, unsigned long addr,
		   struct unwind_step *step)
{
	struct unwind_rule rule;

	switch (sframe_find(sec, addr, &rule)) {
	case 0:
		*step = rule.step;
		return kept_rule(&rule.step);
	case -ENODATA:
		return KEPT_TYPE(KEPT_NOTHING);
	default:
		return KEPT_TYPE(KEPT_UNCOVERED);
	}
}

static void expect_same(struct kunit *test, const struct resident_table *table,
			const struct sframe_section *sec, unsigned long addr)
{
	struct unwind_step step = {}, want = {};
	u64 rule = resident_find(table, addr, true, &step);
	u64 right = decoded(sec, addr, &want);

	if (kept_type(right) != KEPT_ASIDE) {
		KUNIT_EXPECT_EQ_MSG(test, rule, right, "at %#lx", addr);
		return;
	}
	KUNIT_EXPECT_EQ(test, kept_type(rule), KEPT_ASIDE);
	KUNIT_EXPECT_EQ(test, step.flags, want.flags);
	KUNIT_EXPECT_EQ(test, step.cfa.kind, want.cfa.kind);
	KUNIT_EXPECT_EQ(test, step.cfa.base, want.cfa.base);
	KUNIT_EXPECT_EQ(test, step.cfa.off, want.cfa.off);
	KUNIT_EXPECT_EQ(test, step.ra.off, want.ra.off);
	KUNIT_EXPECT_EQ(test, step.fp.kind, want.fp.kind);
}

static void encode_and_compare(struct kunit *test, const struct fde_spec *fdes,
			       unsigned int nr, s64 start, s64 end)
{
	struct image *img = test->priv;
	struct resident_table *table;
	struct sframe_section sec;
	s64 addr;

	encode(img, FLAGS, 0, -8, fdes, nr);
	KUNIT_ASSERT_EQ(test, load(test, img, &sec), 0);
	table = resident_build(&sec, SZ_1M);
	KUNIT_ASSERT_FALSE(test, IS_ERR(table));
	for (addr = start; addr < end; addr++)
		expect_same(test, table, &sec, sec.start + addr);
	resident_free(table);
}

/* Functions with rows, one without, gaps, and functions that overlap. */
static void same_as_decoder(struct kunit *test)
{
	static const struct fde_spec fdes[] = {
		{ .func = -0x2000, .size = 0x40, .nr = 3, .fre = {
			{ 0, INFO(SP, 1, 0), { 8 } },
			{ 1, INFO(SP, 2, 0), { 16, -16 } },
			{ 0x3f, INFO(SP, 1, 0), { 8 } } } },
		{ .func = -0x1fc0, .size = 0x20, .nr = 1, .fre = {
			{ 0, INFO(SP, 1, 0), { 8 } } } },
		{ .func = -0x1f00, .size = 0x30, .nr = 0 },
		{ .func = -0x1e00, .size = 0x300, .info = SFRAME_FRE_TYPE_ADDR2,
		  .nr = 3, .fre = {
			{ 0, INFO(FP, 2, 0), { 16, -16 } },
			{ 0x80, INFO(FP, 0, 0) },
			{ 0x180, INFO(FP, 2, 0), { 16, -16 } } } },
		{ .func = -0x1d00, .size = 0x80, .nr = 1, .fre = {
			{ 0, INFO(SP, 1, 1), { 0x4000 } } } },
		{ .func = -0x1c00, .size = 0x400, .rep_size = 16, .nr = 2,
		  .info = SFRAME_FDE_INFO_PCTYPE_MASK, .fre = {
			{ 0, INFO(SP, 1, 0), { 8 } },
			{ 11, INFO(SP, 1, 0), { 16 } } } },
		{ .func = -0x1700, .size = 10, .info = SFRAME_FDE_INFO_SIGNAL },
		{ .func = -0x1600, .size = 64, .nr = 1, .info2 = SFRAME_FDE_TYPE_FLEX,
		  .fre = { { 0, INFO(FP, 6, 2), { REG(R10), 0x10000,
			     DEREF_CFA, -8, DEREF(FP), 0 } } } },
		{ .func = -0x1500, .size = 64, .nr = 1, .info = SFRAME_FDE_INFO_SIGNAL,
		  .fre = { { 0, INFO(SP, 1, 0), { 8 } } } },
	};

	encode_and_compare(test, fdes, ARRAY_SIZE(fdes), -0x2010, -0x1400);
}

/* An empty function says nothing, nor about what is between it and the next one. */
static void empty_function_first(struct kunit *test)
{
	static const struct fde_spec fdes[] = {
		{ .func = -0x1000, .size = 0 },
		{ .func = -0xf00, .size = 0x40, .nr = 1, .fre = {
			{ 0, INFO(SP, 1, 0), { 8 } } } },
		{ .func = -0xe00, .size = 0 },
	};

	encode_and_compare(test, fdes, ARRAY_SIZE(fdes), -0x1010, -0xd00);
}

/* Without FREs there is no rule; that does not mean that nothing covers the code. */
static void no_rule_is_no_gap(struct kunit *test)
{
	static const struct fde_spec fdes[] = {
		{ .func = -0x1000, .size = 0x40, .nr = 1, .fre = {
			{ 0, INFO(SP, 1, 0), { 8 } } } },
		{ .func = -0xfc0, .size = 0x300 },
		{ .func = -0xcc0, .size = 0x40, .nr = 1, .fre = {
			{ 0, INFO(SP, 1, 0), { 8 } } } },
		{ .func = -0xc00, .size = 0x40 },
	};
	static const struct {
		s64 addr;
		bool exact;
		enum kept_type type;
	} cases[] = {
		/* What returns there was called from the function before. */
		{ -0xfc0, false, KEPT_COMMON },
		{ -0xfc0, true, KEPT_NOTHING }, { -0xe00, true, KEPT_NOTHING },
		{ -0xcc1, true, KEPT_NOTHING }, { -0xcc0, false, KEPT_NOTHING },
		{ -0xcc0, true, KEPT_COMMON },
		{ -0xc80, true, KEPT_UNCOVERED }, { -0xc01, true, KEPT_UNCOVERED },
		{ -0xc00, true, KEPT_NOTHING }, { -0xbc0, false, KEPT_NOTHING },
		{ -0xbc0, true, KEPT_UNCOVERED },
	};
	struct image *img = test->priv;
	struct resident_table *table;
	struct sframe_section sec;
	struct unwind_step step;
	unsigned int i;
	u64 rule;

	encode(img, FLAGS, 0, -8, fdes, ARRAY_SIZE(fdes));
	KUNIT_ASSERT_EQ(test, load(test, img, &sec), 0);
	table = resident_build(&sec, SZ_1M);
	KUNIT_ASSERT_FALSE(test, IS_ERR(table));
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		rule = resident_find(table, sec.start + cases[i].addr,
				     cases[i].exact, &step);
		KUNIT_EXPECT_EQ_MSG(test, kept_type(rule), cases[i].type,
				    "case %u", i);
	}
	resident_free(table);
}

/* Where a handler returns to, though nobody called what is ahead of it. */
static void signal_after_function(struct kunit *test)
{
	static const struct fde_spec fdes[] = {
		{ .func = -0x1000, .size = 0x40, .nr = 1, .fre = {
			{ 0, INFO(SP, 1, 0), { 8 } } } },
		{ .func = -0xfc0, .size = 9, .info = SFRAME_FDE_INFO_SIGNAL },
	};
	struct image *img = test->priv;
	struct resident_table *table;
	struct sframe_section sec;
	struct unwind_step step;
	unsigned long signal;

	encode(img, FLAGS, 0, -8, fdes, 2);
	KUNIT_ASSERT_EQ(test, load(test, img, &sec), 0);
	table = resident_build(&sec, SZ_1M);
	KUNIT_ASSERT_FALSE(test, IS_ERR(table));
	signal = sec.start + fdes[1].func;
	KUNIT_EXPECT_EQ(test, kept_type(resident_find(table, signal, false, &step)),
			KEPT_SIGNAL);
	KUNIT_EXPECT_EQ(test, kept_type(resident_find(table, signal - 1, false,
						      &step)), KEPT_COMMON);
	resident_free(table);
}

/* Returns into a hole have no rule, except those to a signal's frame. */
static void hole_before_signal(struct kunit *test)
{
	static const struct fde_spec fdes[] = {
		{ .func = -0x1000, .size = 0x40, .nr = 1, .fre = {
			{ 0, INFO(SP, 1, 0), { 8 } } } },
		{ .func = -0xf00, .size = 9, .info = SFRAME_FDE_INFO_SIGNAL },
	};
	static const u64 bias = 0x5000;
	unsigned long start = 0, end = ULONG_MAX, first, addr;
	struct image *img = test->priv;
	struct resident_table *table;
	struct sframe_section sec;
	struct unwind_step step;
	u64 rule;

	encode(img, FLAGS, 0, -8, fdes, 2);
	KUNIT_ASSERT_EQ(test, load(test, img, &sec), 0);
	table = resident_build(&sec, SZ_1M);
	KUNIT_ASSERT_FALSE(test, IS_ERR(table));

	first = sec.start - 0x1000 - bias;
	for (addr = first; addr < first + 0x109; addr++) {
		rule = resident_find(table, addr + bias, true, &step);
		KUNIT_EXPECT_EQ(test, resident_find_hole(table, addr, bias, &start, &end),
				kept_type(rule) == KEPT_UNCOVERED);
	}
	KUNIT_EXPECT_EQ(test, start, first + 0x40);
	KUNIT_EXPECT_EQ(test, end, first + 0xff);
	for (addr = start; addr <= end; addr++) {
		rule = resident_find(table, addr + 1 + bias, false, &step);
		KUNIT_EXPECT_EQ(test, kept_type(rule),
				addr < end ? KEPT_UNCOVERED : KEPT_SIGNAL);
	}

	/* What is narrower already stays so. */
	start += 3;
	end -= 5;
	KUNIT_EXPECT_TRUE(test, resident_find_hole(table, start, bias, &start, &end));
	KUNIT_EXPECT_EQ(test, start, first + 0x43);
	KUNIT_EXPECT_EQ(test, end, first + 0xfa);
	resident_free(table);
}

/* Rows of text that is longer than one block of the index. */
static void many_blocks(struct kunit *test)
{
	struct fde_spec *fdes = kunit_kcalloc(test, 60, sizeof(*fdes), GFP_KERNEL);
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, fdes);
	for (i = 0; i < 60; i++)
		fdes[i] = (struct fde_spec) {
			.func = -0x10000 + (s64)i * i * 7, .size = 7 + i, .nr = 2,
			.fre = { { 0, INFO(SP, 1, 1), { 8 * (i + 1) } },
				 { 3, INFO(SP, 1, 1), { 8 * (i + 2) } } },
		};
	encode_and_compare(test, fdes, 60, -0x10010, -0x10000 + 60 * 60 * 7);
}

static int build(struct kunit *test, const struct fde_spec *fdes,
		 unsigned int nr, size_t max)
{
	struct image *img = test->priv;
	struct resident_table *table;
	struct sframe_section sec;

	encode(img, FLAGS, 0, -8, fdes, nr);
	KUNIT_ASSERT_EQ(test, load(test, img, &sec), 0);
	table = resident_build(&sec, max);
	if (IS_ERR(table))
		return PTR_ERR(table);
	resident_free(table);

	return 0;
}

static void refused(struct kunit *test)
{
	const struct fde_spec good = {
		.func = -0x1000, .size = 16, .nr = 1,
		.fre = { { 0, INFO(SP, 1, 0), { 8 } } },
	};
	struct fde_spec fdes[3] = { good, good, good };

	KUNIT_EXPECT_EQ(test, build(test, fdes, 2, SZ_1M), 0);
	KUNIT_EXPECT_EQ(test, build(test, fdes, 0, SZ_1M), -ENODATA);
	KUNIT_EXPECT_EQ(test, build(test, fdes, 2, SZ_1K), -ENOSPC);

	fdes[1].func = good.func - 1;
	KUNIT_EXPECT_EQ(test, build(test, fdes, 2, SZ_1M), -EINVAL);
	/* After the first one, in which it is, but not after the second. */
	fdes[0].size = 0x200;
	fdes[1].func = good.func + 0x100;
	fdes[2].func = good.func + 0x80;
	KUNIT_EXPECT_EQ(test, build(test, fdes, 3, SZ_1M), -EINVAL);
	fdes[0] = good;
	fdes[1].func = good.func + U32_MAX;
	KUNIT_EXPECT_EQ(test, build(test, fdes, 2, SZ_1M), -EINVAL);

	/* So far apart that what is between them takes more than they do. */
	fdes[1].func = good.func + 4 * SZ_1M;
	KUNIT_EXPECT_EQ(test, build(test, fdes, 2, SZ_1M), 0);
	fdes[1].func = good.func + 8 * SZ_1M;
	KUNIT_EXPECT_EQ(test, build(test, fdes, 2, SZ_1M), -E2BIG);

	/* The last row of the last function, too. */
	fdes[1].func = good.func + 16;
	fdes[1].fre[0].start = 1;
	KUNIT_EXPECT_EQ(test, build(test, fdes, 2, SZ_1M), -EINVAL);
	fdes[1] = good;
	fdes[1].func += 16;
	fdes[1].info2 = 2;
	KUNIT_EXPECT_EQ(test, build(test, fdes, 2, SZ_1M), -EOPNOTSUPP);
}

static struct kunit_case resident_test_cases[] = {
	KUNIT_CASE(same_as_decoder),
	KUNIT_CASE(empty_function_first),
	KUNIT_CASE(no_rule_is_no_gap),
	KUNIT_CASE(signal_after_function),
	KUNIT_CASE(hole_before_signal),
	KUNIT_CASE(many_blocks),
	KUNIT_CASE(refused),
	{}
};

static struct kunit_suite resident_test_suite = {
	.name = "codectl_resident",
	.init = image_test_init,
	.test_cases = resident_test_cases,
};

kunit_test_suite(resident_test_suite);

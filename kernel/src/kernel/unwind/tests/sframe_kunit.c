// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of the SFrame decoder: what it finds in well-formed sections
 */
#include "sframe_image.h"

static void expect_loc(struct kunit *test, const char *name, const char *what,
		       const struct unwind_loc *loc, const struct unwind_loc *want)
{
	KUNIT_EXPECT_EQ_MSG(test, loc->kind, want->kind, "%s: %s", name, what);
	if (want->kind == UNWIND_LOC_SAME)
		return;
	KUNIT_EXPECT_EQ_MSG(test, loc->base, want->base, "%s: %s", name, what);
	KUNIT_EXPECT_EQ_MSG(test, loc->off, want->off, "%s: %s", name, what);
}

static void fre_types_and_word_sizes(struct kunit *test)
{
	static const u32 starts[] = { 0xfe, 0xfffe, 0xfffffffe };
	static const s32 words[] = { -128, -32768, S32_MIN };
	struct image *img = test->priv;
	struct sframe_section sec;
	unsigned int type, size;
	struct unwind_rule rule;

	for (type = 0; type < 3; type++) {
		for (size = 0; size < 3; size++) {
			const struct fde_spec fde = {
				.func = -0x800000000, .size = starts[type] + 1,
				.info = type, .nr = 2, .fre = {
					{ 0, INFO(SP, 1, 0), { 8 } },
					{ starts[type], INFO(FP, 2, size),
					  { ~words[size], words[size] } },
				},
			};

			encode(img, FLAGS, 0, -8, &fde, 1);
			KUNIT_ASSERT_EQ(test, load(test, img, &sec), 0);

			KUNIT_EXPECT_EQ(test, find(&sec, fde.func, &rule), 0);
			KUNIT_EXPECT_EQ(test, rule.cfa.off, 8);
			KUNIT_EXPECT_EQ(test, find(&sec, fde.func + starts[type] - 1,
						   &rule), 0);
			KUNIT_EXPECT_EQ(test, rule.cfa.off, 8);
			KUNIT_EXPECT_EQ(test, rule.start, sec.start + fde.func);
			KUNIT_EXPECT_EQ(test, rule.size, fde.size);

			KUNIT_EXPECT_EQ(test, find(&sec, fde.func + starts[type],
						   &rule), 0);
			KUNIT_EXPECT_EQ(test, rule.cfa.base, FP);
			KUNIT_EXPECT_EQ(test, rule.cfa.off, ~words[size]);
			KUNIT_EXPECT_EQ(test, rule.fp.off, words[size]);
			KUNIT_EXPECT_EQ(test, find(&sec, fde.func + fde.size,
						   &rule), -ENOENT);
		}
	}
}

#define BISECT_MAX	150
#define BISECT_STEP	0x1000
#define BISECT_SIZE	0x800

static void bisect(struct kunit *test, u8 flags, s64 func, unsigned int nr)
{
	struct fde_spec *fdes = kunit_kcalloc(test, BISECT_MAX, sizeof(*fdes),
					      GFP_KERNEL);
	struct image *img = test->priv;
	struct sframe_section sec;
	struct unwind_rule rule;
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, fdes);
	for (i = 0; i < nr; i++)
		fdes[i] = (struct fde_spec) {
			.func = func + (s64)i * BISECT_STEP,
			.size = BISECT_SIZE, .nr = 1,
			.fre = { { 0, INFO(SP, 1, 1), { 8 * (i + 1) } } },
		};
	encode(img, flags, 0, -8, fdes, nr);
	KUNIT_ASSERT_EQ(test, load(test, img, &sec), 0);

	KUNIT_EXPECT_EQ(test, find(&sec, func - 1, &rule), -ENOENT);
	for (i = 0; i < nr; i++) {
		s64 start = fdes[i].func;

		KUNIT_EXPECT_EQ(test, find(&sec, start, &rule), 0);
		KUNIT_EXPECT_EQ(test, rule.cfa.off, 8 * (i + 1));
		KUNIT_EXPECT_EQ(test, find(&sec, start + BISECT_SIZE - 1, &rule),
				0);
		KUNIT_EXPECT_EQ(test, rule.cfa.off, 8 * (i + 1));
		KUNIT_EXPECT_EQ(test, find(&sec, start + BISECT_SIZE, &rule),
				-ENOENT);
		KUNIT_EXPECT_EQ(test, find(&sec, start + BISECT_STEP - 1, &rule),
				-ENOENT);
	}
	KUNIT_EXPECT_EQ(test, sframe_find(&sec, ULONG_MAX, &rule), -ENOENT);
	KUNIT_EXPECT_EQ(test, sframe_find(&sec, 0, &rule), -ENOENT);
	kunit_kfree(test, fdes);
}

static void bisection(struct kunit *test)
{
	static const s64 funcs[] = { -0x100000, 0x100000, -0x1200000000 };
	static const unsigned int nrs[] = {
		0, 1, 2, 3, 4, 7, 8, 9, 63, 64, BISECT_MAX
	};
	unsigned int i, j;

	for (i = 0; i < ARRAY_SIZE(funcs); i++) {
		for (j = 0; j < ARRAY_SIZE(nrs); j++) {
			bisect(test, FLAGS, funcs[i], nrs[j]);
			bisect(test, SFRAME_F_FDE_SORTED, funcs[i], nrs[j]);
		}
	}
}

static void pc_mask(struct kunit *test)
{
	struct fde_spec fde = {
		.func = -0x1000, .size = 0x100, .rep_size = 16, .nr = 2,
		.info = SFRAME_FDE_INFO_PCTYPE_MASK, .fre = {
			{ 0, INFO(SP, 1, 0), { 8 } },
			{ 11, INFO(SP, 1, 0), { 16 } },
		},
	};
	struct image *img = test->priv;
	struct sframe_section sec;
	struct unwind_rule rule;
	unsigned int i;

	encode(img, FLAGS, 0, -8, &fde, 1);
	KUNIT_ASSERT_EQ(test, load(test, img, &sec), 0);
	for (i = 0; i < fde.size; i++) {
		KUNIT_EXPECT_EQ(test, find(&sec, fde.func + i, &rule), 0);
		KUNIT_EXPECT_EQ(test, rule.cfa.off, i % 16 < 11 ? 8 : 16);
	}
	KUNIT_EXPECT_EQ(test, find(&sec, fde.func + fde.size, &rule), -ENOENT);

	fde.rep_size = 0;
	encode(img, FLAGS, 0, -8, &fde, 1);
	KUNIT_ASSERT_EQ(test, load(test, img, &sec), 0);
	KUNIT_EXPECT_EQ(test, find(&sec, fde.func, &rule), -EINVAL);
}

struct rule_case {
	const char		*name;
	s8			fixed_fp;
	s8			fixed_ra;
	u8			flex;
	struct fre_spec		fre;
	int			ret;
	struct unwind_loc	cfa;
	struct unwind_loc	ra;
	struct unwind_loc	fp;
};

static const struct rule_case rule_cases[] = {
	{ "CFA", 0, -8, 0, { 0, INFO(SP, 1, 0), { 8 } },
	  0, VAL(SP, 8), MEM(CFA, -8), SAME },
	{ "CFA and FP", 0, -8, 0, { 0, INFO(FP, 2, 0), { 16, -16 } },
	  0, VAL(FP, 16), MEM(CFA, -8), MEM(CFA, -16) },
	{ "a word too many", 0, -8, 0, { 0, INFO(SP, 3, 0), { 8, 8, 8 } }, -EINVAL },
	{ "no RA", 0, 0, 0, { 0, INFO(SP, 1, 0), { 8 } }, -EINVAL },
	{ "CFA and RA", 0, 0, 0, { 0, INFO(SP, 2, 0), { 8, -24 } },
	  0, VAL(SP, 8), MEM(CFA, -24), SAME },
	{ "CFA, RA and FP", 0, 0, 0, { 0, INFO(SP, 3, 0), { 8, -24, -32 } },
	  0, VAL(SP, 8), MEM(CFA, -24), MEM(CFA, -32) },
	{ "RA above the CFA", 0, 0, 0, { 0, INFO(SP, 3, 0), { 8, 8, -32 } },
	  0, VAL(SP, 8), MEM(CFA, 8), MEM(CFA, -32) },
	{ "FP above the CFA", 0, 0, 0, { 0, INFO(SP, 3, 0), { 8, -24, 8 } },
	  0, VAL(SP, 8), MEM(CFA, -24), MEM(CFA, 8) },
	{ "a word too many, none fixed", 0, 0, 0,
	  { 0, INFO(SP, 4, 0), { 8, 8, 8, 8 } }, -EINVAL },
	{ "all fixed", -16, -8, 0, { 0, INFO(FP, 1, 0), { 16 } },
	  0, VAL(FP, 16), MEM(CFA, -8), MEM(CFA, -16) },
	{ "a word too many, all fixed", -16, -8, 0,
	  { 0, INFO(FP, 2, 0), { 16, -16 } }, -EINVAL },
	{ "fixed FP", -16, 0, 0, { 0, INFO(FP, 2, 0), { 16, -24 } },
	  0, VAL(FP, 16), MEM(CFA, -24), MEM(CFA, -16) },

	{ "flexible CFA", 0, -8, 1, { 0, INFO(FP, 2, 0), { REG(RBX), -128 } },
	  0, VAL(RBX, -128), MEM(CFA, -8), SAME },
	{ "flexible CFA, FP fixed", -16, -8, 1,
	  { 0, INFO(FP, 2, 0), { REG(R10), 0 } },
	  0, VAL(R10, 0), MEM(CFA, -8), MEM(CFA, -16) },
	{ "realigned stack", 0, -8, 1,
	  { 0, INFO(FP, 5, 0), { DEREF(FP), -8, 0, DEREF(FP), 0 } },
	  0, MEM(FP, -8), MEM(CFA, -8), MEM(FP, 0) },
	{ "2-byte words", 0, -8, 1,
	  { 0, INFO(FP, 5, 1), { DEREF(FP), -0x1234, 0, DEREF_CFA, 0x1234 } },
	  0, MEM(FP, -0x1234), MEM(CFA, -8), MEM(CFA, 0x1234) },
	{ "4-byte words", 0, -8, 1,
	  { 0, INFO(FP, 5, 2), { DEREF(FP), S32_MIN, 0, DEREF_CFA, S32_MAX } },
	  0, MEM(FP, S32_MIN), MEM(CFA, -8), MEM(CFA, S32_MAX) },
	{ "RA in a register", 0, -8, 1,
	  { 0, INFO(FP, 4, 0), { REG(SP), 0, REG(RAX), 0 } },
	  0, VAL(SP, 0), VAL(RAX, 0), SAME },
	{ "all given", -16, -8, 1,
	  { 0, INFO(FP, 6, 0), { REG(15), 1, DEREF_CFA, -24, REG(RBX), 2 } },
	  0, VAL(15, 1), MEM(CFA, -24), VAL(RBX, 2) },
	{ "FP from the CFA", 0, -8, 1,
	  { 0, INFO(FP, 5, 0), { REG(SP), 8, 0, 0x8, -16 } },
	  0, VAL(SP, 8), MEM(CFA, -8), VAL(CFA, -16) },
	{ "padding only", 0, -8, 1, { 0, INFO(FP, 4, 0), { REG(SP), 8, 0, 0 } },
	  0, VAL(SP, 8), MEM(CFA, -8), SAME },
	{ "padding, no fixed RA", 0, 0, 1,
	  { 0, INFO(FP, 3, 0), { REG(SP), 8, 0 } }, -EINVAL },
	{ "words left over", 0, -8, 1,
	  { 0, INFO(FP, 7, 0), { REG(SP), 8, DEREF_CFA, 8, REG(FP), 8, 0 } },
	  -EINVAL },
	{ "control without offset", 0, -8, 1, { 0, INFO(FP, 1, 0), { REG(SP) } },
	  -EINVAL },
	{ "RA control without offset", 0, -8, 1,
	  { 0, INFO(FP, 3, 0), { REG(SP), 8, DEREF_CFA } }, -EINVAL },
	{ "CFA from CFA", 0, -8, 1, { 0, INFO(FP, 2, 0), { DEREF_CFA, 8 } },
	  -EINVAL },
	{ "no CFA", 0, -8, 1, { 0, INFO(FP, 1, 0), { 0 } }, -EINVAL },
	{ "an address near the CFA as RA", 0, -8, 1,
	  { 0, INFO(FP, 4, 0), { REG(SP), 8, 0x8, 8 } }, -EINVAL },
	{ "register 16", 0, -8, 1, { 0, INFO(FP, 2, 0), { REG(16), 8 } }, -EINVAL },
	{ "register 2^29 - 1", 0, -8, 1,
	  { 0, INFO(FP, 2, 2), { REG(U32_MAX), 8 } }, -EINVAL },
	{ "register 2^13", 0, -8, 1, { 0, INFO(FP, 2, 2), { REG(0x2000), 8 } },
	  -EINVAL },
	{ "unused control bit", 0, -8, 1,
	  { 0, INFO(FP, 2, 0), { REG(SP) | SFRAME_FLEX_UNUSED, 8 } },
	  -EOPNOTSUPP },
};

static void rules(struct kunit *test)
{
	struct image *img = test->priv;
	struct sframe_section sec;
	struct unwind_rule rule;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(rule_cases); i++) {
		const struct rule_case *c = &rule_cases[i];
		const struct fde_spec fde = {
			.func = -0x1000, .size = 0x100, .info2 = c->flex,
			.nr = 1, .fre = { c->fre },
		};

		encode(img, FLAGS, c->fixed_fp, c->fixed_ra, &fde, 1);
		KUNIT_ASSERT_EQ(test, load(test, img, &sec), 0);
		KUNIT_EXPECT_EQ_MSG(test, find(&sec, fde.func, &rule), c->ret,
				    "%s", c->name);
		if (c->ret)
			continue;
		KUNIT_EXPECT_EQ_MSG(test, rule.flags,
				    c->flex || c->ra.off > 0 || c->fp.off > 0 ?
				    0 : UNWIND_RULE_COMMON, "%s", c->name);
		expect_loc(test, c->name, "CFA", &rule.cfa, &c->cfa);
		expect_loc(test, c->name, "RA", &rule.ra, &c->ra);
		expect_loc(test, c->name, "FP", &rule.fp, &c->fp);
	}
}

static void outermost_and_signal(struct kunit *test)
{
	const u32 signal = UNWIND_RULE_SIGNAL | UNWIND_RULE_EXACT;
	const struct fde_spec fdes[] = {
		{ .func = -0x3000, .size = 0x100, .nr = 2, .fre = {
			{ 0, INFO(SP, 0, 0) },
			{ 4, INFO(SP, 1, 0), { 8 } },
		} },
		{ .func = -0x2000, .size = 0x100, .nr = 1, .info2 = 1, .fre = {
			{ 0, INFO(FP, 0, 2) },
		} },
		{ .func = -0x1000, .size = 0x100, .nr = 3,
		  .info = SFRAME_FDE_INFO_SIGNAL, .fre = {
			{ 0, INFO(SP, 1, 0), { 8 } },
			{ 4, INFO(SP, 1, 0), { 48 } },
			{ 8, INFO(SP, 0, 0) },
		} },
		{ .func = -0x900, .size = 0x100, .nr = 1, .info2 = 1,
		  .info = SFRAME_FDE_INFO_SIGNAL, .fre = {
			{ 0, INFO(FP, 2, 1), { DEREF(SP), 160 } },
		} },
		/* No FRE describes the frame. */
		{ .func = -0x800, .size = 0x100, .info = SFRAME_FDE_INFO_SIGNAL },
		{ .func = -0x700, .size = 0x100, .nr = 1,
		  .info = SFRAME_FDE_INFO_SIGNAL, .fre = {
			{ 1, INFO(SP, 1, 0), { 8 } },
		} },
	};
	struct image *img = test->priv;
	struct sframe_section sec;
	struct unwind_rule rule;

	encode(img, FLAGS, 0, -8, fdes, ARRAY_SIZE(fdes));
	KUNIT_ASSERT_EQ(test, load(test, img, &sec), 0);

	KUNIT_EXPECT_EQ(test, find(&sec, -0x3000, &rule), 0);
	KUNIT_EXPECT_EQ(test, rule.flags, UNWIND_RULE_OUTERMOST);
	KUNIT_EXPECT_EQ(test, find(&sec, -0x3000 + 4, &rule), 0);
	KUNIT_EXPECT_EQ(test, rule.flags, UNWIND_RULE_COMMON);
	KUNIT_EXPECT_EQ(test, find(&sec, -0x2000, &rule), 0);
	KUNIT_EXPECT_EQ(test, rule.flags, UNWIND_RULE_OUTERMOST);
	KUNIT_EXPECT_EQ(test, find(&sec, -0x1000 + 3, &rule), 0);
	KUNIT_EXPECT_EQ(test, rule.flags, signal);
	KUNIT_EXPECT_EQ(test, rule.start, sec.start - 0x1000);
	KUNIT_EXPECT_EQ(test, rule.cfa.off, 8);
	KUNIT_EXPECT_EQ(test, find(&sec, -0x1000 + 4, &rule), 0);
	KUNIT_EXPECT_EQ(test, rule.flags, signal);
	KUNIT_EXPECT_EQ(test, rule.cfa.off, 48);
	KUNIT_EXPECT_EQ(test, rule.ra.off, -8);
	KUNIT_EXPECT_EQ(test, find(&sec, -0x1000 + 8, &rule), 0);
	KUNIT_EXPECT_EQ(test, rule.flags, UNWIND_RULE_OUTERMOST | signal);
	KUNIT_EXPECT_EQ(test, find(&sec, -0x900, &rule), 0);
	KUNIT_EXPECT_EQ(test, rule.flags, signal);
	KUNIT_EXPECT_EQ(test, rule.cfa.kind, UNWIND_LOC_MEM);
	KUNIT_EXPECT_EQ(test, find(&sec, -0x800, &rule), 0);
	KUNIT_EXPECT_EQ(test, rule.flags, UNWIND_RULE_SIGNAL);
	KUNIT_EXPECT_EQ(test, find(&sec, -0x700, &rule), -EINVAL);
}

/* Rows are looked at up to the one after the address. */
static void budget(struct kunit *test)
{
	const struct fde_spec fde = {
		.func = -0x1000, .size = 0x100, .nr = 3, .fre = {
			{ 0, INFO(SP, 1, 0), { 8 } },
			{ 4, INFO(SP, 1, 0), { 16 } },
			{ 8, INFO(SP, 1, 0), { 24 } },
		},
	};
	static const struct {
		unsigned int off;
		unsigned int looks;
	} cases[] = { { 0, 2 }, { 4, 3 }, { 8, 3 } };
	struct image *img = test->priv;
	struct sframe_section sec;
	struct unwind_rule rule;
	unsigned int i, all, left;

	encode(img, FLAGS, 0, -8, &fde, 1);
	KUNIT_ASSERT_EQ(test, load(test, img, &sec), 0);
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		for (all = 0; all < 5; all++) {
			const bool enough = all > cases[i].looks;
			unsigned int rest = 0;

			if (enough)
				rest = all - cases[i].looks;
			left = all;
			KUNIT_EXPECT_EQ(test, enough ? 0 : -E2BIG,
					sframe_find_within(&sec, sec.start +
							   fde.func + cases[i].off,
							   &rule, &left));
			KUNIT_EXPECT_EQ(test, left, rest);
		}
	}

	left = 1;
	KUNIT_EXPECT_EQ(test, -ENOENT,
			sframe_find_within(&sec, sec.start, &rule, &left));
	KUNIT_EXPECT_EQ(test, left, 1);
}

static struct kunit_case sframe_test_cases[] = {
	KUNIT_CASE(fre_types_and_word_sizes),
	KUNIT_CASE(bisection),
	KUNIT_CASE(pc_mask),
	KUNIT_CASE(rules),
	KUNIT_CASE(outermost_and_signal),
	KUNIT_CASE(budget),
	{}
};

static struct kunit_suite sframe_test_suite = {
	.name = "codectl_sframe",
	.init = image_test_init,
	.test_cases = sframe_test_cases,
};

kunit_test_suite(sframe_test_suite);

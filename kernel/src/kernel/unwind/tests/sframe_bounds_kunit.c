// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of the SFrame decoder: malformed sections, unreadable memory
 */
#include "sframe_image.h"

/* The section that poke_cases change: its index, attribute and only FRE. */
static const struct fde_spec plain = {
	.func = -0x1000, .size = 0x100, .nr = 1,
	.fre = { { 0, INFO(SP, 1, 0), { 8 } } },
};

#define HDR(field)	offsetof(struct sframe_header, field)
#define IDX(field)	(sizeof(struct sframe_header) + \
			 offsetof(struct sframe_fde_idx, field))
#define FRES_AT		(sizeof(struct sframe_header) + \
			 sizeof(struct sframe_fde_idx))
#define ATTR(off)	(FRES_AT + (off))
#define FRE(off)	(FRES_AT + SFRAME_FDE_ATTR_SIZE + (off))
#define FRE_LEN		(SFRAME_FDE_ATTR_SIZE + 3)

static const struct {
	const char	*name;
	unsigned int	at;
	unsigned int	bytes;
	u64		val;
	int		ret_header;
	int		ret_find;
} poke_cases[] = {
	{ "magic of another byte order", HDR(magic), 2, 0xe2de, -EINVAL },
	{ "version 2", HDR(version), 1, 2, -EOPNOTSUPP },
	{ "version 4", HDR(version), 1, 4, -EOPNOTSUPP },
	{ "not sorted", HDR(flags), 1, SFRAME_F_FDE_FUNC_START_PCREL, -EOPNOTSUPP },
	{ "flag of version 2", HDR(flags), 1, FLAGS | 2, -EOPNOTSUPP },
	{ "unknown flag", HDR(flags), 1, FLAGS | 0x80, -EOPNOTSUPP },
	{ "AArch64", HDR(abi_arch), 1, 2, -EOPNOTSUPP },
	{ "auxiliary header over the end", HDR(auxhdr_len), 1, 255, -EINVAL },
	{ "an FDE too many", HDR(num_fdes), 4, 2, -EINVAL },
	{ "2^32 - 1 FDEs", HDR(num_fdes), 4, U32_MAX, -EINVAL },
	{ "2^28 FDEs", HDR(num_fdes), 4, 1 << 28, -EINVAL },
	{ "no FDE", HDR(num_fdes), 4, 0, 0, -ENOENT },
	{ "num_fres is not used", HDR(num_fres), 4, U32_MAX, 0, 0 },
	{ "an FRE byte too many", HDR(fre_len), 4, FRE_LEN + 1, -EINVAL },
	{ "an FRE byte too few", HDR(fre_len), 4, FRE_LEN - 1, 0, -EINVAL },
	{ "no FRE bytes", HDR(fre_len), 4, 0, 0, -EINVAL },
	{ "2^32 - 1 FRE bytes", HDR(fre_len), 4, U32_MAX, -EINVAL },
	{ "index over the end", HDR(fdeoff), 4, FRE_LEN + 1, -EINVAL },
	{ "index far away", HDR(fdeoff), 4, U32_MAX, -EINVAL },
	{ "FREs over the end", HDR(freoff), 4, 17, -EINVAL },
	{ "FREs far away", HDR(freoff), 4, U32_MAX, -EINVAL },
	{ "empty function", IDX(func_size), 4, 0, 0, -ENOENT },
	{ "function at the end of memory", IDX(func_start_offset), 8, S64_MAX, 0,
	  -ENOENT },
	{ "attribute over the end", IDX(func_start_fre_off), 4, FRE_LEN - 4, 0,
	  -EINVAL },
	{ "attribute at the end", IDX(func_start_fre_off), 4, FRE_LEN, 0, -EINVAL },
	{ "attribute far away", IDX(func_start_fre_off), 4, U32_MAX, 0, -EINVAL },
	{ "no FRE", ATTR(0), 1, 0, 0, -ENODATA },
	{ "an FRE too many", ATTR(0), 1, 2, 0, -EINVAL },
	{ "65281 FREs", ATTR(1), 1, 0xff, 0, -EINVAL },
	{ "FRE type 3", ATTR(2), 1, 3, 0, -EOPNOTSUPP },
	{ "FRE type 15", ATTR(2), 1, 15, 0, -EOPNOTSUPP },
	{ "FREs of 4 bytes", ATTR(2), 1, SFRAME_FRE_TYPE_ADDR4, 0, -EINVAL },
	{ "AArch64's key", ATTR(2), 1, 0x20, 0, 0 },
	{ "unused bit", ATTR(2), 1, SFRAME_FDE_INFO_UNUSED, 0, -EOPNOTSUPP },
	{ "unknown FDE type", ATTR(3), 1, 2, 0, -EOPNOTSUPP },
	{ "unused bit of the FDE type", ATTR(3), 1, 0x20, 0, -EOPNOTSUPP },
	{ "block size that counts for PC masks only", ATTR(4), 1, 7, 0, 0 },
	{ "first FRE behind the address", FRE(0), 1, 0x11, 0, -EINVAL },
	{ "first FRE at the address", FRE(0), 1, 0x10, 0, 0 },
	{ "mangled RA", FRE(1), 1, INFO(SP, 1, 0) | SFRAME_FRE_MANGLED_RA, 0,
	  -EINVAL },
	{ "word size 3", FRE(1), 1, INFO(SP, 1, 3), 0, -EINVAL },
	{ "word size 3, no word", FRE(1), 1, INFO(FP, 0, 3), 0, -EINVAL },
	{ "word over the end", FRE(1), 1, INFO(SP, 1, 1), 0, -EINVAL },
	{ "15 words", FRE(1), 1, INFO(SP, 15, 2), 0, -EINVAL },
};

static void malformed(struct kunit *test)
{
	struct image *img = test->priv;
	struct sframe_section sec;
	struct unwind_rule rule;
	unsigned int i;
	int ret;

	for (i = 0; i < ARRAY_SIZE(poke_cases); i++) {
		encode(img, FLAGS, 0, -8, &plain, 1);
		memcpy(img->buf + poke_cases[i].at, &poke_cases[i].val,
		       poke_cases[i].bytes);
		ret = load(test, img, &sec);
		KUNIT_EXPECT_EQ_MSG(test, ret, poke_cases[i].ret_header, "%s",
				    poke_cases[i].name);
		if (ret)
			continue;
		KUNIT_EXPECT_EQ_MSG(test, find(&sec, plain.func + 0x10, &rule),
				    poke_cases[i].ret_find, "%s",
				    poke_cases[i].name);
	}

	for (i = 0; i < sizeof(struct sframe_header); i++) {
		sec.end = sec.start + i;
		KUNIT_EXPECT_EQ(test, sframe_read_header(&sec), -EINVAL);
	}
}

static void auxiliary_header(struct kunit *test)
{
	struct image *img = test->priv;
	struct sframe_section sec;
	struct unwind_rule rule;

	encode(img, FLAGS, 0, -8, &plain, 1);
	memmove(img->buf + sizeof(img->hdr) + 255, img->buf + sizeof(img->hdr),
		img->len - sizeof(img->hdr));
	img->buf[offsetof(struct sframe_header, auxhdr_len)] = 255;
	img->len += 255;
	KUNIT_ASSERT_EQ(test, load(test, img, &sec), 0);
	KUNIT_EXPECT_EQ(test, find(&sec, plain.func + 255, &rule), 0);
	KUNIT_EXPECT_EQ(test, find(&sec, plain.func + 254, &rule), -ENOENT);
}

/* The last byte of the section is the last one of user memory. */
static void last_user_page(struct kunit *test)
{
	unsigned long page = map_user(test, TASK_SIZE_MAX - PAGE_SIZE, PAGE_SIZE);
	struct image *img = test->priv;
	struct sframe_section sec;
	struct unwind_rule rule;

	encode(img, FLAGS, 0, -8, &plain, 1);
	img->at = page + PAGE_SIZE - img->len;
	KUNIT_ASSERT_EQ(test, load(test, img, &sec), 0);
	KUNIT_EXPECT_EQ(test, sec.end, TASK_SIZE_MAX);
	KUNIT_EXPECT_EQ(test, find(&sec, plain.func, &rule), 0);
	KUNIT_EXPECT_EQ(test, rule.cfa.off, 8);

	sec.end += 1;
	KUNIT_EXPECT_EQ(test, find(&sec, plain.func, &rule), -EFAULT);

	/* A word that would lie beyond */
	img->buf[img->len - 2] = INFO(SP, 1, 2);
	KUNIT_ASSERT_EQ(test, load(test, img, &sec), 0);
	KUNIT_EXPECT_EQ(test, find(&sec, plain.func, &rule), -EINVAL);
}

/* The section is well-formed, so whatever is read of it gives a rule. */
static void kernel_addresses(struct kunit *test)
{
	struct image *img = test->priv;
	struct sframe_section sec = {}, user;
	struct unwind_rule rule;

	encode(img, FLAGS, 0, -8, &plain, 1);
	sec.start = (unsigned long)img->buf;
	sec.end = sec.start + img->len;
	KUNIT_EXPECT_EQ(test, sframe_read_header(&sec), -EFAULT);
	KUNIT_ASSERT_EQ(test, sframe_set_header(&sec, &img->hdr), 0);
	KUNIT_EXPECT_EQ(test, find(&sec, plain.func, &rule), -EFAULT);
	KUNIT_EXPECT_PTR_EQ(test, memchr_inv(&rule, 0x5a, sizeof(rule)), NULL);

	/* From user memory up to the kernel's, and wrapping around to user memory */
	KUNIT_ASSERT_EQ(test, load(test, img, &user), 0);
	user.end = sec.end;
	KUNIT_EXPECT_EQ(test, find(&user, plain.func, &rule), -EFAULT);
	sec.end = img->at;
	KUNIT_EXPECT_EQ(test, find(&sec, plain.func, &rule), -EFAULT);
}

/* A page that is not there, at each part of the section in turn. */
static void holes(struct kunit *test)
{
	struct image *img = test->priv;
	unsigned long base = map_user(test, 0, 3 * PAGE_SIZE);
	static const unsigned int cuts[] = {
		0, 1, sizeof(struct sframe_header), FRES_AT - 1, FRES_AT,
		FRES_AT + SFRAME_FDE_ATTR_SIZE, FRES_AT + FRE_LEN - 1,
	};
	struct sframe_section sec;
	struct unwind_rule rule;
	unsigned int i;

	encode(img, FLAGS, 0, -8, &plain, 1);
	for (i = 0; i < ARRAY_SIZE(cuts); i++) {
		int header = cuts[i] < sizeof(img->hdr) ? -EFAULT : 0;

		img->at = base + PAGE_SIZE - cuts[i];
		KUNIT_ASSERT_EQ(test, load(test, img, &sec), 0);
		KUNIT_EXPECT_EQ(test, find(&sec, plain.func, &rule), 0);

		KUNIT_ASSERT_EQ(test, vm_munmap(base + PAGE_SIZE, PAGE_SIZE), 0);
		KUNIT_EXPECT_EQ(test, sframe_read_header(&sec), header);
		KUNIT_EXPECT_EQ(test, find(&sec, plain.func, &rule), -EFAULT);
		map_user(test, base + PAGE_SIZE, PAGE_SIZE);
	}
}

/* A page that nobody has touched: read only where faults may be served. */
static void page_faults_disabled(struct kunit *test)
{
	struct image *img = test->priv;
	struct sframe_section sec = {};
	struct unwind_rule rule;
	int ret;

	encode(img, FLAGS, 0, -8, &plain, 1);
	sec.start = map_user(test, 0, PAGE_SIZE);
	sec.end = sec.start + img->len;
	KUNIT_ASSERT_EQ(test, sframe_set_header(&sec, &img->hdr), 0);

	pagefault_disable();
	ret = find(&sec, plain.func, &rule);
	pagefault_enable();
	KUNIT_EXPECT_EQ(test, ret, -EFAULT);

	img->at = sec.start;
	KUNIT_ASSERT_EQ(test, load(test, img, &sec), 0);
	pagefault_disable();
	ret = find(&sec, plain.func, &rule);
	pagefault_enable();
	KUNIT_EXPECT_EQ(test, ret, 0);
}

static struct kunit_case sframe_test_cases[] = {
	KUNIT_CASE(malformed),
	KUNIT_CASE(auxiliary_header),
	KUNIT_CASE(last_user_page),
	KUNIT_CASE(kernel_addresses),
	KUNIT_CASE(holes),
	KUNIT_CASE(page_faults_disabled),
	{}
};

static struct kunit_suite sframe_test_suite = {
	.name = "codectl_sframe_bounds",
	.init = image_test_init,
	.test_cases = sframe_test_cases,
};

kunit_test_suite(sframe_test_suite);

// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of the reader of granule maps
 *
 * Two functions are in 16 granules of 16 bytes: the first one has two rows and a rest
 * without one, the second a row that reaches beyond its end.  Each case changes one
 * field and looks up one address.
 */
#include <linux/string.h>

#include "../granules.h"
#include "jit_case.h"
#include "user_memory.h"

#define SHIFT		4
#define NR_SLOTS	16
#define LONG		0x10
#define LONG_LEN	0x2c
#define SHORT		0x50
#define SHORT_LEN	0x8

struct long_record {
	u32				seq, start, len, nr;
	u64				code_id;
	struct code_jit_unwind_fre	fre[2];
};

struct short_record {
	u32				seq, start, len, nr;
	u64				code_id;
	struct code_jit_unwind_fre	fre;
};

/* What is put into user memory. */
struct image {
	u32			slot[NR_SLOTS];
	struct {
		u64		unused;
		struct long_record	first;
		struct short_record	last;
	} pool;
};

struct fixture {
	unsigned long		at;
	struct image		image;
	struct jit_unwind	jit;
};

#define AT(field)	offsetof(struct image, field)
#define RECORD(r)	((AT(pool.r) - AT(pool)) / CODE_JIT_RECORD_ALIGN)

static const struct jit_case cases[] = {
	{ "first byte", AT(pool.unused), 4, 0, LONG, 0, 0 },
	{ "last byte of a row", AT(pool.unused), 4, 0, LONG + 0xf, 0, 0 },
	{ "second row", AT(pool.unused), 4, 0, LONG + 0x10, 0, 1 },
	{ "last byte of the second row", AT(pool.unused), 4, 0, LONG + 0x1f, 0, 1 },
	{ "after the rows", AT(pool.unused), 4, 0, LONG + 0x20, -ENODATA },
	{ "after the function", AT(pool.unused), 4, 0, LONG + LONG_LEN, -ENODATA },
	{ "before all", AT(pool.unused), 4, 0, 0, -ENODATA },
	{ "what would be a record at the start of the pool", AT(pool.first.seq), 4,
	  0x100, 0, -ENODATA },
	{ "between", AT(pool.unused), 4, 0, SHORT - 1, -ENODATA },
	{ "another function", AT(pool.unused), 4, 0, SHORT, 0, 2 },
	{ "its last byte", AT(pool.unused), 4, 0, SHORT + SHORT_LEN - 1, 0, 2 },
	{ "row that goes on after the function", AT(pool.unused), 4, 0, SHORT + SHORT_LEN,
	  -ENODATA },
	{ "last granule", AT(pool.unused), 4, 0, 0xff, -ENODATA },
	{ "retired", AT(slot[SHORT >> SHIFT]), 4, 0, SHORT, -ENODATA },
	{ "half retired", AT(slot[LONG >> SHIFT]), 4, 0, LONG + 0x10, 0, 1 },
	{ "slot of another function", AT(slot[LONG >> SHIFT]), 4, RECORD(last),
	  LONG, -ENODATA },
	{ "end of the pool", AT(slot[SHORT >> SHIFT]), 4,
	  RECORD(last) + sizeof(struct short_record) / 8, SHORT, -EINVAL },
	{ "a record that ends after the pool", AT(slot[SHORT >> SHIFT]), 4,
	  RECORD(last) + sizeof(struct short_record) / 8 - 2, SHORT, -EINVAL },
	{ "far after the pool", AT(slot[SHORT >> SHIFT]), 4, U32_MAX, SHORT,
	  -EINVAL },
	{ "the last record there can be", AT(slot[SHORT >> SHIFT]), 4,
	  RECORD(last) + sizeof(struct short_record) / 8 - 3, SHORT, -ENODATA },
	{ "a row more than the pool has room for", AT(pool.last.nr), 4, 2, SHORT,
	  -EINVAL },
	{ "all rows there are", AT(pool.last.nr), 4, U32_MAX, SHORT, -EINVAL },
	{ "no rows", AT(pool.last.nr), 4, 0, SHORT, -ENODATA },
	{ "a row less", AT(pool.first.nr), 4, 1, LONG + 0x10, -ENODATA },
	{ "being written", AT(pool.last.seq), 4, 1, SHORT, -EAGAIN },
	{ "written before", AT(pool.last.seq), 4, 2, SHORT, 0, 2 },
	{ "written most often", AT(pool.last.seq), 4, U32_MAX - 1, SHORT, 0, 2 },
	{ "starts later", AT(pool.last.start), 4, SHORT + 1, SHORT, -ENODATA },
	{ "starts elsewhere", AT(pool.last.start), 4, U32_MAX, SHORT, -ENODATA },
	{ "of no length", AT(pool.last.len), 4, 0, SHORT, -ENODATA },
	{ "of all length", AT(pool.last.len), 4, U32_MAX, SHORT + SHORT_LEN, 0,
	  2 },
	{ "row elsewhere", AT(pool.last.fre.ip_off), 4, U32_MAX, SHORT,
	  -ENODATA },
	{ "reserved byte", AT(pool.last.fre.__reserved[1]), 1, 1, SHORT, 0,
	  -1 },
};

static void make_image(struct image *image)
{
	*image = (struct image) {
		.pool.first = {
			.start = LONG,
			.len = LONG_LEN,
			.nr = 2,
			.code_id = 1ULL << 40,
			.fre = {
				{ .ip_off = LONG, .size = 0x10 },
				{ .ip_off = LONG + 0x10, .size = 0x10,
				  .cfa_off = 1 },
			},
		},
		.pool.last = {
			.start = SHORT,
			.len = SHORT_LEN,
			.nr = 1,
			.code_id = 7,
			.fre = { .ip_off = SHORT - 8, .size = 0x20,
				 .cfa_off = 2 },
		},
	};
	image->slot[1] = RECORD(first);
	image->slot[2] = RECORD(first);
	image->slot[3] = RECORD(first);
	image->slot[5] = RECORD(last);
}

static void put_image(struct kunit *test, struct fixture *f)
{
	KUNIT_ASSERT_EQ(test, 0, copy_to_user((void __user *)f->at, &f->image,
					      sizeof(f->image)));
}

static void one_field_changed(struct kunit *test)
{
	struct fixture *f = test->priv;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		make_image(&f->image);
		jit_case_change(&cases[i], &f->image);
		put_image(test, f);
		jit_case_look(test, &cases[i], &f->jit);
	}
}

/* A function does not wrap around to the lowest addresses. */
static void longest_function(struct kunit *test)
{
	struct fixture *f = test->priv;
	struct code_jit_unwind_fre fre;

	f->image.pool.last.start = SHORT + 2;
	f->image.pool.last.len = U32_MAX;
	put_image(test, f);
	KUNIT_EXPECT_EQ(test, -ENODATA, jit_find(&f->jit, SHORT, &fre));
	KUNIT_EXPECT_EQ(test, 0, jit_find(&f->jit, SHORT + 2, &fre));
}

/* A partial last granule has a slot of its own; each shift has its granules. */
static void shifts(struct kunit *test)
{
	struct fixture *f = test->priv;
	struct code_jit_unwind_fre fre;
	unsigned int shift;

	f->image.pool.last.len = U32_MAX;
	f->image.pool.last.fre.size = U32_MAX;
	for (shift = CODE_JIT_MIN_SHIFT; shift <= CODE_JIT_MAX_SHIFT; shift++) {
		memset(f->image.slot, 0, sizeof(f->image.slot));
		f->image.slot[1] = RECORD(last);
		f->image.pool.last.start = 1U << shift;
		f->image.pool.last.fre.ip_off = 1U << shift;
		put_image(test, f);
		f->jit.shift = shift;
		KUNIT_EXPECT_EQ(test, -ENODATA,
				jit_find(&f->jit, (1U << shift) - 1, &fre));
		KUNIT_EXPECT_EQ(test, 0, jit_find(&f->jit, 1U << shift, &fre));
		KUNIT_EXPECT_EQ(test, 0,
				jit_find(&f->jit, (2U << shift) - 1, &fre));
		KUNIT_EXPECT_EQ(test, -ENODATA,
				jit_find(&f->jit, 2U << shift, &fre));
	}
}

static void code_ids(struct kunit *test)
{
	struct fixture *f = test->priv;
	u64 id = 0;

	KUNIT_EXPECT_EQ(test, 0, jit_find_code_id(&f->jit, LONG + 0x20, &id));
	KUNIT_EXPECT_EQ(test, id, 1ULL << 40);
	KUNIT_EXPECT_EQ(test, 0, jit_find_code_id(&f->jit, SHORT, &id));
	KUNIT_EXPECT_EQ(test, id, 7);

	KUNIT_EXPECT_EQ(test, -ENODATA,
			jit_find_code_id(&f->jit, LONG + LONG_LEN, &id));
	KUNIT_EXPECT_EQ(test, -ENODATA, jit_find_code_id(&f->jit, 0, &id));
	f->image.pool.last.seq = 3;
	put_image(test, f);
	KUNIT_EXPECT_EQ(test, -EAGAIN, jit_find_code_id(&f->jit, SHORT, &id));
	f->jit.pool_len = sizeof(u64) + sizeof(struct code_jit_record);
	KUNIT_EXPECT_EQ(test, -EINVAL, jit_find_code_id(&f->jit, SHORT, &id));
}

static void default_rule(struct kunit *test)
{
	struct fixture *f = test->priv;
	struct code_jit_unwind_fre fre;

	f->jit.flags |= CODE_JIT_DEFAULT_RULE;
	f->jit.rule.cfa_off = 0x1000;
	KUNIT_EXPECT_EQ(test, 0, jit_find(&f->jit, LONG + 0x10, &fre));
	KUNIT_EXPECT_EQ(test, fre.cfa_off, 1);
	KUNIT_EXPECT_EQ(test, 0, jit_find(&f->jit, LONG + 0x20, &fre));
	KUNIT_EXPECT_EQ(test, fre.cfa_off, 0x1000);
	KUNIT_EXPECT_EQ(test, 0, jit_find(&f->jit, 0xff, &fre));
	KUNIT_EXPECT_EQ(test, fre.cfa_off, 0x1000);

	/* Not for what may have a row that cannot be found. */
	f->image.slot[15] = U32_MAX;
	put_image(test, f);
	KUNIT_EXPECT_EQ(test, -EINVAL, jit_find(&f->jit, 0xff, &fre));
}

/* The ends of user space, beyond which registration lets nothing through. */
static void ends_of_memory(struct kunit *test)
{
	struct fixture *f = test->priv;
	struct code_jit_unwind_fre fre;
	unsigned long last;

	last = map_user(test, TASK_SIZE_MAX - PAGE_SIZE, PAGE_SIZE);
	last += PAGE_SIZE - sizeof(f->image.pool);
	KUNIT_ASSERT_EQ(test, 0, copy_to_user((void __user *)last, &f->image.pool,
					      sizeof(f->image.pool)));
	f->jit.pool = last;
	KUNIT_EXPECT_EQ(test, 0, jit_find(&f->jit, SHORT, &fre));
	KUNIT_EXPECT_EQ(test, fre.cfa_off, 2);
	f->jit.pool = f->at + PAGE_SIZE;
	KUNIT_EXPECT_EQ(test, -EFAULT, jit_find(&f->jit, SHORT, &fre));

	f->jit.pool = f->at + AT(pool);
	f->jit.slots = TASK_SIZE_MAX - sizeof(f->image.slot);
	KUNIT_ASSERT_EQ(test, 0, copy_to_user((void __user *)f->jit.slots,
					      f->image.slot,
					      sizeof(f->image.slot)));
	KUNIT_EXPECT_EQ(test, 0, jit_find(&f->jit, SHORT, &fre));
	f->jit.slots = f->at + PAGE_SIZE;
	KUNIT_EXPECT_EQ(test, -EFAULT, jit_find(&f->jit, SHORT, &fre));
}

static void without_page_faults(struct kunit *test)
{
	struct fixture *f = test->priv;
	struct code_jit_unwind_fre fre;
	int ret;

	f->jit.slots = map_user(test, 0, PAGE_SIZE);
	pagefault_disable();
	ret = jit_find(&f->jit, SHORT, &fre);
	pagefault_enable();
	KUNIT_EXPECT_EQ(test, ret, -EFAULT);
}

/* Where the second row of the first record is found. */
static struct jit_place find_second(struct kunit *test)
{
	struct fixture *f = test->priv;
	struct code_jit_unwind_fre fre;
	struct jit_place place = {};
	unsigned int budget = 100;

	KUNIT_EXPECT_EQ(test, 0,
			jit_find_place(&f->jit, LONG + 0x10, &fre, &place,
				       &budget));

	return place;
}

static void place(struct kunit *test)
{
	struct fixture *f = test->priv;
	struct code_jit_unwind_fre fre;
	struct jit_place place;

	f->image.pool.first.seq = 6;
	put_image(test, f);
	place = find_second(test);
	/* The second row, by where it is in the pool. */
	KUNIT_EXPECT_EQ(test, place.row,
			1UL << 32 | (AT(pool.first.fre[1]) - AT(pool)) / 8);
	KUNIT_EXPECT_EQ(test, place.seq, 6);

	/* Its row ends where the function does. */
	KUNIT_EXPECT_EQ(test, 0, jit_find(&f->jit, SHORT, &fre));
	KUNIT_EXPECT_EQ(test, fre.ip_off + fre.size, SHORT + SHORT_LEN);
}

static void row_remains(struct kunit *test)
{
	struct fixture *f = test->priv;
	struct code_jit_unwind_fre fre;
	struct jit_place place;

	f->image.pool.first.seq = 6;
	put_image(test, f);
	place = find_second(test);
	memset(&fre, 0, sizeof(fre));
	KUNIT_EXPECT_TRUE(test, jit_granule_remains(&f->jit, LONG + 0x10,
						    place.row, 6, &fre));
	KUNIT_EXPECT_EQ(test, fre.cfa_off, 1);
	/* At another function, or none. */
	KUNIT_EXPECT_FALSE(test, jit_granule_remains(&f->jit, SHORT, place.row,
						     6, &fre));
	KUNIT_EXPECT_FALSE(test, jit_granule_remains(&f->jit, 0, place.row, 6,
						     &fre));
	/* The record is reused, or being written. */
	KUNIT_EXPECT_FALSE(test, jit_granule_remains(&f->jit, LONG + 0x10,
						     place.row, 4, &fre));
	f->image.pool.first.seq = 7;
	put_image(test, f);
	KUNIT_EXPECT_FALSE(test, jit_granule_remains(&f->jit, LONG + 0x10,
						     place.row, 6, &fre));
	f->image.pool.first.seq = 6;
	/* Another record, with that counter, too. */
	f->image.pool.last.seq = 6;
	f->image.slot[(LONG + 0x10) >> SHIFT] = RECORD(last);
	put_image(test, f);
	KUNIT_EXPECT_FALSE(test, jit_granule_remains(&f->jit, LONG + 0x10,
						     place.row, 6, &fre));
	f->jit.pool = f->at + PAGE_SIZE;
	KUNIT_EXPECT_FALSE(test, jit_granule_remains(&f->jit, LONG + 0x10,
						     place.row, 6, &fre));
}

/* What cannot be read is 0, which might be a row as well. */
static void row_that_faults(struct kunit *test)
{
	struct fixture *f = test->priv;
	unsigned long at = map_user(test, 0, 2 * PAGE_SIZE);
	const struct jit_place place = find_second(test);
	struct code_jit_unwind_fre fre;

	f->jit.pool = at + PAGE_SIZE - AT(pool.first.fre[1].cfa_off) + AT(pool);
	KUNIT_ASSERT_EQ(test, 0,
			copy_to_user((void __user *)f->jit.pool, &f->image.pool,
				     at + PAGE_SIZE - f->jit.pool));
	pagefault_disable();
	KUNIT_EXPECT_FALSE(test, jit_granule_remains(&f->jit, LONG + 0x10,
						     place.row, 0, &fre));
	pagefault_enable();
}

/* A record, and two rows bisected. */
static void budget(struct kunit *test)
{
	struct fixture *f = test->priv;
	struct code_jit_unwind_fre fre;
	struct jit_place place;
	unsigned int left, i;

	for (i = 0; i < 5; i++) {
		left = i;
		KUNIT_EXPECT_EQ(test, i > 3 ? 0 : -E2BIG,
				jit_find_place(&f->jit, LONG, &fre, &place,
					       &left));
		KUNIT_EXPECT_EQ(test, left, i > 3);
	}
	/* A record that is being written is looked at twice. */
	f->image.pool.first.seq = 1;
	put_image(test, f);
	left = 5;
	KUNIT_EXPECT_EQ(test, -EAGAIN,
			jit_find_place(&f->jit, LONG, &fre, &place, &left));
	KUNIT_EXPECT_EQ(test, left, 3);
}

static int granules_test_init(struct kunit *test)
{
	struct fixture *f = kunit_kzalloc(test, sizeof(*f), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, f);
	f->at = map_user(test, 0, PAGE_SIZE);
	f->jit = (struct jit_unwind) {
		.flags = CODE_JIT_GRANULES,
		.nr_slots = NR_SLOTS,
		.slots = f->at + AT(slot),
		.pool = f->at + AT(pool),
		.pool_len = sizeof(f->image.pool),
		.shift = SHIFT,
	};
	make_image(&f->image);
	put_image(test, f);
	test->priv = f;

	return 0;
}

static struct kunit_case granules_test_cases[] = {
	KUNIT_CASE(one_field_changed),
	KUNIT_CASE(longest_function),
	KUNIT_CASE(shifts),
	KUNIT_CASE(code_ids),
	KUNIT_CASE(default_rule),
	KUNIT_CASE(ends_of_memory),
	KUNIT_CASE(without_page_faults),
	KUNIT_CASE(place),
	KUNIT_CASE(row_remains),
	KUNIT_CASE(row_that_faults),
	KUNIT_CASE(budget),
	{}
};

static struct kunit_suite granules_test_suite = {
	.name = "codectl_granules",
	.init = granules_test_init,
	.test_cases = granules_test_cases,
};

kunit_test_suite(granules_test_suite);

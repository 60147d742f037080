// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of the reader of compiled code's tables
 *
 * Two tables are chained, each with two rows that cover 0x10 bytes and leave 0x10 out;
 * each case changes one field of it and looks up one address.
 */
#include <linux/string.h>

#include "../jit.h"
#include "jit_case.h"
#include "user_memory.h"

#define NR_TABLES	2
#define NR_ROWS		2
#define FIRST		0x100
#define STEP		0x20
#define SIZE		0x10

struct table {
	u64				reserved_len;
	u64				used_len;
	u64				next;
	struct code_jit_unwind_fre	fre[NR_ROWS];
};

/* What is put into user memory; @next counts from its start there. */
struct image {
	struct table	table[NR_TABLES];
	u32		seq;
};

struct fixture {
	unsigned long		at;
	struct image		image;
	struct jit_unwind	jit;
};

#define AT(field)	offsetof(struct image, field)
#define ROW(t, r, f)	AT(table[t].fre[r].f)
#define ROW_OFF(n)	(FIRST + (n) * STEP)
#define ROW_LEN		((u64)sizeof(struct code_jit_unwind_fre))
#define RULE		CODE_JIT_DEFAULT_RULE

static const struct jit_case cases[] = {
	{ "first byte", AT(seq), 4, 0, ROW_OFF(0), 0, 0 },
	{ "last byte", AT(seq), 4, 0, ROW_OFF(1) + SIZE - 1, 0, 1 },
	{ "second table", AT(seq), 4, 0, ROW_OFF(2), 0, 2 },
	{ "last row", AT(seq), 4, 0, ROW_OFF(3) + 1, 0, 3 },
	{ "before all", AT(seq), 4, 0, FIRST - 1, -ENODATA },
	{ "gap", AT(seq), 4, 0, ROW_OFF(0) + SIZE, -ENODATA },
	{ "gap between tables", AT(seq), 4, 0, ROW_OFF(1) + SIZE, -ENODATA },
	{ "behind all", AT(seq), 4, 0, ROW_OFF(3) + SIZE, -ENODATA },
	{ "last address", AT(seq), 4, 0, U32_MAX, -ENODATA },
	{ "retired", ROW(0, 1, size), 4, 0, ROW_OFF(1), -ENODATA },
	{ "behind a retired row", ROW(0, 1, size), 4, 0, ROW_OFF(2), 0, 2 },
	{ "row up to 2^32", ROW(1, 1, size), 4, U32_MAX, U32_MAX, 0, 3 },
	{ "before a row up to 2^32", ROW(0, 0, size), 4, U32_MAX, FIRST - 2,
	  -ENODATA },
	{ "no row in use", AT(table[0].used_len), 8, 0, ROW_OFF(0), -ENODATA },
	{ "less than a row", AT(table[0].used_len), 8, 23, ROW_OFF(0), -ENODATA },
	{ "half of the second row", AT(table[0].used_len), 8, ROW_LEN + 12,
	  ROW_OFF(0), 0, 0 },
	{ "more in use than reserved", AT(table[1].used_len), 8, U64_MAX,
	  ROW_OFF(3), 0, 3 },
	{ "a row reserved", AT(table[1].reserved_len), 8, ROW_LEN, ROW_OFF(3),
	  -ENODATA },
	{ "all of memory reserved", AT(table[1].reserved_len), 8, U64_MAX,
	  ROW_OFF(3), 0, 3 },
	{ "next behind the mapping", AT(table[0].next), 8, PAGE_SIZE, ROW_OFF(2),
	  -EFAULT },
	{ "next not aligned", AT(table[0].next), 8, AT(table[1]) + 4, ROW_OFF(2),
	  -EFAULT },
	{ "next is itself", AT(table[0].next), 8, AT(table[0]), ROW_OFF(2),
	  -EINVAL },
	{ "next is empty", AT(table[1].used_len), 8, 0, ROW_OFF(2), -ENODATA },
	{ "next that nobody needs", AT(table[0].next), 8, 4, ROW_OFF(1), 0, 1 },
	{ "next starts within the last row", ROW(1, 0, ip_off), 4,
	  ROW_OFF(1) + SIZE - 1, ROW_OFF(2), -EINVAL },
	{ "reserved byte", ROW(0, 0, __reserved[2]), 1, 1, ROW_OFF(0), 0, -1 },
	{ "all reserved bytes", ROW(0, 0, __reserved), 2, 0x8080, ROW_OFF(0), 0, -1 },
	{ "FP saved and lost", ROW(0, 0, info), 1,
	  CODE_FRE_FP_SAVED | CODE_FRE_FP_UNDEF, ROW_OFF(0), 0, -1 },
	{ "being rewritten", AT(seq), 4, 1, ROW_OFF(0), -EAGAIN },
	{ "rewritten before", AT(seq), 4, 2, ROW_OFF(0), 0, 0 },
};

static void make_image(struct image *image)
{
	unsigned int t, r;

	for (t = 0; t < NR_TABLES; t++) {
		image->table[t].reserved_len = sizeof(image->table[t].fre);
		image->table[t].used_len = sizeof(image->table[t].fre);
		for (r = 0; r < NR_ROWS; r++)
			image->table[t].fre[r] = (struct code_jit_unwind_fre) {
				.size = SIZE,
				.ip_off = ROW_OFF(t * NR_ROWS + r),
				.cfa_off = t * NR_ROWS + r,
			};
	}
	image->table[0].next = AT(table[1]);
}

/* The same from the other end. */
static void turn_image(struct image *image)
{
	struct image old = *image;
	unsigned int n;

	for (n = 0; n < NR_TABLES * NR_ROWS; n++)
		image->table[n / NR_ROWS].fre[n % NR_ROWS] =
			old.table[1 - n / NR_ROWS].fre[1 - n % NR_ROWS];
}

static void put_image(struct kunit *test, struct fixture *f)
{
	struct image image = f->image;

	image.table[0].next += f->at;
	KUNIT_ASSERT_EQ(test, 0, copy_to_user((void __user *)f->at, &image,
					      sizeof(image)));
}

static void one_field_changed(struct kunit *test)
{
	struct fixture *f = test->priv;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		make_image(&f->image);
		f->image.seq = 0;
		jit_case_change(&cases[i], &f->image);
		put_image(test, f);
		jit_case_look(test, &cases[i], &f->jit);
	}
}

static void descending(struct kunit *test)
{
	struct fixture *f = test->priv;
	struct code_jit_unwind_fre fre;
	unsigned int n;

	turn_image(&f->image);
	put_image(test, f);
	f->jit.flags = CODE_JIT_DESCENDING;

	for (n = 0; n < NR_TABLES * NR_ROWS; n++) {
		KUNIT_EXPECT_EQ(test, 0, jit_find(&f->jit, ROW_OFF(n), &fre));
		KUNIT_EXPECT_EQ(test, fre.cfa_off, n);
		KUNIT_EXPECT_EQ(test, 0, jit_find(&f->jit, ROW_OFF(n) + SIZE - 1,
						  &fre));
		KUNIT_EXPECT_EQ(test, -ENODATA,
				jit_find(&f->jit, ROW_OFF(n) + SIZE, &fre));
		KUNIT_EXPECT_EQ(test, -ENODATA,
				jit_find(&f->jit, ROW_OFF(n) - 1, &fre));
	}

	/* The second table reaches into the last row of the first. */
	f->image.table[1].fre[0].size = STEP + 1;
	put_image(test, f);
	KUNIT_EXPECT_EQ(test, -EINVAL, jit_find(&f->jit, ROW_OFF(0), &fre));
	/* And wraps around to the lowest addresses. */
	f->image.table[1].fre[0].size = U32_MAX;
	put_image(test, f);
	KUNIT_EXPECT_EQ(test, -EINVAL, jit_find(&f->jit, ROW_OFF(0), &fre));
}

/* A retired row keeps its first byte: the next table must not start there. */
static void next_table_at_a_retired_row(struct kunit *test)
{
	struct fixture *f = test->priv;
	struct code_jit_unwind_fre fre;

	f->image.table[0].fre[1].size = 0;
	f->image.table[1].fre[0].ip_off = ROW_OFF(1) + 1;
	put_image(test, f);
	KUNIT_EXPECT_EQ(test, 0, jit_find(&f->jit, ROW_OFF(1) + 1, &fre));
	KUNIT_EXPECT_EQ(test, fre.cfa_off, 2);
	f->image.table[1].fre[0].ip_off = ROW_OFF(1);
	put_image(test, f);
	KUNIT_EXPECT_EQ(test, -EINVAL,
			jit_find(&f->jit, ROW_OFF(1) + 1, &fre));
}

struct small_table {
	u64				reserved_len;
	u64				used_len;
	u64				next;
	struct code_jit_unwind_fre	fre;
};

/* As many tables as may be in a chain, and one more. */
static void longest_chain(struct kunit *test)
{
	struct fixture *f = test->priv;
	struct code_jit_unwind_fre fre;
	struct small_table t;
	unsigned int i;

	for (i = 0; i <= CODE_JIT_MAX_TABLES; i++) {
		t = (struct small_table) {
			.reserved_len = ROW_LEN,
			.used_len = ROW_LEN,
			.next = i == CODE_JIT_MAX_TABLES ? 0 :
				f->at + (i + 1) * sizeof(t),
			.fre.ip_off = ROW_OFF(i),
			.fre.size = SIZE,
			.fre.cfa_off = i,
		};
		KUNIT_ASSERT_EQ(test, 0, copy_to_user((void __user *)f->at +
						      i * sizeof(t), &t,
						      sizeof(t)));
	}

	f->jit.seq = 0;
	i = CODE_JIT_MAX_TABLES - 1;
	KUNIT_EXPECT_EQ(test, 0, jit_find(&f->jit, ROW_OFF(i), &fre));
	KUNIT_EXPECT_EQ(test, fre.cfa_off, i);
	KUNIT_EXPECT_EQ(test, -EINVAL, jit_find(&f->jit, ROW_OFF(i + 1), &fre));
}

static void default_rule(struct kunit *test)
{
	struct fixture *f = test->priv;
	struct code_jit_unwind_fre fre;

	f->jit.flags = RULE;
	f->jit.rule.cfa_off = 0x1000;
	KUNIT_EXPECT_EQ(test, 0, jit_find(&f->jit, ROW_OFF(0), &fre));
	KUNIT_EXPECT_EQ(test, fre.cfa_off, 0);
	KUNIT_EXPECT_EQ(test, 0, jit_find(&f->jit, ROW_OFF(0) + SIZE, &fre));
	KUNIT_EXPECT_EQ(test, fre.cfa_off, 0x1000);
	KUNIT_EXPECT_EQ(test, fre.ip_off, ROW_OFF(0) + SIZE);

	f->jit.head = 0;
	KUNIT_EXPECT_EQ(test, 0, jit_find(&f->jit, U32_MAX - 1, &fre));
	KUNIT_EXPECT_EQ(test, fre.cfa_off, 0x1000);

	/* Not for what may have a row that cannot be found. */
	f->image.table[1].fre[0].ip_off = 0;
	put_image(test, f);
	f->jit.head = f->at;
	KUNIT_EXPECT_EQ(test, -EINVAL, jit_find(&f->jit, ROW_OFF(2), &fre));
	f->jit.head = f->at + PAGE_SIZE;
	KUNIT_EXPECT_EQ(test, -EFAULT, jit_find(&f->jit, ROW_OFF(0), &fre));
}

static void ends_of_memory(struct kunit *test)
{
	const unsigned long kernel[] = {
		TASK_SIZE_MAX, PAGE_OFFSET, 0 - PAGE_SIZE, 0 - 8UL,
		(unsigned long)cases & ~7UL,
	};
	struct fixture *f = test->priv;
	struct code_jit_unwind_fre fre;
	unsigned long at, last;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(kernel); i++) {
		f->jit.head = kernel[i];
		KUNIT_EXPECT_EQ(test, -EFAULT,
				jit_find(&f->jit, ROW_OFF(0), &fre));
	}

	/* A table whose last row is the last of user space. */
	last = map_user(test, TASK_SIZE_MAX - PAGE_SIZE, PAGE_SIZE);
	at = TASK_SIZE_MAX - sizeof(struct table);
	KUNIT_ASSERT_GE(test, at, last);
	f->image.table[0].reserved_len = U64_MAX;
	f->image.table[0].used_len = U64_MAX;
	KUNIT_ASSERT_EQ(test, 0, copy_to_user((void __user *)at, &f->image,
					      sizeof(struct table)));
	f->jit.head = at;
	KUNIT_EXPECT_EQ(test, 0, jit_find(&f->jit, ROW_OFF(0), &fre));
	KUNIT_EXPECT_EQ(test, 0, jit_find(&f->jit, ROW_OFF(1), &fre));
	KUNIT_EXPECT_EQ(test, fre.cfa_off, 1);

	/* No room for a row: the rows of the table above are its header. */
	f->jit.head = TASK_SIZE_MAX - sizeof(struct code_jit_unwind_table);
	KUNIT_EXPECT_EQ(test, -ENODATA, jit_find(&f->jit, ROW_OFF(1), &fre));
	f->jit.head += sizeof(u64);
	KUNIT_EXPECT_EQ(test, -EFAULT, jit_find(&f->jit, ROW_OFF(1), &fre));
}

static void without_page_faults(struct kunit *test)
{
	struct fixture *f = test->priv;
	struct code_jit_unwind_fre fre;
	int ret;

	f->jit.head = map_user(test, 0, PAGE_SIZE);
	pagefault_disable();
	ret = jit_find(&f->jit, ROW_OFF(0), &fre);
	pagefault_enable();
	KUNIT_EXPECT_EQ(test, ret, -EFAULT);
}

static void row_remains(struct kunit *test)
{
	struct fixture *f = test->priv;
	struct code_jit_unwind_fre fre;
	const unsigned long counter = f->jit.seq;
	unsigned int budget = 100;
	struct jit_place place;

	f->image.seq = 6;
	put_image(test, f);
	KUNIT_EXPECT_EQ(test, 0,
			jit_find_place(&f->jit, ROW_OFF(3), &fre, &place,
				       &budget));
	KUNIT_EXPECT_EQ(test, place.row, f->at + ROW(1, 1, size));
	KUNIT_EXPECT_EQ(test, place.seq, 6);
	KUNIT_EXPECT_TRUE(test, jit_row_remains(place.row, counter, 6, &fre));
	KUNIT_EXPECT_TRUE(test, jit_row_remains(place.row, 0, 0, &fre));

	/* Rewritten before, or since. */
	KUNIT_EXPECT_FALSE(test, jit_row_remains(place.row, counter, 4, &fre));
	KUNIT_EXPECT_FALSE(test, jit_row_remains(place.row, counter, 7, &fre));
	/* One or the other cannot be read. */
	KUNIT_EXPECT_FALSE(test, jit_row_remains(place.row, TASK_SIZE_MAX, 6, &fre));
	KUNIT_EXPECT_FALSE(test, jit_row_remains(PAGE_OFFSET, counter, 6, &fre));
	KUNIT_EXPECT_FALSE(test, jit_row_remains(f->at + PAGE_SIZE, 0, 0, &fre));

	f->image.table[1].fre[1].size = 0;
	put_image(test, f);
	KUNIT_EXPECT_FALSE(test, jit_row_remains(place.row, counter, 6, &fre));
	KUNIT_EXPECT_FALSE(test, jit_row_remains(place.row, 0, 0, &fre));

	/* The default rule is no row. */
	f->jit.flags = RULE;
	KUNIT_EXPECT_EQ(test, 0,
			jit_find_place(&f->jit, ROW_OFF(3), &fre, &place,
				       &budget));
	KUNIT_EXPECT_EQ(test, place.row, 0);
}

/* A table is passed, and two rows bisected. */
static void budget(struct kunit *test)
{
	struct fixture *f = test->priv;
	struct code_jit_unwind_fre fre;
	struct jit_place place;
	unsigned int left, i;

	for (i = 0; i < 5; i++) {
		left = i;
		KUNIT_EXPECT_EQ(test, i > 3 ? 0 : -E2BIG,
				jit_find_place(&f->jit, ROW_OFF(3), &fre,
					       &place, &left));
		KUNIT_EXPECT_EQ(test, left, i > 3);

		left = i;
		KUNIT_EXPECT_EQ(test, i > 2 ? 0 : -E2BIG,
				jit_find_place(&f->jit, ROW_OFF(1), &fre,
					       &place, &left));
		KUNIT_EXPECT_EQ(test, left, i > 2 ? i - 2 : 0);
	}

	/* The default rule does not hold for what is not known, either. */
	f->jit.flags = RULE;
	left = 3;
	KUNIT_EXPECT_EQ(test, -E2BIG,
			jit_find_place(&f->jit, ROW_OFF(3) + SIZE, &fre, &place,
				       &left));
}

static int jit_test_init(struct kunit *test)
{
	struct fixture *f = kunit_kzalloc(test, sizeof(*f), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, f);
	f->at = map_user(test, 0, PAGE_SIZE);
	f->jit.head = f->at;
	f->jit.seq = f->at + AT(seq);
	make_image(&f->image);
	put_image(test, f);
	test->priv = f;

	return 0;
}

static struct kunit_case jit_test_cases[] = {
	KUNIT_CASE(one_field_changed),
	KUNIT_CASE(descending),
	KUNIT_CASE(next_table_at_a_retired_row),
	KUNIT_CASE(longest_chain),
	KUNIT_CASE(default_rule),
	KUNIT_CASE(ends_of_memory),
	KUNIT_CASE(without_page_faults),
	KUNIT_CASE(row_remains),
	KUNIT_CASE(budget),
	{}
};

static struct kunit_suite jit_test_suite = {
	.name = "codectl_jit",
	.init = jit_test_init,
	.test_cases = jit_test_cases,
};

kunit_test_suite(jit_test_suite);

// SPDX-License-Identifier: GPL-2.0
/*
 * The order in which the readers access memory, and their reaction to changes in
 * between: a watcher sees each load and each barrier, and may write.
 */
#include <kunit/test.h>
#include <linux/sched/signal.h>

#include "jit.h"
#include "sframe.h"
#include "watched.h"

struct image {
	struct {
		struct code_jit_unwind_table	header;
		struct code_jit_unwind_fre	fre[2];
	} table[2];
	u32 seq;
};

static struct jit_unwind jit;
static struct image *image;

/* Two tables of two rows of 16 bytes each, from 0 on, in a page of their own. */
static int make_image(struct kunit *test)
{
	struct image new = { .seq = 2 };
	unsigned long at = user_map(0, PAGE_SIZE);
	unsigned int i;

	(void)test;
	for (i = 0; i < 4; i++) {
		new.table[i / 2].fre[i % 2] = (struct code_jit_unwind_fre) {
			.ip_off = 16 * i, .size = 16, .cfa_off = i,
		};
		new.table[i / 2].header.used_len = sizeof(new.table[0].fre);
		new.table[i / 2].header.reserved_len = sizeof(new.table[0].fre);
	}
	image = (struct image *)at;
	new.table[0].header.next = (unsigned long)&image->table[1];
	jit = (struct jit_unwind) {
		.head = at,
		.seq = (unsigned long)&image->seq,
	};
	nr_seen = 0;

	return copy_to_user(image, &new, sizeof(new)) != 0;
}

/* (a): rows come after their number. */
static void rows_after_used_len(struct kunit *test)
{
	struct code_jit_unwind_fre fre;
	unsigned int t, used, row;

	user_watch = note;
	KUNIT_ASSERT_EQ(test, 0, jit_find(&jit, 40, &fre));
	for (t = 0; t < 2; t++) {
		used = FIRST(0, image->table[t].header.used_len);
		row = FIRST(0, image->table[t].fre);
		KUNIT_ASSERT_LT(test, used, row);
		KUNIT_ASSERT_LT(test, row, nr_seen);
		KUNIT_EXPECT_TRUE(test, barrier_between(used, row));
	}
}

/* (b): the next table comes after the link to it. */
static void table_after_next(struct kunit *test)
{
	struct code_jit_unwind_fre fre;
	unsigned int next, table;

	user_watch = note;
	KUNIT_ASSERT_EQ(test, 0, jit_find(&jit, 40, &fre));
	next = FIRST(0, image->table[0].header.next);
	table = FIRST(0, image->table[1]);
	KUNIT_ASSERT_LT(test, next, table);
	KUNIT_ASSERT_LT(test, table, nr_seen);
	KUNIT_EXPECT_TRUE(test, barrier_between(next, table));
}

/* (d) and (c): the counter comes before everything, and again after everything. */
static void tables_between_counters(struct kunit *test)
{
	unsigned int begin, end, table, last;
	struct code_jit_unwind_fre fre;

	user_watch = note;
	KUNIT_ASSERT_EQ(test, 0, jit_find(&jit, 40, &fre));
	begin = FIRST(0, image->seq);
	end = FIRST(begin + 1, image->seq);
	table = FIRST(0, image->table);
	for (last = nr_seen - 1; FIRST(last, image->table) >= nr_seen; last--)
		;
	KUNIT_ASSERT_LT(test, begin, table);
	KUNIT_ASSERT_LT(test, last, end);
	KUNIT_ASSERT_LT(test, end, nr_seen);
	KUNIT_EXPECT_TRUE(test, barrier_between(begin, table));
	KUNIT_EXPECT_TRUE(test, barrier_between(last, end));
}

/* The same for a row that was found before. */
static void counter_after_row(struct kunit *test)
{
	unsigned long row = (unsigned long)&image->table[1].fre[0];
	struct code_jit_unwind_fre fre;
	unsigned int size, counter;

	user_watch = note;
	KUNIT_ASSERT_EQ(test, true, jit_row_remains(row, jit.seq, 2, &fre));
	size = first(0, (void *)row, sizeof(image->table[1].fre[0]));
	counter = FIRST(0, image->seq);
	KUNIT_ASSERT_LT(test, size, counter);
	KUNIT_ASSERT_LT(test, counter, nr_seen);
	KUNIT_EXPECT_TRUE(test, barrier_between(size, counter));
}

/* --- changes during a read */

static unsigned int changes;

/* The rows are rewritten so many times, each time just before they are used. */
static void rewrite(unsigned long addr)
{
	if (addr != (unsigned long)&image->table[1].fre[0].cfa_off || !changes)
		return;
	changes--;
	image->seq += 2;
	image->table[1].fre[0].cfa_off += 100;
}

static void rewritten_meanwhile(struct kunit *test)
{
	struct code_jit_unwind_fre fre;

	user_watch = rewrite;
	changes = 1;
	KUNIT_EXPECT_EQ(test, 0, jit_find(&jit, 40, &fre));
	KUNIT_EXPECT_EQ(test, 102, fre.cfa_off);
	changes = 2;
	KUNIT_EXPECT_EQ(test, -EAGAIN, jit_find(&jit, 40, &fre));
	KUNIT_EXPECT_EQ(test, 0, changes);
}

/* Odd at the first look. */
static void finish(unsigned long addr)
{
	if (addr != (unsigned long)&image->seq || !changes)
		return;
	if (!--changes)
		image->seq &= ~1U;
}

static void being_rewritten(struct kunit *test)
{
	struct code_jit_unwind_fre fre;

	user_watch = finish;
	image->seq = 3;
	changes = 2;
	KUNIT_EXPECT_EQ(test, 0, jit_find(&jit, 40, &fre));
	image->seq = 3;
	changes = 3;
	KUNIT_EXPECT_EQ(test, -EAGAIN, jit_find(&jit, 40, &fre));
}

/* A growing table has the rows that it had when it was looked at. */
static void grow(unsigned long addr)
{
	if (addr == (unsigned long)&image->table[1].fre[0].size)
		image->table[1].header.used_len = sizeof(image->table[1].fre);
}

static void grows_meanwhile(struct kunit *test)
{
	struct code_jit_unwind_fre fre;

	user_watch = grow;
	image->table[1].header.used_len = sizeof(image->table[1].fre[0]);
	KUNIT_EXPECT_EQ(test, -ENODATA, jit_find(&jit, 56, &fre));
	KUNIT_EXPECT_EQ(test, 0, jit_find(&jit, 56, &fre));
	KUNIT_EXPECT_EQ(test, 3, fre.cfa_off);
}

/* A killed task does not walk along a chain, unless nothing there can wait. */
static void killed(struct kunit *test)
{
	struct code_jit_unwind_fre fre;

	user_killed = true;
	KUNIT_EXPECT_EQ(test, 0, jit_find(&jit, 8, &fre));
	KUNIT_EXPECT_EQ(test, -EINTR, jit_find(&jit, 40, &fre));
	pagefault_disable();
	KUNIT_EXPECT_EQ(test, 0, jit_find(&jit, 40, &fre));
	pagefault_enable();
}

/* --- faults among many rows of SFrame */

#define NR_FRES	60000

/* Of so many unreadable rows only the first is tried. */
static void fault_ends_the_scan(struct kunit *test)
{
	struct sframe_fde_idx fde = { .func_size = 0x10000 };
	unsigned long at = user_map(0, PAGE_SIZE);
	u8 attr[SFRAME_FDE_ATTR_SIZE] = { NR_FRES & 0xff, NR_FRES >> 8 };
	struct sframe_section sec = {
		.start = at, .end = at + 64 * PAGE_SIZE, .num_fdes = 1,
		.fdes = at, .fixed_ra = -8,
		.fres = at + PAGE_SIZE - sizeof(attr),
		.fres_end = at + 64 * PAGE_SIZE,
	};
	struct unwind_rule rule;

	KUNIT_ASSERT_EQ(test, 0, copy_to_user((void *)at, &fde, sizeof(fde)));
	KUNIT_ASSERT_EQ(test, 0, copy_to_user((void *)sec.fres, attr,
					      sizeof(attr)));
	user_watch = note;
	KUNIT_EXPECT_EQ(test, -EFAULT, sframe_find(&sec, at + 0x100, &rule));
	KUNIT_EXPECT_TRUE(test, nr_seen < 10);
}

static struct kunit_case order_cases[] = {
	KUNIT_CASE(rows_after_used_len),
	KUNIT_CASE(table_after_next),
	KUNIT_CASE(tables_between_counters),
	KUNIT_CASE(counter_after_row),
	KUNIT_CASE(rewritten_meanwhile),
	KUNIT_CASE(being_rewritten),
	KUNIT_CASE(grows_meanwhile),
	KUNIT_CASE(killed),
	KUNIT_CASE(fault_ends_the_scan),
	{}
};

static struct kunit_suite order_suite = {
	.name = "order",
	.init = make_image,
	.test_cases = order_cases,
};

kunit_test_suite(order_suite);

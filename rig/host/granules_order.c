// SPDX-License-Identifier: GPL-2.0
/*
 * The order in which the reader of granule maps accesses memory, and its reaction to
 * changes in between: a watcher sees each load and each barrier, and may write.
 */
#include <kunit/test.h>
#include <linux/sched/signal.h>

#include "granules.h"
#include "watched.h"

struct record {
	struct code_jit_record		header;
	struct code_jit_unwind_fre	fre[2];
};

static struct image {
	u32		slot[4];
	struct {
		u64		unused;
		struct record	record[2];
	} pool;
} *image;

static struct jit_unwind jit;

static u32 slot_of(unsigned int nr)
{
	return ((unsigned long)&image->pool.record[nr] -
		(unsigned long)&image->pool) / CODE_JIT_RECORD_ALIGN;
}

/* Two records of one function of 32 bytes, of which the first is in use. */
static int make_image(struct kunit *test)
{
	unsigned long at = user_map(0, PAGE_SIZE);
	struct image new = {};
	unsigned int i, row;

	(void)test;
	image = (struct image *)at;
	for (i = 0; i < 2; i++) {
		new.pool.record[i].header = (struct code_jit_record) {
			.seq = 2, .start = 16, .len = 32, .nr = 2,
			.code_id = i + 1,
		};
		for (row = 0; row < 2; row++)
			new.pool.record[i].fre[row] = (struct code_jit_unwind_fre) {
				.ip_off = 16 * (row + 1), .size = 16,
				.cfa_off = 10 * i + row,
			};
	}
	new.slot[1] = slot_of(0);
	new.slot[2] = slot_of(0);
	jit = (struct jit_unwind) {
		.flags = CODE_JIT_GRANULES,
		.nr_slots = 4,
		.slots = at,
		.pool = (unsigned long)&image->pool,
		.pool_len = sizeof(image->pool),
		.shift = 4,
	};
	nr_seen = 0;

	return copy_to_user(image, &new, sizeof(new)) != 0;
}

/* The place of the last one before @to, which must exist. */
static unsigned int last(unsigned int to, const void *start, size_t len)
{
	while (to-- && seen[to] - (unsigned long)start >= len)
		;

	return to;
}

#define LAST(to, field)		last(to, &(field), sizeof(field))

/* The slot, its record's counter, the record, and both again. */
static void expect_order(struct kunit *test)
{
	const struct record *r = &image->pool.record[0];
	const void *rest = &r->header.start;
	size_t len = sizeof(*r) - offsetof(struct record, header.start);
	unsigned int slot, seq, begin, end, seq_again, slot_again;

	slot = FIRST(0, image->slot);
	seq = FIRST(0, r->header.seq);
	begin = first(0, rest, len);
	end = last(nr_seen, rest, len);
	seq_again = FIRST(end, r->header.seq);
	slot_again = FIRST(end, image->slot);

	KUNIT_ASSERT_LT(test, slot, seq);
	KUNIT_ASSERT_LT(test, seq, begin);
	KUNIT_ASSERT_LT(test, seq_again, nr_seen);
	KUNIT_ASSERT_LT(test, slot_again, nr_seen);
	KUNIT_EXPECT_TRUE(test, barrier_between(seq, begin));
	KUNIT_EXPECT_TRUE(test, barrier_between(end, seq_again));
	KUNIT_EXPECT_TRUE(test, barrier_between(end, slot_again));
	KUNIT_EXPECT_EQ(test, LAST(seq_again, r->header.seq), seq);
}

static void order_of_a_lookup(struct kunit *test)
{
	struct code_jit_unwind_fre fre;

	user_watch = note;
	KUNIT_ASSERT_EQ(test, 0, jit_find(&jit, 40, &fre));
	KUNIT_EXPECT_EQ(test, 1, fre.cfa_off);
	expect_order(test);
}

static void order_of_a_code_id(struct kunit *test)
{
	u64 id = 0;

	user_watch = note;
	KUNIT_ASSERT_EQ(test, 0, jit_find_code_id(&jit, 40, &id));
	KUNIT_EXPECT_EQ(test, 1, id);
	expect_order(test);
}

/* Where the second row of the first record is. */
static unsigned long second_row(void)
{
	return 1UL << 32 | (slot_of(0) + 2 * sizeof(image->pool.record[0].fre[0]) /
			    CODE_JIT_RECORD_ALIGN);
}

/* The row, its record's counter, and the slot. */
static void order_of_a_row_that_remains(struct kunit *test)
{
	const struct record *r = &image->pool.record[0];
	struct code_jit_unwind_fre fre;
	unsigned int end;

	user_watch = note;
	KUNIT_ASSERT_EQ(test, true,
			jit_granule_remains(&jit, 40, second_row(), 2, &fre));
	KUNIT_EXPECT_EQ(test, 1, fre.cfa_off);
	end = LAST(nr_seen, r->fre[1]);
	KUNIT_ASSERT_LT(test, end, FIRST(0, r->header.seq));
	KUNIT_ASSERT_LT(test, FIRST(0, r->header.seq), nr_seen);
	KUNIT_ASSERT_LT(test, FIRST(0, image->slot), nr_seen);
	KUNIT_EXPECT_TRUE(test, barrier_between(end, FIRST(0, r->header.seq)));
	KUNIT_EXPECT_TRUE(test, barrier_between(end, FIRST(0, image->slot)));
}

/* --- changes during a read */

static unsigned int changes;

/* The record in use is reused, so many times, just before its row is read. */
static void use_again(unsigned long addr)
{
	struct record *r = &image->pool.record[0];

	if (addr != (unsigned long)&r->fre[1].cfa_off || !changes)
		return;
	changes--;
	r->header.seq += 2;
	r->fre[1].cfa_off += 100;
}

static void record_used_again(struct kunit *test)
{
	struct code_jit_unwind_fre fre;

	user_watch = use_again;
	changes = 1;
	KUNIT_EXPECT_EQ(test, 0, jit_find(&jit, 40, &fre));
	KUNIT_EXPECT_EQ(test, 101, fre.cfa_off);
	changes = 2;
	KUNIT_EXPECT_EQ(test, -EAGAIN, jit_find(&jit, 40, &fre));
	KUNIT_EXPECT_EQ(test, 0, changes);
}

/* The function is replaced by the one of the other record. */
static void replace(unsigned long addr)
{
	if (addr == (unsigned long)&image->pool.record[0].fre[1].cfa_off)
		image->slot[2] = slot_of(1);
}

static void function_replaced(struct kunit *test)
{
	struct code_jit_unwind_fre fre;

	user_watch = replace;
	KUNIT_EXPECT_EQ(test, 0, jit_find(&jit, 40, &fre));
	KUNIT_EXPECT_EQ(test, 11, fre.cfa_off);
}

static void retire(unsigned long addr)
{
	if (addr == (unsigned long)&image->pool.record[0].fre[1].cfa_off)
		image->slot[2] = 0;
}

static void function_retired(struct kunit *test)
{
	struct code_jit_unwind_fre fre;

	user_watch = retire;
	KUNIT_EXPECT_EQ(test, -ENODATA, jit_find(&jit, 40, &fre));
}

static void row_that_changes(struct kunit *test)
{
	struct code_jit_unwind_fre fre;

	changes = 1;
	user_watch = use_again;
	KUNIT_EXPECT_FALSE(test, jit_granule_remains(&jit, 40, second_row(), 2,
						     &fre));
	KUNIT_EXPECT_TRUE(test, jit_granule_remains(&jit, 40, second_row(), 4,
						    &fre));
	user_watch = retire;
	KUNIT_EXPECT_FALSE(test, jit_granule_remains(&jit, 40, second_row(), 4,
						     &fre));
}

/* Odd at the first look. */
static void finish(unsigned long addr)
{
	u32 *seq = &image->pool.record[0].header.seq;

	if (addr == (unsigned long)seq && changes && !--changes)
		*seq &= ~1U;
}

static void record_being_written(struct kunit *test)
{
	struct code_jit_unwind_fre fre;

	user_watch = finish;
	image->pool.record[0].header.seq = 3;
	changes = 2;
	KUNIT_EXPECT_EQ(test, 0, jit_find(&jit, 40, &fre));
	image->pool.record[0].header.seq = 3;
	changes = 3;
	KUNIT_EXPECT_EQ(test, -EAGAIN, jit_find(&jit, 40, &fre));
}

/* Nothing is concluded from a record that changes, even if it is malformed, too. */
static void grow(unsigned long addr)
{
	struct record *r = &image->pool.record[0];

	if (addr != (unsigned long)&r->header.nr || !changes)
		return;
	changes--;
	r->header.seq += 2;
	r->header.nr = changes ? U32_MAX : 2;
}

static void malformed_meanwhile(struct kunit *test)
{
	struct code_jit_unwind_fre fre;

	user_watch = grow;
	changes = 2;
	KUNIT_EXPECT_EQ(test, -EAGAIN, jit_find(&jit, 40, &fre));
	KUNIT_EXPECT_EQ(test, 0, jit_find(&jit, 40, &fre));
}

/* A fault is a fault, whatever has changed. */
static void unmapped(struct kunit *test)
{
	struct code_jit_unwind_fre fre;

	jit.pool += PAGE_SIZE;
	KUNIT_EXPECT_EQ(test, -EFAULT, jit_find(&jit, 40, &fre));
	jit.pool -= PAGE_SIZE;
	jit.slots += PAGE_SIZE;
	KUNIT_EXPECT_EQ(test, -EFAULT, jit_find(&jit, 40, &fre));
}

static struct kunit_case cases[] = {
	KUNIT_CASE(order_of_a_lookup),
	KUNIT_CASE(order_of_a_code_id),
	KUNIT_CASE(order_of_a_row_that_remains),
	KUNIT_CASE(record_used_again),
	KUNIT_CASE(function_replaced),
	KUNIT_CASE(function_retired),
	KUNIT_CASE(row_that_changes),
	KUNIT_CASE(record_being_written),
	KUNIT_CASE(malformed_meanwhile),
	KUNIT_CASE(unmapped),
	{}
};

static struct kunit_suite granules_order = {
	.name = "granules_order",
	.init = make_image,
	.test_cases = cases,
};

kunit_test_suite(granules_order);

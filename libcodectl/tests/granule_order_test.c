// SPDX-License-Identifier: MIT
/*
 * The order in which granule maps are written, what a reader finds in between, and the
 * numbers of functions.
 */
#include "accesses.h"
#include "../src/lookup.c"

#define LEN	(16 * PAGE)

static struct codectl_region *region;
static uint64_t text;

static void open_region(void)
{
	const struct codectl_region_attr attr = {
		.flags = CODECTL_REGION_GRANULES,
	};

	region = test_open(LEN, &attr, &text);
}

static void add(uint32_t off, uint32_t len, int id)
{
	CHECK_EQ(test_add(region, text + off, len, id, NULL), 0);
}

static struct code_jit_record *record_of(uint32_t off)
{
	uint32_t slot = region->slots[off >> region->granule_shift];

	CHECK(slot);

	return (void *)(region->pool + (uint64_t)slot * CODE_JIT_RECORD_ALIGN);
}

static bool in_slots(const struct event *e)
{
	return e->at - (uintptr_t)region->slots <
	       sizeof(uint32_t) * codectl_granules(region, LEN);
}

static bool in_record(const struct event *e,
		      const struct code_jit_record *record)
{
	return e->at - (uintptr_t)record <
	       sizeof(*record) + record->nr * sizeof(record->fre[0]);
}

/* In the record except for its seq; NULL: in the slots. */
static bool is_in(const struct event *e, const struct code_jit_record *record)
{
	if (!record)
		return in_slots(e);

	return in_record(e, record) && e->at != (uintptr_t)&record->seq;
}

/* The place of the first or last store to slots, or to a record except for its seq. */
static size_t place(const struct code_jit_record *record, bool last)
{
	size_t i, found = nr_events;

	for (i = 0; i < nr_events && (last || found == nr_events); i++) {
		if (stores(&events[i]) && is_in(&events[i], record))
			found = i;
	}
	CHECK(found < nr_events);

	return found;
}

/* (c): all of a record comes before each of its slots. */
static void published(void)
{
	size_t i;

	open_region();
	nr_events = 0;
	add(256, 100, 1);
	CHECK(place(record_of(256), true) < place(NULL, false));
	for (i = place(NULL, false); i <= place(NULL, true); i++)
		CHECK(is_release(events[i].order));
	CHECK_EQ(place(NULL, true) - place(NULL, false) + 1, 7);
}

/* (a): the slots come first, then the counter, and what is in the record after both. */
static void retired(void)
{
	struct code_jit_record *record;
	size_t slots, seq, fence;

	open_region();
	add(256, 100, 1);
	record = record_of(256);
	nr_events = 0;
	CHECK_EQ(codectl_region_retire(region, text + 256, 100), 1);
	slots = place(NULL, true);
	/* It is freed when it is needed. */
	add(512, 16, 2);
	CHECK(record_of(512) == record);
	seq = find(ORDER_STORE, (uintptr_t)&record->seq, 0);
	fence = find(ORDER_FENCE, 0, seq);
	CHECK(is_release(events[fence].order));
	CHECK(slots < seq);
	CHECK(fence < place(record, false));
}

/* (b): a reused record comes before its counter, and that before slots. */
static void used_again(void)
{
	struct code_jit_record *record;
	size_t seq;

	open_region();
	add(256, 100, 1);
	record = record_of(256);
	CHECK_EQ(codectl_region_retire(region, text + 256, 100), 1);
	nr_events = 0;
	add(512, 16, 2);
	CHECK(record_of(512) == record);
	seq = find(ORDER_STORE, (uintptr_t)&record->seq, 0);
	seq = find(ORDER_STORE, (uintptr_t)&record->seq, seq + 1);
	CHECK(is_release(events[seq].order));
	CHECK(place(record, true) < seq);
	CHECK(seq < place(NULL, false));
	CHECK_EQ(record->seq, 2);
}

/* What to look up before each access in turn. */
static int kept_id, other_id;

static void look(void)
{
	kept_id = test_id(text + 300);
	other_id = test_id(text + 520);
}

/* Before the access with that number; false: there are fewer. */
static bool look_at(size_t nr)
{
	intrude_at = nr;
	intrude = look;
	nr_events = 0;
	CHECK_EQ(codectl_region_retire(region, text + 512, 64), 1);
	add(512, 64, 3);
	CHECK_EQ(codectl_region_retire(region, text + 512, 64), 1);
	add(512, 64, 2);

	return !intrude;
}

/* The others are found at any time; what changes is found as it was or is, or not. */
static void found_in_between(void)
{
	unsigned int found[4] = { 0 };
	size_t nr;

	open_region();
	add(256, 64, 1);
	add(512, 64, 2);
	for (nr = 0; look_at(nr); nr++) {
		CHECK_EQ(kept_id, 1);
		CHECK(other_id == 2 || other_id == 3 || other_id == -ENODATA ||
		      other_id == -EAGAIN);
		found[other_id > 0 ? other_id : 0]++;
	}
	CHECK(nr > 40);
	CHECK(found[0] && found[2] && found[3]);
}

/* A different one each time, also without a name, and in each region. */
static void numbers_of_functions(void)
{
	uint64_t last = 0, other;
	int i;

	open_region();
	for (i = 0; i < 100; i++) {
		CHECK_EQ(test_add(region, text, 16, 1, i % 3 ? "name" : NULL), 0);
		CHECK(record_of(0)->code_id > last);
		last = record_of(0)->code_id;
		if (i % 3)
			CHECK_EQ(codectl_name_record(region,
						     region->name_index[0])->id,
				 last);
		CHECK_EQ(test_add(region, text, 16, 1, NULL), -EEXIST);
		CHECK_EQ(codectl_region_retire(region, text, 16), 1);
	}
	add(0, 16, 1);
	CHECK(record_of(0)->code_id > last);
	other = record_of(0)->code_id >> 32;
	open_region();
	add(0, 16, 1);
	CHECK(record_of(0)->code_id >> 32 > other);
}

/* After 2^32 functions a region continues with numbers that no other one has had. */
static void numbers_that_end(void)
{
	struct codectl_region *first, *second;
	uint64_t last;

	open_region();
	first = region;
	add(0, 16, 1);
	last = record_of(0)->code_id | UINT32_MAX;
	open_region();
	second = region;
	add(0, 16, 1);
	CHECK(record_of(0)->code_id > last);

	region = first;
	text = region->text_start;
	region->next_id = last;
	add(16, 16, 2);
	CHECK_EQ(record_of(16)->code_id, last);
	add(32, 16, 3);
	CHECK(record_of(32)->code_id >> 32 > second->next_id >> 32);
	CHECK_EQ((uint32_t)record_of(32)->code_id, 1);
}

static const struct test tests[] = {
	TEST(published),
	TEST(retired),
	TEST(used_again),
	TEST(found_in_between),
	TEST(numbers_of_functions),
	TEST(numbers_that_end),
};

void order_yield(void)
{
}

int main(void)
{
	return test_main(tests, ARRAY_SIZE(tests));
}

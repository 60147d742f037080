// SPDX-License-Identifier: MIT
/*
 * The order in which names are written and replayed, and names that change during a replay.
 */
#include <linux/membarrier.h>
#include <sys/syscall.h>

#include "table_accesses.h"
#include "../src/lookup.c"

static const char *map_path(void)
{
	static char path[64];

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());

	return path;
}

static uint64_t index_of(uint32_t off)
{
	return (uintptr_t)&region->name_index[off / CODECTL_NAME_GRANULE];
}

static uint64_t record_of(uint32_t off)
{
	uint32_t unit = region->name_index[off / CODECTL_NAME_GRANULE];

	CHECK(unit);

	return (uintptr_t)codectl_name_record(region, unit);
}

/*
 * Switching names on sets the bit, has all threads pass a barrier, asks how far they
 * have come, and only then looks at what they have published.
 */
static void replayed(void)
{
	size_t bit, call, limit, id, again, i;

	open_region(0, 0, 3);
	for (i = 0; i < 10; i++)
		add(16 * i, "name");
	nr_events = 0;
	CHECK_EQ(codectl_perf_map(1), 0);
	CHECK_EQ(unlink(map_path()), 0);

	bit = find(ORDER_CHANGE, (uintptr_t)codectl_names_word(), 0);
	call = find(ORDER_CALL, SYS_membarrier, bit);
	while (events[call].order != MEMBARRIER_CMD_PRIVATE_EXPEDITED)
		call = find(ORDER_CALL, SYS_membarrier, call + 1);
	limit = find(ORDER_LOAD, (uintptr_t)&region->next_id, 0);
	CHECK(call < limit);
	CHECK(is_acquire(events[limit].order));
	CHECK(limit < find(ORDER_LOAD, index_of(0), 0));
	id = find(ORDER_LOAD, record_of(0), limit);
	CHECK(is_acquire(events[id].order));
	/* And again, after all else has been read. */
	again = find(ORDER_LOAD, record_of(0), id + 1);
	CHECK(is_acquire(events[find(ORDER_FENCE, 0, id)].order));
	CHECK(find(ORDER_FENCE, 0, id) < again);
}

/* A name is complete before it has a number, then is found, then is counted. */
static void named(void)
{
	size_t id, link;

	open_region(0, 0, 3);
	add(128, "a name that is longer than a word or two");
	id = find(ORDER_STORE, record_of(128), 0);
	CHECK(is_release(events[id].order));
	CHECK(find(ORDER_STORE, record_of(128) + 56, 0) < id);
	link = find(ORDER_STORE, index_of(128), 0);
	CHECK(id < link);
	CHECK(is_release(events[link].order));
	id = find(ORDER_STORE, (uintptr_t)&region->next_id, link);
	CHECK(is_release(events[id].order));
}

/* It loses its number before anything else in it changes. */
static void forgotten(void)
{
	uint64_t record;
	size_t id, fence;

	open_region(0, 0, 3);
	add(128, "name");
	record = record_of(128);
	nr_events = 0;
	CHECK_EQ(codectl_region_retire(region, text + 128, 16), 1);
	id = find(ORDER_STORE, record, 0);
	fence = find(ORDER_FENCE, 0, id);
	CHECK(is_release(events[fence].order));
	CHECK(fence < find(ORDER_STORE, record +
			   offsetof(struct codectl_name_record, next), 0));
}

/* The bits are read once the function is there. */
static void asked_after_publishing(void)
{
	size_t i, published = 0;

	open_region(0, 0, 3);
	for (i = 0; i < 4; i++)
		add(16 * i, "name");
	for (i = 0; i < nr_events; i++) {
		if (stores(&events[i]) && is_link(&events[i]))
			published = i;
	}
	CHECK(find(ORDER_LOAD, (uintptr_t)codectl_names_word(), 0) > published);
}

/* --- names that change during a replay, at any access */

#define OLD	"an old name that is longer than a word"
#define NEW	"a new name that is longer than a word, too"

static const struct codectl_func new_func = {
	.off = 80, .len = 16, .name = NEW, .kept = true,
};

static void rename_function(void)
{
	CHECK_EQ(codectl_names_forget(region, 80, 96), 1);
	CHECK(codectl_name_keep(region, &new_func));
}

static void add_function(void)
{
	CHECK(codectl_name_keep(region, &new_func));
}

static void retire_function(void)
{
	CHECK_EQ(codectl_names_forget(region, 80, 96), 1);
}

/* Each is reported once, except an old name, which need not be, and nothing else. */
static void check_told(bool maybe_old, bool has_new)
{
	unsigned int first = 0, last = 0, old = 0, new = 0, nr = 0;
	FILE *file = fopen(map_path(), "r");
	unsigned long start, len;
	char name[64];

	CHECK(file);
	for (; fscanf(file, "%lx %lx %63[^\n]", &start, &len, name) == 3; nr++) {
		CHECK_EQ(len, 16);
		first += start == text + 64 && !strcmp(name, "first");
		last += start == text + 96 && !strcmp(name, "last");
		old += start == text + 80 && !strcmp(name, OLD);
		new += start == text + 80 && !strcmp(name, NEW);
	}
	fclose(file);
	CHECK_EQ(first, 1);
	CHECK_EQ(last, 1);
	CHECK_EQ(new, has_new);
	CHECK(old <= maybe_old);
	CHECK_EQ(nr, first + last + old + new);
}

/* Does the replay have an access with that number, at which this can be done? */
static bool change_amid(size_t at, const char *old, void (*change)(void))
{
	open_region(0, 0, 3);
	add(64, "first");
	if (old)
		add(80, old);
	add(96, "last");
	nr_events = 0;
	intrude_at = at;
	intrude = change;
	CHECK_EQ(codectl_perf_map(1), 0);
	if (intrude)
		return false;
	/* A publisher publishes then. */
	if (change != retire_function)
		codectl_names_added(region, &new_func);
	CHECK_EQ(codectl_perf_map(0), 0);
	check_told(old, change != retire_function);
	CHECK_EQ(unlink(map_path()), 0);
	codectl_region_close(region);

	return true;
}

static void renamed_amid_a_replay(void)
{
	size_t at = 0;

	while (change_amid(at, OLD, rename_function))
		at++;
	CHECK(at > 50);
}

static void retired_amid_a_replay(void)
{
	size_t at = 0;

	while (change_amid(at, OLD, retire_function))
		at++;
	CHECK(at > 50);
}

static void added_amid_a_replay(void)
{
	size_t at = 0;

	while (change_amid(at, NULL, add_function))
		at++;
	CHECK(at > 30);
}

/* There is no lookup to wait for. */
void order_yield(void)
{
	CHECK(false);
}

static const struct test tests[] = {
	TEST(replayed),
	TEST(named),
	TEST(forgotten),
	TEST(asked_after_publishing),
	TEST(renamed_amid_a_replay),
	TEST(retired_amid_a_replay),
	TEST(added_amid_a_replay),
};

int main(void)
{
	return test_main(tests, ARRAY_SIZE(tests));
}

// SPDX-License-Identifier: MIT
/*
 * The order in which the library writes what other threads and the kernel read, and its
 * waits for readers.  Each access is noted, so that a missing barrier fails a test on
 * any machine.
 */
#include "table_accesses.h"
#include "../src/lookup.c"

static const struct event *last_store(void)
{
	const struct event *e = events + nr_events, *found = NULL;

	while (e-- > events && !found) {
		if (stores(e) && is_in_tables(e))
			found = e;
	}
	CHECK(found);

	return found;
}

/* (a) and (b): all of a function comes before what makes it one. */
static void appended(void)
{
	unsigned int down, i;

	for (down = 0; down < 2; down++) {
		open_region(0, down ? CODE_JIT_DESCENDING : 0, 3);
		for (i = 0; i < 12; i++) {
			add(16 * (down ? 12 - i : i), "name");
			CHECK(is_link(last_store()));
			CHECK(is_release(last_store()->order));
		}
		codectl_region_close(region);
	}
}

/* Between two changes of seq, and only there; (c) and (d). */
static void check_rewriting(void)
{
	const uint64_t seq = (uintptr_t)&region->seq;
	size_t i, first = nr_events, last = 0, nr = 0;
	bool fenced = false;

	for (i = 0; i < nr_events; i++) {
		if (!stores(&events[i]) || events[i].at != seq)
			continue;
		first = first < i ? first : i;
		last = i;
		nr++;
	}
	CHECK_EQ(nr, 2);
	CHECK(is_release(events[last].order));
	for (i = 0; i < nr_events; i++) {
		if (i > first && events[i].kind == ORDER_FENCE &&
		    is_release(events[i].order))
			fenced = true;
		if (!stores(&events[i]) || !is_in_tables(&events[i]))
			continue;
		CHECK(fenced);
		CHECK(i < last);
	}
}

static void rewritten(void)
{
	unsigned int i;

	open_region(CODECTL_REGION_REWRITE, 0, 4);
	for (i = 0; i < 10; i++)
		add(32 * i, "name");
	add(32 + 16, "between");
	CHECK(is_in_tables(last_store()));
	check_rewriting();
	CHECK_EQ(codectl_region_retire(region, text, 16), 1);
	nr_events = 0;
	CHECK_EQ(codectl_region_compact(region), 0);
	CHECK(is_in_tables(last_store()));
	check_rewriting();
}

/* --- a signal handler that forks while rows are rewritten, at any access */

static pid_t forked;

/* The handler returns in both, and so does what it has interrupted. */
static void fork_in_handler(void)
{
	alarm(20);
	forked = fork();
	CHECK(forked >= 0);
	if (region->seq % 2)
		CHECK(!codectl_trylock());
}

static bool fork_amid(size_t at)
{
	unsigned int i;

	open_region(CODECTL_REGION_REWRITE, 0, 4);
	for (i = 0; i < 10; i++)
		add(32 * i, "name");
	nr_events = 0;
	intrude_at = at;
	intrude = fork_in_handler;
	CHECK_EQ(test_add(region, text + 16, 16, 2, "between"), 0);
	if (intrude)
		return false;
	for (i = 0; i < 10; i++)
		CHECK_EQ(test_id(text + 32 * i), 1);
	CHECK_EQ(test_id(text + 16), 2);
	CHECK_EQ(codectl_region_compact(region), 0);
	CHECK_EQ(test_add(region, text + 48, 16, 3, "and one more"), 0);
	codectl_region_close(region);
	if (!forked)
		_exit(0);
	test_wait(forked);

	return true;
}

static void forked_amid_rewriting(void)
{
	size_t at = 0;

	while (fork_amid(at))
		at++;
	CHECK(at > 50);
}

/* --- another thread that forks while a function is appended, at any access */

static uint64_t told_ids[4];
static unsigned int nr_told;

static int note_name(const struct codectl_name *name)
{
	unsigned int i;

	for (i = 0; i < nr_told; i++)
		CHECK(told_ids[i] != name->id);
	CHECK(nr_told < ARRAY_SIZE(told_ids));
	told_ids[nr_told++] = name->id;

	return 0;
}

/* The writer is not there: its function and its name are, or both will be. */
static void go_on_in_child(void)
{
	bool there;

	forked = fork();
	CHECK(forked >= 0);
	if (forked)
		return;

	add(64, "later");
	there = test_id(text + 32) == 1;
	nr_told = 0;
	codectl_lock();
	codectl_names_replay(CODECTL_EVENT, note_name);
	codectl_unlock();
	CHECK(nr_told == 2 || nr_told == 3);
	CHECK_EQ(codectl_region_retire(region, text, 3 * 32), 2 + there);
	CHECK_EQ(codectl_names_forget(region, 0, LEN), 0);
	CHECK_EQ(codectl_region_compact(region), 0);
	add(32, "again");
	CHECK_EQ(test_id(text + 32), 1);
	_exit(0);
}

static bool fork_beside(size_t at)
{
	open_region(CODECTL_REGION_REWRITE, 0, 4);
	add(0, "before");
	intrude_at = at;
	intrude = go_on_in_child;
	add(32, "interrupted");
	if (intrude)
		return false;
	test_wait(forked);
	codectl_region_close(region);

	return true;
}

static void forked_amid_appending(void)
{
	size_t at = 0;

	while (fork_beside(at))
		at++;
	CHECK(at > 10);
}

/* --- cost: accesses to what others may see */

#define MANY	2000

static void add_many(void)
{
	struct codectl_region_attr attr = { .flags = CODECTL_REGION_REWRITE };
	uint32_t i;

	region = test_open(LEN, &attr, &text);
	for (i = 0; i < MANY; i++)
		add(16 * i, NULL);
}

static void retire(uint32_t off)
{
	nr_events = 0;
	CHECK_EQ(codectl_region_retire(region, text + off, 16), 1);
}

/* The last function, and one that comes after others that have retired. */
static void retiring_beside_many(void)
{
	uint32_t i;

	add_many();
	for (i = 0; i < MANY; i++) {
		retire(16 * i);
		CHECK(nr_events < 64);
	}
}

/* A hole is filled by what was there, however many there are around it. */
static void adding_beside_many(void)
{
	uint32_t i;

	add_many();
	for (i = 0; i < MANY; i++)
		retire(16 * i);
	for (i = 0; i < MANY; i++) {
		add(16 * (MANY / 2 + i) % (16 * MANY), NULL);
		CHECK(nr_events < 64);
	}
}

/* --- lookups, and the list of regions */

/*
 * A lookup counts itself, then reads the list; whoever removes a region unlinks it,
 * then reads the counts.  One of them sees the other only if no CPU does the later load
 * ahead of what comes before it.
 */
static void lookups_and_removal(void)
{
	struct codectl_region *other;
	struct codectl_rule rule;
	uint64_t other_text;
	size_t count, list;

	open_region(0, 0, 3);
	add(0, NULL);
	nr_events = 0;
	CHECK_EQ(codectl_lookup(text, &rule), 0);
	count = find(ORDER_CHANGE, (uintptr_t)&counts()[phase], 0);
	list = find(ORDER_LOAD, (uintptr_t)&codectl_list, 0);
	CHECK(count < list);
	CHECK_EQ(events[count].order, __ATOMIC_SEQ_CST);
	CHECK_EQ(events[list].order, __ATOMIC_SEQ_CST);
	CHECK(is_release(events[nr_events - 1].order));
	CHECK_EQ(events[nr_events - 1].at, (uintptr_t)&counts()[phase]);

	other = test_open(LEN, NULL, &other_text);
	nr_events = 0;
	codectl_region_close(region);
	CHECK(codectl_list->nr == 1 && codectl_list->regions[0] == other);
	list = find(ORDER_STORE, (uintptr_t)&codectl_list, 0);
	CHECK_EQ(events[list].order, __ATOMIC_SEQ_CST);
	count = find(ORDER_LOAD, (uintptr_t)&counts()[0], 0);
	CHECK(list < count);
	CHECK_EQ(events[count].order, __ATOMIC_SEQ_CST);
	count = find(ORDER_LOAD, (uintptr_t)&counts()[1], 0);
	CHECK(list < count);
	CHECK_EQ(events[count].order, __ATOMIC_SEQ_CST);
}

/* A region is complete before it is found, and then the old list is left alone. */
static void added_to_the_list(void)
{
	size_t list, count;

	nr_events = 0;
	open_region(0, 0, 3);
	list = find(ORDER_STORE, (uintptr_t)&codectl_list, 0);
	CHECK_EQ(events[list].order, __ATOMIC_SEQ_CST);
	count = find(ORDER_LOAD, (uintptr_t)&counts()[0], 0);
	CHECK(list < count);
}

/* The list has space for all that are in it. */
static void list_that_grows(void)
{
	unsigned int i;

	for (i = 0; i < 600; i++) {
		nr_events = 0;
		open_region(0, 0, 3);
		CHECK(codectl_list->nr <= pair.max);
	}
}

static unsigned int yields;

/* The lookup that is waited for ends. */
void order_yield(void)
{
	CHECK(counts()[0] || counts()[1]);
	/* In the middle of a lookup a handler may fork. */
	CHECK(codectl_trylock());
	codectl_unlock();
	if (++yields % 3)
		return;
	counts()[0] = 0;
	counts()[1] = 0;
}

/*
 * Whichever count a lookup is in: it may have read long ago which one is current.
 */
static void closing_waits_for_both_counts(void)
{
	unsigned int i;

	for (i = 0; i < 4; i++) {
		open_region(0, 0, 3);
		phase = i / 2;
		counts()[i % 2] = 1;
		yields = 0;
		nr_events = 0;
		codectl_region_close(region);
		CHECK_EQ(yields, 3);
	}
}

/*
 * Lookups of other threads are not in the child; one that a signal handler has
 * interrupted is, and ends there, too.
 */
static void lookups_at_a_fork(void)
{
	unsigned int i;
	int *entered;
	pid_t pid;

	open_region(0, 0, 3);
	entered = enter();
	/* Ancestors may have left their counts. */
	for (i = 0; i < FORKS; i++)
		if (readers[i] != counts())
			readers[i][0] = 3;
	for (i = 0; i < FORKS; i++)
		if (readers[i] != counts())
			readers[i][1] = 3;
	counts()[0] += 2;
	counts()[1] += 1;
	pid = fork();
	if (!pid) {
		CHECK_EQ(counts()[0], 0);
		CHECK_EQ(counts()[1], 0);
		leave(entered);
		CHECK_EQ(counts()[0], 0);
		CHECK_EQ(counts()[1], 0);
		codectl_region_close(region);
		CHECK_EQ(yields, 0);
		_exit(0);
	}
	test_wait(pid);
	leave(entered);
	CHECK_EQ(counts()[0], 2);
	CHECK_EQ(counts()[1], 1);
}

static const struct test tests[] = {
	TEST(appended),
	TEST(rewritten),
	TEST(forked_amid_rewriting),
	TEST(forked_amid_appending),
	TEST(retiring_beside_many),
	TEST(adding_beside_many),
	TEST(lookups_and_removal),
	TEST(added_to_the_list),
	TEST(list_that_grows),
	TEST(closing_waits_for_both_counts),
	TEST(lookups_at_a_fork),
};

int main(void)
{
	return test_main(tests, ARRAY_SIZE(tests));
}

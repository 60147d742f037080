// SPDX-License-Identifier: MIT
/*
 * In which order the library writes what other threads and the kernel read, and
 * waits for those who read.  Each access is noted, so that a barrier that is
 * missing fails a test on whatever machine.
 */
#include <linux/membarrier.h>
#include <stdint.h>
#include <sys/syscall.h>

#include "order.h"
#include "../src/lookup.c"
#include "test.h"

#define LEN	(16 * PAGE)

struct event {
	enum order_kind kind;
	uint64_t at;
	int order;
};

static struct event events[20000];
static size_t nr_events;
static struct codectl_region *region;
static uint64_t text;

void order_note(enum order_kind kind, const volatile void *at, int order)
{
	CHECK(nr_events < ARRAY_SIZE(events));
	events[nr_events++] = (struct event) {
		.kind = kind,
		.at = (uintptr_t)at,
		.order = order,
	};
}

static bool is_release(int order)
{
	return order == __ATOMIC_RELEASE || order == __ATOMIC_ACQ_REL ||
	       order == __ATOMIC_SEQ_CST;
}

static bool stores(const struct event *e)
{
	return e->kind == ORDER_STORE || e->kind == ORDER_CHANGE;
}

static bool is_in_tables(const struct event *e)
{
	uint64_t start = (uintptr_t)region->tables;

	return e->at - start < region->max_tables * region->table_size;
}

static bool is_link(const struct event *e)
{
	uint64_t off = e->at - (uintptr_t)region->tables;

	off %= region->table_size;

	return is_in_tables(e) &&
	       (off == offsetof(struct code_jit_unwind_table, used_len) ||
		off == offsetof(struct code_jit_unwind_table, next));
}

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

static void open_region(uint32_t flags, uint32_t jit_flags, uint64_t per_table)
{
	struct codectl_region_attr attr = {
		.flags = flags, .jit_flags = jit_flags, .max_rows = 64,
		.table_rows = per_table,
	};

	region = test_open(LEN, &attr, &text);
}

static void add(uint32_t off, const char *name)
{
	nr_events = 0;
	CHECK_EQ(test_add(region, text + off, 16, 1, name), 0);
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

/* How much there is and where it goes on is read ahead of what is there. */
static void check_reading(size_t from)
{
	size_t nr = 0;

	for (; from < nr_events; from++) {
		if (events[from].kind != ORDER_LOAD || !is_link(&events[from]))
			continue;
		nr++;
		CHECK(events[from].order == __ATOMIC_ACQUIRE ||
		      events[from].order == __ATOMIC_SEQ_CST);
	}
	CHECK(nr);
}

static size_t find(enum order_kind kind, uint64_t at, size_t from)
{
	while (from < nr_events &&
	       (events[from].kind != kind || events[from].at != at))
		from++;
	CHECK(from < nr_events);

	return from;
}

/*
 * Who switches names on sets the bit, has all threads pass a barrier, and only
 * then looks at what they have published.
 */
static void replayed(void)
{
	char path[64];
	size_t bit, call, i;

	open_region(0, 0, 3);
	for (i = 0; i < 10; i++)
		add(16 * i, "name");
	nr_events = 0;
	CHECK_EQ(codectl_perf_map(1), 0);
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	CHECK_EQ(unlink(path), 0);

	bit = find(ORDER_CHANGE, (uintptr_t)codectl_names_word(), 0);
	call = find(ORDER_CALL, SYS_membarrier, bit);
	while (events[call].order != MEMBARRIER_CMD_PRIVATE_EXPEDITED)
		call = find(ORDER_CALL, SYS_membarrier, call + 1);
	for (i = 0; i < call; i++)
		CHECK(events[i].kind != ORDER_LOAD || !is_in_tables(&events[i]));
	check_reading(call);
}

/* The bits are read after the function is there. */
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

/* --- what it costs: accesses to what others may see */

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

/* The last function, and one that comes behind others that have retired. */
static void retiring_beside_many(void)
{
	uint32_t i;

	add_many();
	for (i = 0; i < MANY; i++) {
		retire(16 * i);
		CHECK(nr_events < 64);
	}
}

/* A hole is filled by what was there, however many there are beside it. */
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
 * A lookup counts itself, then reads the list; who removes a region unlinks it,
 * then reads the counts.  One of them sees the other only if no processor may
 * take a later load for an earlier one.
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
	count = find(ORDER_CHANGE, (uintptr_t)&readers[phase], 0);
	list = find(ORDER_LOAD, (uintptr_t)&codectl_regions, 0);
	CHECK(count < list);
	CHECK_EQ(events[count].order, __ATOMIC_SEQ_CST);
	CHECK_EQ(events[list].order, __ATOMIC_SEQ_CST);
	CHECK(is_release(events[nr_events - 1].order));
	CHECK_EQ(events[nr_events - 1].at, (uintptr_t)&readers[phase]);

	/* At the head of the list, and behind another one. */
	other = test_open(LEN, NULL, &other_text);
	CHECK(codectl_regions == other && other->next == region);
	nr_events = 0;
	codectl_region_close(region);
	list = find(ORDER_STORE, (uintptr_t)&other->next, 0);
	CHECK_EQ(events[list].order, __ATOMIC_SEQ_CST);
	count = find(ORDER_LOAD, (uintptr_t)&readers[0], 0);
	CHECK(list < count);
	CHECK_EQ(events[count].order, __ATOMIC_SEQ_CST);
	count = find(ORDER_LOAD, (uintptr_t)&readers[1], 0);
	CHECK(list < count);
	CHECK_EQ(events[count].order, __ATOMIC_SEQ_CST);
}

/* A region is whole before it is found. */
static void added_to_the_list(void)
{
	size_t list;

	nr_events = 0;
	open_region(0, 0, 3);
	list = find(ORDER_STORE, (uintptr_t)&codectl_regions, 0);
	CHECK(is_release(events[list].order));
}

static unsigned int yields;

/* The lookup that was waited for ends. */
void order_yield(void)
{
	CHECK(readers[0] || readers[1]);
	if (++yields % 3)
		return;
	readers[0] = 0;
	readers[1] = 0;
}

/*
 * Whichever count a lookup is in: it may have read which one is the present one
 * long ago.
 */
static void closing_waits_for_both_counts(void)
{
	unsigned int i;

	for (i = 0; i < 4; i++) {
		open_region(0, 0, 3);
		phase = i / 2;
		readers[i % 2] = 1;
		yields = 0;
		nr_events = 0;
		codectl_region_close(region);
		CHECK_EQ(yields, 3);
	}
}

/* Threads that were looking something up are not in the child. */
static void lookups_at_a_fork(void)
{
	pid_t pid;

	open_region(0, 0, 3);
	readers[0] = 2;
	readers[1] = 1;
	pid = fork();
	if (!pid) {
		CHECK_EQ(readers[0], 0);
		CHECK_EQ(readers[1], 0);
		codectl_region_close(region);
		CHECK_EQ(yields, 0);
		_exit(0);
	}
	test_wait(pid);
	CHECK_EQ(readers[0], 2);
	CHECK_EQ(readers[1], 1);
}

static const struct test tests[] = {
	TEST(appended),
	TEST(rewritten),
	TEST(replayed),
	TEST(asked_after_publishing),
	TEST(retiring_beside_many),
	TEST(adding_beside_many),
	TEST(lookups_and_removal),
	TEST(added_to_the_list),
	TEST(closing_waits_for_both_counts),
	TEST(lookups_at_a_fork),
};

int main(void)
{
	return test_main(tests, ARRAY_SIZE(tests));
}

// SPDX-License-Identifier: MIT
/*
 * Names for tracers.
 */
#include <fcntl.h>

#include "tracer.h"

#define LEN	(16 * PAGE)
static struct tracer *const tracer = &tracers[0];
static struct codectl_region *region;
static uint64_t text;

static void add(uint32_t off, const char *name)
{
	CHECK_EQ(test_add(region, text + off, 16, 1, name), 0);
}

static void retire(uint32_t off)
{
	CHECK_EQ(codectl_region_retire(region, text + off, 16), 1);
}

static void start(void)
{
	struct codectl_region_attr attr = { .flags = CODECTL_REGION_REWRITE };

	region = test_open(LEN, &attr, &text);
	tracer_open_all();
	CHECK_EQ(codectl_names_event(1), 0);
	CHECK_EQ(*codectl_names_word(), 0);
}

/* The next record that has not been checked, and the copy that all are from. */
static size_t checked;
static uint64_t copy;

static const struct record *next(struct tracer *from, uint32_t action)
{
	tracer_read(from);
	CHECK(checked < from->nr);
	CHECK_EQ(from->records[checked].action, action);
	CHECK_EQ(from->records[checked].pid, getpid());
	if (!copy)
		copy = from->records[checked].copy;
	CHECK(copy);
	CHECK_EQ(from->records[checked].copy, copy);

	return &from->records[checked++];
}

static uint64_t check_add(struct tracer *from, uint32_t off, const char *name)
{
	const struct record *record = next(from, CODECTL_NAME_ADD);

	CHECK_EQ(record->start, text + off);
	CHECK_EQ(record->len, 16);
	if (strcmp(record->name, name))
		printf("# %s, not %s\n", record->name, name);
	CHECK(!strcmp(record->name, name));

	return record->id;
}

static void check_retire(struct tracer *from, uint32_t off, uint64_t len)
{
	const struct record *record = next(from, CODECTL_NAME_RETIRE);

	CHECK_EQ(record->start, text + off);
	CHECK_EQ(record->len, len);
}

static void check_begin(struct tracer *from)
{
	next(from, CODECTL_NAME_BEGIN);
}

static void check_end(struct tracer *from, uint64_t nr)
{
	CHECK_EQ(next(from, CODECTL_NAME_END)->len, nr);
}

static void check_no_more(struct tracer *from)
{
	tracer_read(from);
	CHECK_EQ(from->nr, checked);
}

/* The kernel may have to fault in the page of the word first. */
static void switch_on(struct tracer *which)
{
	checked = 0;
	tracer_on(which);
	test_wait_for(codectl_names_word(), ASKED);
}

static void replays_and_follows(void)
{
	uint64_t id;

	start();
	add(0, "before");
	add(16, NULL);
	add(32, "retired");
	add(48, "also before");
	retire(32);
	switch_on(tracer);
	check_no_more(tracer);
	codectl_names_poll();
	check_begin(tracer);
	id = check_add(tracer, 0, "before");
	CHECK(check_add(tracer, 48, "also before") > id);
	check_end(tracer, 2);
	codectl_names_poll();
	check_no_more(tracer);

	add(64, "after");
	add(80, NULL);
	add(32, "two\nlines");
	retire(0);
	check_add(tracer, 64, "after");
	check_add(tracer, 32, "two lines");
	check_retire(tracer, 0, 16);
	tracer_off(tracer);
	add(96, "while off");
	CHECK_EQ(*codectl_names_word() & OURS, 0);
	check_no_more(tracer);

	/* A name that is published is enough. */
	switch_on(tracer);
	add(112, "last");
	check_begin(tracer);
	CHECK(check_add(tracer, 32, "two lines") > id);
	check_add(tracer, 48, "also before");
	check_add(tracer, 64, "after");
	check_add(tracer, 96, "while off");
	check_add(tracer, 112, "last");
	check_end(tracer, 5);
	check_no_more(tracer);
	codectl_region_close(region);
	check_retire(tracer, 0, LEN);
	tracer_off(tracer);
}

/* So is one that is retired, or a function without a name. */
static void others_wake(void)
{
	start();
	add(0, "a");
	add(16, "b");
	switch_on(tracer);
	retire(16);
	check_begin(tracer);
	check_add(tracer, 0, "a");
	check_end(tracer, 1);
	check_retire(tracer, 16, 16);
	tracer_off(tracer);
	switch_on(tracer);
	add(32, NULL);
	check_begin(tracer);
	check_add(tracer, 0, "a");
	check_end(tracer, 1);
	check_no_more(tracer);
	tracer_off(tracer);
}

/* Nobody looked at the word while the tracer was off. */
static void off_unnoticed(void)
{
	unsigned int i;

	start();
	add(0, "a");
	for (i = 0; i < 3; i++) {
		switch_on(tracer);
		codectl_names_poll();
		check_begin(tracer);
		check_add(tracer, 0, "a");
		check_end(tracer, 1);
		check_no_more(tracer);
		tracer_off(tracer);
	}
	/* Nor while it was there. */
	switch_on(tracer);
	tracer_off(tracer);
	codectl_names_poll();
	check_no_more(tracer);
	add(16, "b");
	CHECK_EQ(*codectl_names_word() & OURS, 0);
}

/* A tracer that comes or goes next to another has everything reported again, to both. */
static void second_tracer(void)
{
	struct tracer *other = &tracers[1];
	unsigned int i;

	start();
	add(0, "a");
	switch_on(tracer);
	codectl_names_poll();
	switch_on(other);
	add(16, "b");
	for (i = 0; i < NR_TRACERS; i++) {
		checked = 0;
		if (!i) {
			check_begin(tracer);
			check_add(tracer, 0, "a");
			check_end(tracer, 1);
		}
		check_begin(&tracers[i]);
		check_add(&tracers[i], 0, "a");
		check_add(&tracers[i], 16, "b");
		check_end(&tracers[i], 2);
		check_no_more(&tracers[i]);
	}
	tracer_off(tracer);
	codectl_names_poll();
	check_begin(other);
	check_add(other, 0, "a");
	check_add(other, 16, "b");
	check_end(other, 2);
	check_no_more(other);
	tracer_off(other);
}

/* A name that found no space is reported when it is published, and not again. */
static void name_is_not_kept(void)
{
	struct codectl_region_attr attr = { .name_bytes = 1 };

	start();
	codectl_region_close(region);
	region = test_open(LEN, &attr, &text);
	switch_on(tracer);
	add(0, "a");
	check_begin(tracer);
	check_end(tracer, 0);
	check_add(tracer, 0, "a");
	tracer_off(tracer);
	switch_on(tracer);
	codectl_names_poll();
	check_begin(tracer);
	check_end(tracer, 0);
	tracer_off(tracer);
}

/* What replaces others, with or without a name, reports that they are gone. */
static void names_are_replaced(void)
{
	start();
	codectl_region_close(region);
	region = test_open_without_rows(LEN, &text);
	switch_on(tracer);
	CHECK_EQ(codectl_region_add(region, text, 16, NULL, 0, "a"), 0);
	check_begin(tracer);
	check_add(tracer, 0, "a");
	check_end(tracer, 1);
	CHECK_EQ(codectl_region_add(region, text, 16, NULL, 0, "b"), 0);
	check_retire(tracer, 0, 16);
	check_add(tracer, 0, "b");
	CHECK_EQ(codectl_region_add(region, text, 32, NULL, 0, NULL), 0);
	check_retire(tracer, 0, 32);
	CHECK_EQ(codectl_region_add(region, text, 32, NULL, 0, NULL), 0);
	check_no_more(tracer);
	tracer_off(tracer);
}

static void beside_perf_map(void)
{
	char path[64], line[128], want[128];
	FILE *file;

	start();
	add(0, "a");
	CHECK_EQ(codectl_perf_map(1), 0);
	switch_on(tracer);
	add(16, "b");
	CHECK_EQ(codectl_perf_map(0), 0);
	add(32, "c");
	check_begin(tracer);
	check_add(tracer, 0, "a");
	check_add(tracer, 16, "b");
	check_end(tracer, 2);
	check_add(tracer, 32, "c");
	tracer_off(tracer);

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	file = fopen(path, "r");
	CHECK(file && fgets(line, sizeof(line), file));
	CHECK(fgets(line, sizeof(line), file));
	snprintf(want, sizeof(want), "%lx 10 b\n", text + 16);
	CHECK(!strcmp(line, want));
	CHECK(!fgets(line, sizeof(line), file));
	fclose(file);
	unlink(path);
}

/* A tracer in the process may have the other bits. */
static void other_bits(void)
{
	uint32_t *word = codectl_names_word();

	start();
	__atomic_fetch_or(word, ~OURS, __ATOMIC_SEQ_CST);
	add(0, "a");
	switch_on(tracer);
	codectl_names_poll();
	check_begin(tracer);
	CHECK_EQ(*word & ~OURS, ~OURS);
	tracer_off(tracer);
	add(16, "b");
	CHECK_EQ(*word, ~OURS);
	CHECK_EQ(codectl_names_event(0), 0);
	CHECK_EQ(*word, ~OURS);
}

static void switched_off(void)
{
	start();
	add(0, "a");
	switch_on(tracer);
	codectl_names_poll();
	CHECK_EQ(codectl_names_event(1), 0);
	check_begin(tracer);
	check_add(tracer, 0, "a");
	check_end(tracer, 1);
	CHECK_EQ(codectl_names_event(0), 0);
	CHECK_EQ(codectl_names_event(0), 0);
	CHECK_EQ(*codectl_names_word(), 0);
	add(16, "b");
	check_no_more(tracer);
	CHECK_EQ(codectl_names_event(1), 0);
	check_begin(tracer);
	check_add(tracer, 0, "a");
	check_add(tracer, 16, "b");
	check_end(tracer, 2);
	check_no_more(tracer);
	tracer_off(tracer);
}

/* It waits for the kernel before it reports anything: the kernel sets the bit first. */
static void waits_for_the_tracer(void)
{
	unsigned int before;

	start();
	add(0, "a");
	before = tracer_deletes;
	switch_on(tracer);
	codectl_names_poll();
	check_begin(tracer);
	check_add(tracer, 0, "a");
	check_end(tracer, 1);
	if (!tracer_is_real())
		CHECK_EQ(tracer_deletes, before + 1);
	add(16, "b");
	check_add(tracer, 16, "b");
	if (!tracer_is_real())
		CHECK_EQ(tracer_deletes, before + 1);
	tracer_off(tracer);
}

/* Failed writes are repeated, but not forever. */
static void writes_are_struck(void)
{
	const int errors[] = { EFAULT, EINTR };
	unsigned int i;

	start();
	switch_on(tracer);
	codectl_names_poll();
	check_begin(tracer);
	check_end(tracer, 0);
	/* The kernel cannot be made to fail. */
	for (i = 0; i < 2 && !tracer_is_real(); i++) {
		tracer_write_error = errors[i];
		tracer_write_errors = 3;
		add(32 * i, "struck");
		check_add(tracer, 32 * i, "struck");
		tracer_write_errors = 4;
		add(32 * i + 16, "lost");
		CHECK_EQ(tracer_write_errors, 0);
		CHECK_EQ(*codectl_names_word() & OURS & ~ASKED, 0);
		check_no_more(tracer);
		tracer_off(tracer);
		retire(32 * i);
		retire(32 * i + 16);
		switch_on(tracer);
		codectl_names_poll();
		check_begin(tracer);
		check_end(tracer, 0);
	}
	add(64, "after");
	check_add(tracer, 64, "after");
	tracer_off(tracer);
}

/* A daemon closes all files that it does not know, and opens those it needs. */
static void file_is_closed(void)
{
	int i, first;
	char got;

	start();
	/* What the tracers read comes first. */
	first = tracer_is_real() ? tracers[1].pipe + 1 : 3;
	add(0, "a");
	switch_on(tracer);
	codectl_names_poll();
	check_begin(tracer);
	check_add(tracer, 0, "a");
	check_end(tracer, 1);
	for (i = first; i < 64; i++)
		close(i);
	for (i = first; i < 64; i++)
		CHECK_EQ(memfd_create("other", 0), i);
	add(16, "b");
	check_begin(tracer);
	check_add(tracer, 0, "a");
	check_add(tracer, 16, "b");
	check_end(tracer, 2);
	check_no_more(tracer);
	for (i = first; i < 64; i++)
		CHECK_EQ(pread(i, &got, 1, 0), 0);
	tracer_off(tracer);

	CHECK_EQ(codectl_names_event(0), 0);
	for (i = first; i < 64; i++)
		CHECK(fcntl(i, F_GETFD) >= 0);
}

/* A child reports what is its own. */
static void check_child(bool on, bool on_at_fork)
{
	uint64_t parent = copy;

	copy = 0;
	if (on && !on_at_fork)
		switch_on(tracer);
	checked = tracer->nr;
	add(16, "child");
	if (on) {
		check_begin(tracer);
		check_add(tracer, 0, "a");
		check_add(tracer, 16, "child");
		check_end(tracer, 2);
		CHECK(copy != parent);
	}
	retire(0);
	if (on)
		check_retire(tracer, 0, 16);
	check_no_more(tracer);
	if (on && !on_at_fork)
		tracer_off(tracer);
	CHECK_EQ(codectl_names_event(0), 0);
	CHECK_EQ(*codectl_names_word(), 0);
}

static void forks(void)
{
	unsigned int i;
	pid_t pid;

	start();
	add(0, "a");
	switch_on(tracer);
	codectl_names_poll();
	check_begin(tracer);
	tracer_off(tracer);
	for (i = 0; i < 4; i++) {
		bool on = i & 1, on_at_fork = i & 2;

		if (on_at_fork) {
			switch_on(tracer);
			codectl_names_poll();
			tracer_wait(tracer, 1);
			if (!on)
				tracer_off(tracer);
		}
		pid = fork();
		if (!pid) {
			check_child(on, on_at_fork);
			_exit(0);
		}
		test_wait(pid);
		if (on_at_fork && on)
			tracer_off(tracer);
	}
	/* The parent continues as if nothing had happened. */
	switch_on(tracer);
	add(16, "parent");
	check_begin(tracer);
	check_add(tracer, 0, "a");
	check_add(tracer, 16, "parent");
	check_end(tracer, 2);
	tracer_off(tracer);
}

/* Neither the file nor the event is left open. */
static void exec_leaves_nothing(void)
{
	char *args[] = { "name_event_test", "after exec", NULL };

	start();
	add(0, "a");
	switch_on(tracer);
	codectl_names_poll();
	tracer_off(tracer);
	execv("/proc/self/exe", args);
	CHECK(false);
}

static int after_exec(void)
{
	char path[32], name[64] = "";
	unsigned int i;

	for (i = 3; i < 64; i++) {
		snprintf(path, sizeof(path), "/proc/self/fd/%u", i);
		if (readlink(path, name, sizeof(name) - 1) > 0)
			CHECK(!strstr(name, "user_events"));
	}
	tracer_wait_gone();

	return 0;
}

static const struct test tests[] = {
	TEST(replays_and_follows),
	TEST(others_wake),
	TEST(off_unnoticed),
	TEST(second_tracer),
	TEST(name_is_not_kept),
	TEST(names_are_replaced),
	TEST(beside_perf_map),
	TEST(other_bits),
	TEST(switched_off),
	TEST(waits_for_the_tracer),
	TEST(writes_are_struck),
	TEST(file_is_closed),
	TEST(forks),
	TEST(exec_leaves_nothing),
};

int main(int argc, char **argv)
{
	int ret;

	(void)argv;
	if (argc > 1)
		return after_exec();
	ret = test_main(tests, ARRAY_SIZE(tests));
	tracer_remove_all();

	return ret;
}

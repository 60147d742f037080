// SPDX-License-Identifier: MIT
/*
 * Names of functions, by the file that perf reads: which are kept, and reported.
 */
#include <pthread.h>

#include "map_file.h"

static void replays_and_follows(void)
{
	char want[4096], *end = want;

	start(NULL);
	add(0, "before");
	add(16, NULL);
	add(32, "retired");
	add(48, "also before");
	CHECK_EQ(codectl_region_retire(region, text + 32, 16), 1);
	CHECK(access(map_path(), F_OK));
	CHECK_EQ(codectl_perf_map(1), 0);
	end = line(end, 0, 16, "before");
	end = line(end, 48, 16, "also before");
	check_file(want);
	add(64, "after");
	add(80, NULL);
	end = line(end, 64, 16, "after");
	check_file(want);
	CHECK_EQ(codectl_perf_map(1), 0);
	check_file(want);

	CHECK_EQ(codectl_perf_map(0), 0);
	CHECK_EQ(codectl_perf_map(0), 0);
	add(96, "while off");
	check_file(want);
	CHECK_EQ(codectl_perf_map(1), 0);
	end = line(end, 0, 16, "before");
	end = line(end, 48, 16, "also before");
	end = line(end, 64, 16, "after");
	end = line(end, 96, 16, "while off");
	check_file(want);
	unlink(path);
}

/* A reused address has the name of what is there now. */
static void reused_addresses(void)
{
	struct codectl_region_attr attr = { .flags = CODECTL_REGION_REWRITE };
	char want[4096], *end = want;

	start(&attr);
	add(0, "a");
	add(16, "old");
	add(48, "c");
	add(32, "b");
	CHECK_EQ(codectl_region_retire(region, text + 16, 16), 1);
	add(16, "new");
	CHECK_EQ(codectl_region_retire(region, text + 32, 16), 1);
	add(32, NULL);
	CHECK_EQ(codectl_region_compact(region), 0);
	CHECK_EQ(codectl_perf_map(1), 0);
	end = line(end, 0, 16, "a");
	end = line(end, 16, 16, "new");
	end = line(end, 48, 16, "c");
	check_file(want);
	unlink(path);
}

/* What compacting leaves after the rows is not the name of later ones. */
static void names_after_compacting(void)
{
	struct codectl_region_attr attr = { .flags = CODECTL_REGION_REWRITE };
	const struct code_jit_unwind_fre rows[3] = {
		test_row(0, 4, 1), test_row(4, 8, 2), test_row(12, 4, 3),
	};
	struct codectl_region_stat stat;
	char want[4096], *end = want;
	unsigned int i;

	start(&attr);
	for (i = 0; i < 100; i++)
		add(16 * i, "old");
	CHECK_EQ(codectl_region_retire(region, text + 16, 99 * 16), 99);
	CHECK_EQ(codectl_region_compact(region), 0);
	for (i = 0; i < 10; i++)
		CHECK_EQ(codectl_region_add(region, text + PAGE + 16 * i, 16,
					    rows, 3, i % 2 ? "new" : NULL), 0);
	codectl_region_stat(region, &stat);
	CHECK_EQ(stat.names, 6);
	CHECK_EQ(codectl_region_compact(region), 0);
	codectl_region_stat(region, &stat);
	CHECK_EQ(stat.names, 6);

	CHECK_EQ(codectl_perf_map(1), 0);
	end = line(end, 0, 16, "old");
	for (i = 1; i < 10; i += 2)
		end = line(end, PAGE + 16 * i, 16, "new");
	check_file(want);
	unlink(path);
}

static void descending(void)
{
	struct codectl_region_attr attr = { .jit_flags = CODE_JIT_DESCENDING };
	const struct code_jit_unwind_fre rows[3] = {
		test_row(2, 2, 1), test_row(4, 8, 2), test_row(12, 4, 3),
	};
	char want[4096], *end = want;

	start(&attr);
	CHECK_EQ(codectl_region_add(region, text + 32, 20, rows, 3, "high"), 0);
	CHECK_EQ(codectl_region_add(region, text + 8, 16, rows, 3, "low"), 0);
	CHECK_EQ(codectl_perf_map(1), 0);
	end = line(end, 8, 16, "low");
	end = line(end, 32, 20, "high");
	check_file(want);
	unlink(path);
}

/* No name can break the lines, and none is too long. */
static void odd_names(void)
{
	const char *not_ascii = "gr\xc3\xb6\xc3\x9f\x65r\x7f\xff";
	char want[8192], *end = want, name[3001];

	memset(name, 'x', 3000);
	name[3000] = '\0';
	start(NULL);
	add(0, "two\nlines\tand more\r");
	add(16, "");
	add(32, name);
	CHECK_EQ(codectl_perf_map(1), 0);
	add(48, "two\nlines");
	add(64, name);
	add(80, not_ascii);
	name[1000] = '\0';
	end = line(end, 0, 16, "two lines and more ");
	end = line(end, 16, 16, "");
	end = line(end, 32, 16, name);
	end = line(end, 48, 16, "two lines");
	end = line(end, 64, 16, name);
	end = line(end, 80, 16, not_ascii);
	check_file(want);
	unlink(path);
}

static void fill_name(char *name, size_t len)
{
	memset(name, 'n', len);
	name[len] = '\0';
}

/*
 * A block has 32 to 1024 bytes, of which 21 are not for the name; a name that is one
 * byte longer than fits into a block needs a block twice as long.
 */
static void space_for_names(unsigned int block, bool more)
{
	struct codectl_region_attr attr = { .flags = CODECTL_REGION_REWRITE,
					    .name_bytes = 2048 };
	uint32_t nr = 2048 / block >> more, i;
	char name[1024];

	fill_name(name, block - 21 + more);
	region = test_open(LEN, &attr, &text);
	for (i = 0; i < nr; i++)
		add(16 * i, name);
	CHECK_EQ(stat_of_region().names_lost, 0);
	add(16 * i, "");
	CHECK_EQ(stat_of_region().names, nr);
	CHECK_EQ(stat_of_region().names_lost, 1);

	CHECK_EQ(codectl_region_retire(region, text, 32), 2);
	for (i = 0; i < 2; i++)
		add(16 * i, name);
	CHECK_EQ(stat_of_region().names, nr);
	CHECK_EQ(stat_of_region().names_lost, 1);
	codectl_region_close(region);
}

static void names_of_all_lengths(void)
{
	unsigned int block;

	for (block = 32; block < 1024; block *= 2) {
		space_for_names(block, false);
		space_for_names(block, true);
	}
	space_for_names(1024, false);
}

static void no_space_for_names(void)
{
	struct codectl_region_attr attr = { .name_bytes = 1 };
	char want[4096];

	start(&attr);
	add(0, "a function");
	CHECK_EQ(stat_of_region().names, 0);
	CHECK_EQ(stat_of_region().names_lost, 1);
	CHECK_EQ(codectl_perf_map(1), 0);
	add(160, "not kept");
	line(want, 160, 16, "not kept");
	check_file(want);
	unlink(path);
}

/* Whatever was there before, and however often; none replaces another. */
static void names_of_reused_code(void)
{
	struct codectl_region_attr attr = { .flags = CODECTL_REGION_REWRITE,
					    .name_bytes = 14 * 1024 };
	char want[16384], *end = want, name[100];
	uint32_t lens[100] = { 0 }, i, at;

	start(&attr);
	for (i = 0; i < 100; i++)
		add(16 * i, "");
	for (i = 0; i < test_rounds(100000); i++) {
		at = test_random(100);
		CHECK_EQ(codectl_region_retire(region, text + 16 * at, 16), 1);
		lens[at] = test_random(70);
		fill_name(name, lens[at]);
		add(16 * at, name);
	}
	CHECK_EQ(stat_of_region().names, 100);
	CHECK_EQ(stat_of_region().names_lost, 0);

	CHECK_EQ(codectl_perf_map(1), 0);
	for (i = 0; i < 100; i++) {
		fill_name(name, lens[i]);
		end = line(end, 16 * i, 16, name);
	}
	check_file(want);
	unlink(path);
}

static void retire_one(uint32_t i)
{
	CHECK_EQ(codectl_region_retire(region, text + 16 * i, 16), 1);
}

/* Free space is joined when it is needed; without help if it is contiguous. */
static void names_get_longer(void)
{
	struct codectl_region_attr attr = { .flags = CODECTL_REGION_REWRITE,
					    .name_bytes = 64 * 1024 };
	char want[131072], *end = want, name[1001];
	uint32_t i;

	start(&attr);
	for (i = 0; i < 2048; i++)
		add(16 * i, "short");
	CHECK_EQ(stat_of_region().names_lost, 0);
	for (i = 1024; i < 2048; i++)
		retire_one(i);
	fill_name(name, 1000);
	for (i = 0; i < 32; i++)
		add(16 * (1024 + i), name);
	CHECK_EQ(stat_of_region().names_lost, 0);

	/* In each 1024 bytes some are in use: this takes compacting. */
	for (i = 0; i < 1024; i++)
		if (i % 16 && i % 16 != 5)
			retire_one(i);
	add(16 * 1100, name);
	CHECK_EQ(stat_of_region().names_lost, 1);
	CHECK_EQ(codectl_region_compact(region), 0);
	for (i = 32; i < 60; i++)
		add(16 * (1024 + i), name);
	CHECK_EQ(stat_of_region().names_lost, 1);
	CHECK_EQ(stat_of_region().names, 2 * 64 + 60);

	CHECK_EQ(codectl_perf_map(1), 0);
	for (i = 0; i < 64; i++) {
		end = line(end, 256 * i, 16, "short");
		end = line(end, 256 * i + 80, 16, "short");
	}
	for (i = 0; i < 60; i++)
		end = line(end, 16 * (1024 + i), 16, name);
	check_file(want);
	unlink(path);
}

/* If rows begin after their function does, both may have begun at one address. */
static void names_of_retired_parts(void)
{
	struct codectl_region_attr attr = { .flags = CODECTL_REGION_REWRITE };
	const struct code_jit_unwind_fre row = test_row(8, 8, 1);
	char want[4096];

	start(&attr);
	CHECK_EQ(codectl_region_add(region, text, 16, &row, 1, "old"), 0);
	CHECK_EQ(codectl_region_retire(region, text + 8, 8), 1);
	CHECK_EQ(stat_of_region().names, 1);
	CHECK_EQ(codectl_region_add(region, text, 16, &row, 1, "new"), 0);
	CHECK_EQ(stat_of_region().names, 1);
	CHECK_EQ(codectl_perf_map(1), 0);
	line(want, 0, 16, "new");
	check_file(want);
	unlink(path);

	/* Nor is a name left when nothing else is. */
	CHECK_EQ(codectl_region_retire(region, text + 8, 8), 1);
	CHECK_EQ(codectl_region_retire(region, text, 16), 0);
	CHECK_EQ(stat_of_region().names, 0);
}

static void name_only(uint32_t off, uint32_t len, const char *name)
{
	CHECK_EQ(codectl_region_add(region, text + off, len, NULL, 0, name), 0);
}

/* In any order, over one another, and withdrawn. */
static void names_without_rows(void)
{
	char want[4096], *end = want;

	unlink(map_path());
	region = test_open_without_rows(LEN, &text);
	name_only(4096, 64, "high");
	name_only(64, 64, "low");
	name_only(1000, 7, "replaced");
	name_only(1010, 20, "replaced too");
	name_only(1000, 11, "in its place");
	name_only(1030, 1, "beside it");
	name_only(8000, 100, "retired");
	name_only(2000, 100, "replaced by none");
	name_only(1990, 50, NULL);
	CHECK_EQ(stat_of_region().names, 5);
	CHECK_EQ(codectl_region_retire(region, text + 8000, 100), 1);
	CHECK_EQ(codectl_region_retire(region, text + 8000, 100), 0);
	CHECK_EQ(stat_of_region().names, 4);

	CHECK_EQ(codectl_perf_map(1), 0);
	end = line(end, 64, 64, "low");
	end = line(end, 1000, 11, "in its place");
	end = line(end, 1030, 1, "beside it");
	end = line(end, 4096, 64, "high");
	check_file(want);
	unlink(path);
}

#define NR_NAMES	5000
#define NR_ROUNDS	30

static char *numbered(char *name, uint32_t i)
{
	sprintf(name, "function-%u;", i);

	return name;
}

/* More slowly than names are replayed, or replaying never catches up. */
static void *add_many(void *arg)
{
	volatile uint32_t spin;
	char name[32];
	uint32_t i;

	for (i = 0; i < NR_NAMES; i++) {
		add(16 * i, numbered(name, i));
		for (spin = 0; spin < 1000; spin++)
			;
	}

	return arg;
}

/* In order, and once. */
static void check_all_names(void)
{
	char *all = read_file(), *at = all, name[32];
	uint32_t i;

	for (i = 0; i < NR_NAMES; i++) {
		at = strstr(at, numbered(name, i));
		if (!at)
			printf("# %s is missing\n", name);
		CHECK(at);
	}
	for (at = all, i = 0; (at = strchr(at, '\n')); at++)
		i++;
	CHECK_EQ(i, NR_NAMES);
	free(all);
}

/* Whenever names are switched on, none is left out or reported twice. */
static void switched_on_meanwhile(void)
{
	struct codectl_region_attr attr = { .name_bytes = NR_NAMES * 64 };
	pthread_t thread;
	uint32_t i;

	map_path();
	for (i = 0; i < NR_ROUNDS; i++) {
		region = test_open(NR_NAMES * 16, &attr, &text);
		CHECK_EQ(pthread_create(&thread, NULL, add_many, NULL), 0);
		usleep(i * 10);
		CHECK_EQ(codectl_perf_map(1), 0);
		CHECK_EQ(pthread_join(thread, NULL), 0);
		check_all_names();
		CHECK_EQ(codectl_perf_map(0), 0);
		codectl_region_close(region);
		unlink(path);
	}
}

#define NR_REUSED	40

static int stop;

/* A number, and as many of one letter as that says. */
static size_t nr_letters(char letter)
{
	return 1 + letter % 5 * 20;
}

static void make_name(char *name, uint32_t i)
{
	char letter = 'a' + test_random(26), *at = name;

	at += sprintf(name, "%u-", i);
	memset(at, letter, nr_letters(letter));
	at[nr_letters(letter)] = '\0';
}

static void check_name(const char *name, uint32_t i)
{
	char *at;

	CHECK_EQ(strtoul(name, &at, 10), i);
	CHECK_EQ(*at++, '-');
	CHECK_EQ(strlen(at), nr_letters(*at));
	CHECK_EQ(strspn(at, (char []) { *at, '\0' }), strlen(at));
}

static void *replace_names(void *arg)
{
	char name[128];
	uint32_t i;

	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		i = test_random(NR_REUSED);
		make_name(name, i);
		CHECK_EQ(codectl_region_retire(region, text + 16 * i, 16), 1);
		CHECK_EQ(test_add(region, text + 16 * i, 16, 1, name), 0);
		if (!test_random(500))
			CHECK_EQ(codectl_region_compact(region), 0);
	}

	return arg;
}

/* Each reported name is that of one function, and complete. */
static void check_replayed(void)
{
	char *all = read_file(), *at, *end;
	unsigned long start;

	for (at = all; *at; at = end + 1) {
		end = strchr(at, '\n');
		CHECK(end);
		*end = '\0';
		start = strtoul(at, &at, 16);
		CHECK_EQ(strtoul(at, &at, 16), 16);
		check_name(at + 1, (start - text) / 16);
	}
	free(all);
}

static void replayed_while_reused(void)
{
	struct codectl_region_attr attr = { .flags = CODECTL_REGION_REWRITE,
					    .name_bytes = 8 * 1024 };
	char name[128];
	pthread_t thread;
	uint32_t i;

	start(&attr);
	for (i = 0; i < NR_REUSED; i++) {
		make_name(name, i);
		add(16 * i, name);
	}
	CHECK_EQ(pthread_create(&thread, NULL, replace_names, NULL), 0);
	for (i = 0; i < test_rounds(1000); i++) {
		CHECK_EQ(codectl_perf_map(1), 0);
		CHECK_EQ(codectl_perf_map(0), 0);
		check_replayed();
		unlink(path);
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	CHECK_EQ(pthread_join(thread, NULL), 0);
	CHECK_EQ(stat_of_region().names, NR_REUSED);
	CHECK_EQ(stat_of_region().names_lost, 0);
}

static const struct test tests[] = {
	TEST(replays_and_follows),
	TEST(reused_addresses),
	TEST(names_after_compacting),
	TEST(descending),
	TEST(odd_names),
	TEST(names_of_all_lengths),
	TEST(no_space_for_names),
	TEST(names_of_reused_code),
	TEST(names_get_longer),
	TEST(names_of_retired_parts),
	TEST(names_without_rows),
	TEST(switched_on_meanwhile),
	TEST(replayed_while_reused),
};

int main(void)
{
	return test_main(tests, ARRAY_SIZE(tests));
}

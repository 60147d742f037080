// SPDX-License-Identifier: MIT
/*
 * fork() while another thread publishes.
 */
#include <pthread.h>

#include "test.h"

#define FUNC_LEN	16
#define NR_FUNCS	200000
#define NR_SLOTS	64

static struct codectl_region *region;
static uint64_t text;
static int stop;

static uint64_t func_addr(uint32_t i)
{
	return text + (uint64_t)i * FUNC_LEN;
}

static int add_func(uint32_t i)
{
	const struct code_jit_unwind_fre rows[3] = {
		test_row(0, 4, i), test_row(4, 8, i), test_row(12, 4, i),
	};

	return codectl_region_add(region, func_addr(i), FUNC_LEN, rows, 3,
				  "name");
}

static bool stopped(void)
{
	return __atomic_load_n(&stop, __ATOMIC_RELAXED);
}

static void fork_often(void (*in_child)(void))
{
	unsigned int i;
	pid_t pid;

	for (i = 0; i < test_rounds(100); i++) {
		pid = fork();
		if (!pid) {
			in_child();
			_exit(0);
		}
		test_wait(pid);
	}
}

static void run_beside(void *(*writer)(void *), void (*in_child)(void))
{
	pthread_t thread;

	CHECK_EQ(pthread_create(&thread, NULL, writer, NULL), 0);
	fork_often(in_child);
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	CHECK_EQ(pthread_join(thread, NULL), 0);
}

/* --- appending: functions below @published are there */

static uint32_t published;

static void *append(void *arg)
{
	uint32_t i;

	/* A child may add two more. */
	for (i = 0; i < NR_FUNCS - 2 && !stopped(); i++) {
		CHECK_EQ(add_func(i), 0);
		__atomic_store_n(&published, i + 1, __ATOMIC_RELEASE);
		/* Slow enough to continue for as long as there are forks. */
		if (i % 16 == 15)
			usleep(50);
	}

	return arg;
}

static void child_of_append(void)
{
	uint32_t nr = __atomic_load_n(&published, __ATOMIC_ACQUIRE), i;

	for (i = nr > 1000 ? nr - 1000 : 0; i < nr; i++)
		CHECK_EQ(test_id(func_addr(i)), i);
	/* The one that was being published is there as a whole, or not at all. */
	CHECK_EQ(test_id(func_addr(nr)), test_id(func_addr(nr) + 15));
	if (test_id(func_addr(nr)) == -ENODATA)
		CHECK_EQ(add_func(nr), 0);
	CHECK_EQ(add_func(nr + 1), 0);
	for (i = nr; i < nr + 2; i++)
		CHECK_EQ(test_id(func_addr(i) + 7), i);
	CHECK_EQ(test_id(func_addr(nr + 2)), -ENODATA);
}

static void while_appending(void)
{
	struct codectl_region_attr attr = { .max_rows = NR_FUNCS * 3 };

	region = test_open(NR_FUNCS * FUNC_LEN, &attr, &text);
	run_beside(append, child_of_append);
}

/* --- rewriting: what is in each slot, or that it is being changed */

#define CHANGING	(-1)

static int slots[NR_SLOTS];

static void set_slot(uint32_t i, int value)
{
	__atomic_store_n(&slots[i], value, __ATOMIC_SEQ_CST);
}

static void *rewrite(void *arg)
{
	uint32_t i;

	while (!stopped()) {
		i = test_random(NR_SLOTS);
		if (!slots[i]) {
			set_slot(i, CHANGING);
			CHECK_EQ(add_func(i), 0);
			set_slot(i, 1);
		} else {
			set_slot(i, CHANGING);
			CHECK_EQ(codectl_region_retire(region, func_addr(i),
						       FUNC_LEN), 3);
			set_slot(i, 0);
		}
		if (!test_random(50))
			CHECK_EQ(codectl_region_compact(region), 0);
	}

	return arg;
}

static void check_slots(const int *want)
{
	uint32_t i;

	for (i = 0; i < NR_SLOTS; i++) {
		if (want[i] != CHANGING)
			CHECK_EQ(test_id(func_addr(i) + 13),
				 want[i] ? (int)i : -ENODATA);
	}
}

static void child_of_rewrite(void)
{
	uint32_t i;

	check_slots(slots);
	for (i = 0; i < NR_SLOTS; i++) {
		if (slots[i] == CHANGING)
			continue;
		if (!slots[i])
			CHECK_EQ(add_func(i), 0);
		else
			CHECK_EQ(codectl_region_retire(region, func_addr(i),
						       FUNC_LEN), 3);
		slots[i] = !slots[i];
	}
	check_slots(slots);
}

static void while_rewriting(void)
{
	struct codectl_region_attr attr = {
		.flags = CODECTL_REGION_REWRITE, .max_rows = 240,
		.table_rows = 20,
	};

	region = test_open(NR_SLOTS * FUNC_LEN, &attr, &text);
	run_beside(rewrite, child_of_rewrite);
}

/* Each function begins a table; when all are full, it starts again. */
static void *chain(void *arg)
{
	uint32_t i;

	while (!stopped()) {
		for (i = 0; i < NR_SLOTS; i++) {
			set_slot(i, CHANGING);
			CHECK_EQ(add_func(i), 0);
			set_slot(i, 1);
		}
		for (i = 0; i < NR_SLOTS; i++)
			set_slot(i, CHANGING);
		CHECK_EQ(codectl_region_retire(region, text,
					       NR_SLOTS * FUNC_LEN),
			 NR_SLOTS * 3);
		CHECK_EQ(codectl_region_compact(region), 0);
		for (i = 0; i < NR_SLOTS; i++)
			set_slot(i, 0);
	}

	return arg;
}

static void while_chaining(void)
{
	struct codectl_region_attr attr = {
		.flags = CODECTL_REGION_REWRITE, .max_rows = 256,
		.table_rows = 4,
	};

	region = test_open(NR_SLOTS * FUNC_LEN, &attr, &text);
	run_beside(chain, child_of_rewrite);
}

/* --- granule maps, whose functions are in many granules each */

#define NR_WIDE		8
#define WIDE		(1 << 14)

static int change_wide(uint32_t i, bool add)
{
	return add ? test_add(region, text + i * WIDE, WIDE, i + 1, NULL) :
		     codectl_region_retire(region, text + i * WIDE, WIDE);
}

static void *churn(void *arg)
{
	uint32_t i;
	bool add;

	while (!stopped()) {
		i = test_random(NR_WIDE);
		add = !slots[i];
		set_slot(i, CHANGING);
		CHECK_EQ(change_wide(i, add), !add);
		set_slot(i, add);
	}

	return arg;
}

static void check_wide(uint32_t i, bool there)
{
	CHECK_EQ(test_id(text + i * WIDE), there ? (int)i + 1 : -ENODATA);
	CHECK_EQ(test_id(text + i * WIDE + WIDE - 1),
		 there ? (int)i + 1 : -ENODATA);
}

static void child_of_churn(void)
{
	uint32_t i, round;
	int ret;

	for (i = 0; i < NR_WIDE; i++) {
		if (slots[i] == CHANGING) {
			ret = change_wide(i, false);
			CHECK(ret == 0 || ret == 1);
			slots[i] = 0;
		}
		check_wide(i, slots[i]);
	}
	for (round = 0; round < 4; round++) {
		for (i = 0; i < NR_WIDE; i++) {
			CHECK_EQ(change_wide(i, !slots[i]), slots[i]);
			slots[i] = !slots[i];
		}
		for (i = 0; i < NR_WIDE; i++)
			check_wide(i, slots[i]);
	}
}

static void while_granules_change(void)
{
	struct codectl_region_attr attr = {
		.flags = CODECTL_REGION_GRANULES, .max_rows = 1000,
	};

	region = test_open(NR_WIDE * WIDE, &attr, &text);
	run_beside(churn, child_of_churn);
}

/* --- lookups and regions of other threads */

static void *look_up(void *arg)
{
	while (!stopped())
		CHECK_EQ(test_id(text), 0);

	return arg;
}

/* The child must not wait for lookups of threads that it does not have. */
static void child_of_lookup(void)
{
	struct codectl_region *other;
	uint64_t other_text;

	alarm(20);
	other = test_open(PAGE, NULL, &other_text);
	CHECK_EQ(test_id(text), 0);
	codectl_region_close(other);
	codectl_region_close(region);
	CHECK_EQ(test_id(text), -ENOENT);
}

static void while_looking_up(void)
{
	region = test_open(NR_FUNCS * FUNC_LEN, NULL, &text);
	CHECK_EQ(add_func(0), 0);
	run_beside(look_up, child_of_lookup);
}

static void *open_and_close(void *arg)
{
	struct codectl_region *other;
	uint64_t other_text = test_text(PAGE);

	while (!stopped()) {
		CHECK_EQ(codectl_region_open((void *)other_text, PAGE, NULL,
					     &other), 0);
		codectl_region_close(other);
	}

	return arg;
}

static void while_opening(void)
{
	region = test_open(NR_FUNCS * FUNC_LEN, NULL, &text);
	CHECK_EQ(add_func(0), 0);
	run_beside(open_and_close, child_of_lookup);
}

/* --- a program that ends during a fork, when the library has its lock */

static bool leaving;
static bool nesting;

static void leave(void)
{
	pid_t pid;

	if (leaving)
		exit(0);
	if (!nesting)
		return;
	/* As a signal handler may, after fork() has called the library. */
	nesting = false;
	pid = fork();
	if (!pid)
		_exit(0);
	test_wait(pid);
}

/* The first of all, so that it is called last before a fork. */
static void before_libraries(void)
{
	pthread_atfork(leave, NULL, NULL);
}

static void (*const preinit)(void)
	__attribute__((__section__(".preinit_array"), __used__)) =
	before_libraries;

static void end_in_fork(void)
{
	pid_t pid = fork();

	if (!pid) {
		alarm(20);
		leaving = true;
		fork();
		_exit(1);
	}
	test_wait(pid);
}

/* Neither of the two has the lock afterwards. */
static void fork_in_fork(void)
{
	struct codectl_region *other;
	uint64_t other_text;
	pid_t pid;

	alarm(20);
	nesting = true;
	pid = fork();
	CHECK(!nesting);
	other = test_open(PAGE, NULL, &other_text);
	codectl_region_close(other);
	if (!pid)
		_exit(0);
	test_wait(pid);
}

static const struct test tests[] = {
	TEST(while_appending),
	TEST(while_rewriting),
	TEST(while_chaining),
	TEST(while_granules_change),
	TEST(while_looking_up),
	TEST(while_opening),
	TEST(end_in_fork),
	TEST(fork_in_fork),
};

int main(void)
{
	return test_main(tests, ARRAY_SIZE(tests));
}

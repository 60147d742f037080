// SPDX-License-Identifier: MIT
/*
 * Lookups in a signal handler while the library is working.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/time.h>

#include "test.h"

#define FUNC_LEN	16
#define NR_FUNCS	64
#define NR_SIGNALS	400

static struct codectl_region *fixed, *changing;
static uint64_t fixed_text, text;
static int signals, wrong, stop;

/* Right, or not there at the moment; never another function's. */
static bool is_plausible(uint32_t i)
{
	int id = test_id(text + i * FUNC_LEN + 5);

	return id == (int)i || id == -ENOENT || id == -ENODATA || id == -EAGAIN;
}

static void on_signal(int sig)
{
	int saved = errno;
	uint32_t i;

	(void)sig;
	for (i = 0; i < NR_FUNCS; i++) {
		if (!is_plausible(i) ||
		    test_id(fixed_text + i * FUNC_LEN) != (int)i)
			__atomic_store_n(&wrong, 1, __ATOMIC_RELAXED);
	}
	__atomic_fetch_add(&signals, 1, __ATOMIC_RELAXED);
	errno = saved;
}

static bool stopped(void)
{
	return __atomic_load_n(&stop, __ATOMIC_RELAXED);
}

static void fill(struct codectl_region *region, uint64_t start)
{
	uint32_t i, k;

	/* Every other one first, for rows to be moved. */
	for (k = 0; k < 2; k++) {
		for (i = k; i < NR_FUNCS; i += 2)
			CHECK_EQ(test_add(region, start + i * FUNC_LEN,
					  FUNC_LEN, i, NULL), 0);
	}
}

static void change_once(void)
{
	struct codectl_region_attr attr = { .flags = CODECTL_REGION_REWRITE,
					    .table_rows = 3,
					    .max_rows = 3 * 64 };
	uint32_t i;

	CHECK_EQ(codectl_region_open((void *)text, NR_FUNCS * FUNC_LEN, &attr,
				     &changing), 0);
	fill(changing, text);
	for (i = 0; i < NR_FUNCS; i += 3)
		CHECK_EQ(codectl_region_retire(changing, text + i * FUNC_LEN,
					       FUNC_LEN), 1);
	CHECK_EQ(codectl_region_compact(changing), 0);
	codectl_region_close(changing);
}

static void *change(void *arg)
{
	while (!stopped())
		change_once();

	return arg;
}

static void start_timer(int which, int sig)
{
	const struct itimerval often = {
		.it_interval = { .tv_usec = 500 }, .it_value = { .tv_usec = 500 },
	};
	struct sigaction act = { .sa_handler = on_signal,
				 .sa_flags = SA_RESTART };

	CHECK_EQ(sigaction(sig, &act, NULL), 0);
	CHECK_EQ(setitimer(which, &often, NULL), 0);
}

static void open_both(void)
{
	struct codectl_region_attr attr = { .flags = CODECTL_REGION_REWRITE };

	fixed = test_open(NR_FUNCS * FUNC_LEN, &attr, &fixed_text);
	fill(fixed, fixed_text);
	text = test_text(NR_FUNCS * FUNC_LEN);
}

/* The handler interrupts the library itself, in any thread. */
static void in_the_writer(void)
{
	open_both();
	start_timer(ITIMER_PROF, SIGPROF);
	while (__atomic_load_n(&signals, __ATOMIC_RELAXED) < NR_SIGNALS)
		change_once();
	CHECK_EQ(wrong, 0);
}

static void in_another_thread(void)
{
	pthread_t thread;

	open_both();
	CHECK_EQ(pthread_create(&thread, NULL, change, NULL), 0);
	start_timer(ITIMER_PROF, SIGPROF);
	while (__atomic_load_n(&signals, __ATOMIC_RELAXED) < NR_SIGNALS)
		on_signal(0);
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	CHECK_EQ(pthread_join(thread, NULL), 0);
	CHECK_EQ(wrong, 0);
}

/* --- a lookup that is interrupted for long, and a region that is closed */

#define NR_STALLS	50

static int stalled, lookups;

static void stall(int sig)
{
	(void)sig;
	__atomic_store_n(&stalled, 1, __ATOMIC_RELAXED);
	usleep(2000);
}

static void *look_up(void *arg)
{
	while (!stopped()) {
		if (!is_plausible(NR_FUNCS - 1))
			__atomic_store_n(&wrong, 1, __ATOMIC_RELAXED);
		__atomic_fetch_add(&lookups, 1, __ATOMIC_RELAXED);
	}

	return arg;
}

/* Nothing replaces what was unmapped before this has returned. */
static void wait_for_lookup(void)
{
	int before = __atomic_load_n(&lookups, __ATOMIC_RELAXED);

	while (__atomic_load_n(&lookups, __ATOMIC_RELAXED) == before)
		sched_yield();
}

static void close_waits_for_lookups(void)
{
	struct sigaction act = { .sa_handler = stall };
	pthread_t thread;
	uint32_t i;

	text = test_text(NR_FUNCS * FUNC_LEN);
	CHECK_EQ(sigaction(SIGUSR1, &act, NULL), 0);
	CHECK_EQ(pthread_create(&thread, NULL, look_up, NULL), 0);
	for (i = 0; i < NR_STALLS; i++) {
		CHECK_EQ(codectl_region_open((void *)text, NR_FUNCS * FUNC_LEN,
					     NULL, &changing), 0);
		CHECK_EQ(test_add(changing, text, NR_FUNCS * FUNC_LEN,
				  NR_FUNCS - 1, NULL), 0);
		wait_for_lookup();
		__atomic_store_n(&stalled, 0, __ATOMIC_RELAXED);
		CHECK_EQ(pthread_kill(thread, SIGUSR1), 0);
		while (!__atomic_load_n(&stalled, __ATOMIC_RELAXED))
			sched_yield();
		codectl_region_close(changing);
		wait_for_lookup();
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	CHECK_EQ(pthread_join(thread, NULL), 0);
	CHECK_EQ(wrong, 0);
}

static const struct test tests[] = {
	TEST(in_the_writer),
	TEST(in_another_thread),
	TEST(close_waits_for_lookups),
};

int main(void)
{
	return test_main(tests, ARRAY_SIZE(tests));
}

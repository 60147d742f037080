// SPDX-License-Identifier: GPL-2.0
/*
 * The time that a thread takes for a stack of 64 frames, and whether the stack is complete, while
 * another CPU works in the same address space.  Alternatives are measured alternately.
 */
#include <pthread.h>

#include "codectl_test.h"
#include "tracefs.h"
#include "bench.h"
#include "chain.h"
#include "ring.h"
#include "walks.h"

#define DEPTH	64
#define STACKS	500
#define ROUNDS	15

/* What the other thread does, if there is one. */
enum other { NOTHING, COMPUTES, WALKS, REGISTERS, NR_OTHER };

static const char * const beside[NR_OTHER] = {
	"alone", "beside-computing", "beside-walking", "beside-registering",
};

static const struct perf_event_attr deferred = {
	.sample_type = PERF_SAMPLE_CALLCHAIN,
	.defer_callchain = 1,
	.defer_output = 1,
};

static volatile bool under_way, stopped;
static volatile unsigned long done;
static uint64_t whole;
static unsigned long broken;

/* Return: its size in bytes. */
static uint64_t take_stack(struct ring *r)
{
	chain_call((void *)(long)(DEPTH - CHAIN_ENDS));
	return ring_empty(r);
}

static void *be_other(void *arg)
{
	enum other what = (long)arg;
	struct ring r;

	stay_on(1);
	if (what == WALKS)
		r = ring_open(deferred);
	for (; !stopped; done++) {
		if (what == WALKS)
			take_stack(&r);
		else if (what == REGISTERS)
			change_registry();
		under_way = true;
	}
	if (what == WALKS)
		ring_close(&r);
	return NULL;
}

static void start_other(enum other what, pthread_t *thread)
{
	under_way = false;
	stopped = false;
	if (what == NOTHING)
		return;
	if (pthread_create(thread, NULL, be_other, (void *)(long)what))
		die("thread");
	while (!under_way)
		;
}

static void stop_other(enum other what, pthread_t *thread)
{
	stopped = true;
	if (what != NOTHING)
		pthread_join(*thread, NULL);
}

/* Returns the time of one stack. */
static double walk_beside(enum other what)
{
	struct ring r = ring_open(deferred);
	pthread_t thread;
	double from;

	start_other(what, &thread);
	take_stack(&r);
	from = ns_now();
	for (int i = 0; i < STACKS; i++) {
		uint64_t bytes = take_stack(&r);

		if (!whole)
			whole = bytes;
		broken += bytes != whole;
	}
	from = (ns_now() - from) / STACKS;
	stop_other(what, &thread);
	ring_close(&r);
	return from;
}

/* Returns the time of one registration and its end. */
static double register_beside(bool walks)
{
	struct ring r = ring_open(deferred);
	unsigned long before;
	pthread_t thread;
	double from;

	start_other(REGISTERS, &thread);
	before = done;
	from = ns_now();
	while (ns_now() < from + 20e6) {
		if (walks)
			take_stack(&r);
	}
	from = (ns_now() - from) / (done - before ?: 1);
	stop_other(REGISTERS, &thread);
	ring_close(&r);
	return from;
}

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *values)
{
	qsort(values, ROUNDS, sizeof(*values), compare_doubles);
	return values[ROUNDS / 2];
}

int main(void)
{
	static double walks[NR_OTHER][ROUNDS], registers[2][ROUNDS];
	struct tracefs t;

	if (tracefs_open(&t, "bench"))
		die("tracefs");
	stay_on(0);
	for (int round = 0; round < ROUNDS; round++) {
		for (int what = 0; what < NR_OTHER; what++)
			walks[what][round] = walk_beside(what);
		for (int walking = 0; walking < 2; walking++)
			registers[walking][round] = register_beside(walking);
	}
	for (int what = 0; what < NR_OTHER; what++)
		result("cpus", beside[what], 0, median(walks[what]), "ns");
	result("cpus", "register-beside-computing", 0, median(registers[0]), "ns");
	result("cpus", "register-beside-walking", 0, median(registers[1]), "ns");
	result("cpus", "not-whole", 0, broken, "stacks");
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shared by the benchmarks: the clocks, and the line that the rig reads.
 */
#ifndef CODECTL_BENCH_H
#define CODECTL_BENCH_H

#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/*
 * Ticks of the TSC: instructions, in a guest with -icount shift=0 and a TSC of
 * 1 GHz.  The programs that use it run nowhere else.
 */
static inline uint64_t ticks(void)
{
	return __builtin_ia32_rdtsc();
}

static inline void result(const char *group, const char *who, long x,
			  double value, const char *unit)
{
	printf("RESULT\t%s\t%s\t%ld\t%.1f\t%s\n", group, who, x, value, unit);
	fflush(stdout);
}

static inline _Noreturn void die(const char *what)
{
	perror(what);
	exit(2);
}

static inline double ns_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1e9 + ts.tv_nsec;
}

static inline void stay_on(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		die("affinity");
}

/*
 * A plugin of the emulator counts from one system call to the next; nothing else makes
 * any.
 */
static inline double one_round(double (*round)(void *arg), void *arg)
{
	double figure;

	sched_get_priority_max(SCHED_OTHER);
	figure = round(arg);
	sched_get_priority_min(SCHED_OTHER);
	return figure;
}

/* The minimum of several rounds of @round, each of which returns a figure. */
static inline double least(double (*round)(void *arg), void *arg, int rounds)
{
	double best = one_round(round, arg);

	for (int i = 1; i < rounds; i++) {
		double again = one_round(round, arg);

		if (again < best)
			best = again;
	}
	printf("ROUNDS\t%d\n", rounds);
	return best;
}

#endif /* CODECTL_BENCH_H */

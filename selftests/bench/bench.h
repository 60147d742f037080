/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the programs of the bench share: the clock, and the line that the rig
 * reads.
 */
#ifndef CODECTL_BENCH_H
#define CODECTL_BENCH_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

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

/* The least of some rounds of @round, each of which returns a figure. */
static inline double least(double (*round)(void *arg), void *arg, int rounds)
{
	double best = round(arg);

	while (--rounds > 0) {
		double again = round(arg);

		if (again < best)
			best = again;
	}
	return best;
}

#endif /* CODECTL_BENCH_H */

/* SPDX-License-Identifier: MIT */
/* What the benchmarks have in common: a clock, and a function of three rows. */
#ifndef CODECTL_BENCH_H
#define CODECTL_BENCH_H

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "codectl.h"

#define FUNC_LEN	64

static inline double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);

	return ts.tv_sec * 1e9 + ts.tv_nsec;
}

static inline void die(const char *what)
{
	perror(what);
	exit(2);
}

static const struct code_jit_unwind_fre rows[3] = {
	{ .ip_off = 0, .size = 4, .cfa_off = 8, .ra_off = -8,
	  .info = CODE_FRE_BASE_SP },
	{ .ip_off = 4, .size = FUNC_LEN - 5, .cfa_off = 48, .ra_off = -8,
	  .info = CODE_FRE_BASE_SP },
	{ .ip_off = FUNC_LEN - 1, .size = 1, .cfa_off = 8, .ra_off = -8,
	  .info = CODE_FRE_BASE_SP },
};

#endif /* CODECTL_BENCH_H */

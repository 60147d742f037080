// SPDX-License-Identifier: GPL-2.0
/*
 * The additional cost and size of a perf sample with a stack, compared with one without:
 *
 *	sample_bench fp		of a program that has frame pointers
 *	sample_bench tables	of one that has none
 */
#include <asm/perf_regs.h>

#include "codectl_test.h"
#include "sampler.h"
#include "tracefs.h"
#include "bench.h"
#include "chain.h"
#include "ring.h"
#include "walks.h"

#define ROUNDS		7
#define COPY_SIZE	8192

struct cost {
	double insns;
	double bytes;
};

/* Nothing is lost as long as the ring is emptied each time. */
static struct cost sample(const struct perf_event_attr *attr, unsigned int depth,
			  enum walk_kind kind)
{
	struct cost best = { 1e30, 0 };
	struct ring r = ring_open(*attr);

	for (int i = 0; i <= ROUNDS; i++) {
		uint64_t from;
		double insns;

		if (kind == WALK_ELSEWHERE)
			change_registry();
		from = ticks();
		chain_call((void *)(long)(depth - CHAIN_ENDS));
		insns = ticks() - from;
		if (i && insns < best.insns)
			best.insns = insns;
		best.bytes = ring_empty(&r);
	}
	ring_close(&r);
	return best;
}

static void sample_results(const char *who, const struct perf_event_attr *attr,
			   enum walk_kind kind)
{
	static const struct perf_event_attr bare = {};

	for (size_t i = 0; i < WALK_DEPTHS; i++) {
		struct cost without = sample(&bare, walk_depths[i], WALK_WARM);
		struct cost with = sample(attr, walk_depths[i], kind);

		result("sample", who, walk_depths[i], with.insns - without.insns,
		       "insns");
		result("sample-bytes", who, walk_depths[i],
		       with.bytes - without.bytes, "bytes");
	}
}

static const struct perf_event_attr at_once = {
	.sample_type = PERF_SAMPLE_CALLCHAIN,
};

static const struct perf_event_attr deferred = {
	.sample_type = PERF_SAMPLE_CALLCHAIN,
	.defer_callchain = 1,
	.defer_output = 1,
};

/* As perf record --call-graph dwarf requests it. */
static const struct perf_event_attr copied = {
	.sample_type = PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER |
		       PERF_SAMPLE_STACK_USER,
	.exclude_callchain_user = 1,
	.sample_regs_user = ((1ULL << PERF_REG_X86_64_MAX) - 1) &
			    ~(1ULL << PERF_REG_X86_DS | 1ULL << PERF_REG_X86_ES |
			      1ULL << PERF_REG_X86_FS | 1ULL << PERF_REG_X86_GS),
	.sample_stack_user = COPY_SIZE,
};

static void bench_fp(void)
{
	bool off = have_codectl();

	if (off && sysctl_write("kernel/codectl", 0))
		die("sysctl");
	sample_results("fp", &at_once, WALK_WARM);
	sample_results("fp-defer", &deferred, WALK_WARM);
	if (off)
		sysctl_write("kernel/codectl", 1);
}

static void bench_tables(void)
{
	sample_results("sframe-elsewhere", &deferred, WALK_ELSEWHERE);
	sample_results("sframe-warm", &deferred, WALK_WARM);
	sample_results("dwarf", &copied, WALK_WARM);
}

/* Ensures that there is as much stack as perf copies. */
static __attribute__((noinline)) void with_room(void (*bench)(void))
{
	volatile char room[2 * COPY_SIZE];

	for (size_t i = 0; i < sizeof(room); i++)
		room[i] = 0;
	bench();
}

int main(int argc, char **argv)
{
	struct tracefs t;

	if (argc != 2)
		die("usage: sample_bench fp|tables");
	if (tracefs_open(&t, "bench"))
		die("tracefs");
	/* Immediate stacks otherwise have at most 127 frames. */
	if (sysctl_write("kernel/perf_event_max_stack", 512))
		die("sysctl");
	with_room(strcmp(argv[1], "fp") ? bench_tables : bench_fp);
	return 0;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * Others than perf that take the user's stack at once: BPF programs at system calls, in
 * kprobes and in clock interrupts, and the trace.
 */
#include <linux/bpf.h>

#include "unwind_common.h"
#include "attach.h"
#include "bpf_stack.h"
#include "tracefs.h"

#define CALLCHAIN "kernel/codectl_callchain"
#define MARKER_EVENT "syscalls/sys_enter_getpgrp"
#define MARKER_FUNCTION "__x64_sys_getpgrp"

FIXTURE(callchain)
{
	struct bpf_taker taker;
	struct stack stack;
};

FIXTURE_SETUP(callchain)
{
	REQUIRE_CODECTL();
	truth_reset();
	/* Nothing waits for a page. */
	touch_tables();
	ASSERT_EQ(0, bpf_taker_open(&self->taker));
	ASSERT_EQ(0, sysctl_write(CALLCHAIN, 1));
}

FIXTURE_TEARDOWN(callchain)
{
	sysctl_write(CALLCHAIN, 1);
	bpf_taker_close(&self->taker);
}

/* ------------------------------------------------------ at a system call */

static bool marked;

static noinline int compare(const void *a, const void *b)
{
	if (!marked) {
		marked = true;
		truth_capture(marker());
	}
	return *(const int *)a - *(const int *)b;
}

/* The C library is between the marker and the caller of this. */
static noinline void sort(void)
{
	int values[] = { 5, 3, 8, 1, 9, 2, 7 };

	marked = false;
	truth_reset();
	qsort(values, ARRAY_SIZE(values), sizeof(int), compare);
	asm volatile("");
}

static void expect_whole(struct __test_metadata *_metadata,
			 FIXTURE_DATA(callchain) * self)
{
	sort();
	ASSERT_TRUE(bpf_taker_read(&self->taker, &self->stack));
	EXPECT_TRUE(stack_is_true(&self->stack, &truth)) {
		print_stack(&self->stack, &truth);
	}
	EXPECT_TRUE(ends_in_start(&self->stack));
	/* As without tables, by frame pointers that are none. */
	ASSERT_EQ(0, sysctl_write(CALLCHAIN, 0));
	sort();
	ASSERT_TRUE(bpf_taker_read(&self->taker, &self->stack));
	EXPECT_FALSE(ends_in_start(&self->stack));
}

TEST_F(callchain, bpf_at_a_tracepoint)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT,
		.config = tracefs_event_type(MARKER_EVENT),
	};

	ASSERT_EQ(0, bpf_taker_run_at(&self->taker, &attr, BPF_PROG_TYPE_TRACEPOINT));
	expect_whole(_metadata, self);
}

TEST_F(callchain, bpf_in_a_kprobe)
{
	ASSERT_EQ(0, bpf_taker_run_in(&self->taker, MARKER_FUNCTION));
	expect_whole(_metadata, self);
}

/* ------------------------------------------------------ in an interrupt */

static volatile bool interrupted;

/* Until a stack was taken that starts here. */
static noinline bool spin(FIXTURE_DATA(callchain) * self, uint64_t end)
{
	double deadline = now() + scaled_seconds(10);

	while (now() < deadline) {
		for (volatile int i = 0; i < 1000000; i++)
			;
		if (bpf_taker_read(&self->taker, &self->stack) &&
		    self->stack.ip[0] - addr_of(spin) < end)
			return true;
	}
	return false;
}

TEST_F(callchain, bpf_in_an_interrupt)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = 1000000,
		.exclude_kernel = 1,
	};

	ASSERT_EQ(0, bpf_taker_run_at(&self->taker, &attr, BPF_PROG_TYPE_PERF_EVENT));
	truth_callers();
	ASSERT_TRUE(spin(self, 512));
	EXPECT_TRUE(same_tail(&self->stack, &truth, truth.nr));
	EXPECT_TRUE(ends_in_start(&self->stack)) {
		print_stack(&self->stack, &truth);
	}
}

/* ------------------------------------------------------------ the trace */

/* The frames of "<user stack trace>", as addresses. */
static unsigned int trace_frames(const char *text, uint64_t *ip, unsigned int max)
{
	unsigned int nr = 0;
	const char *at = strstr(text, "<user stack trace>");

	while (at && nr < max && (at = strstr(at, "\n =>  <")))
		ip[nr++] = strtoul(at += strlen("\n =>  <"), NULL, 16);
	return nr;
}

/* That option keeps eight frames. */
TEST_F(callchain, userstacktrace)
{
	uint64_t ip[8] = { 0 };
	struct tracefs t;
	unsigned int nr;
	char *text;

	ASSERT_EQ(0, tracefs_open(&t, "codectl_test_callchain"));
	ASSERT_EQ(0, tracefs_write(&t, "options/userstacktrace", "1"));
	ASSERT_EQ(0, tracefs_write(&t, "options/sym-userobj", "0"));
	ASSERT_EQ(0, tracefs_trace_syscall(&t, MARKER_NR, getpid(), false));
	sort();
	ASSERT_EQ(0, tracefs_write(&t, "tracing_on", "0"));
	text = tracefs_read(&t, "trace");
	ASSERT_NE(NULL, text);
	nr = trace_frames(text, ip, ARRAY_SIZE(ip));
	EXPECT_EQ(ARRAY_SIZE(ip), nr) {
		TH_LOG("%s", text);
	}
	for (unsigned int i = 0; i < nr; i++)
		EXPECT_EQ(truth.ip[i], ip[i]);
	free(text);
	EXPECT_EQ(0, tracefs_close(&t));
}

TEST_HARNESS_MAIN

/* SPDX-License-Identifier: GPL-2.0 */
/* What the tests of malformed tables share: the stub, and verdicts. */
#ifndef CODECTL_HOSTILE_FIXTURE_H
#define CODECTL_HOSTILE_FIXTURE_H

#include "stub.h"
#include "unwind_common.h"

FIXTURE(hostile)
{
	struct sampler marks;
	struct stack stack;
	struct stub stub;
};

FIXTURE_SETUP(hostile)
{
	REQUIRE_CODECTL();
	ASSERT_EQ(0, sampler_open_syscall(&self->marks, MARKER_NR));
	ASSERT_EQ(0, stub_map(&self->stub, 2));
	stub_plant = 0;
	stub_fp = 0;
}

FIXTURE_TEARDOWN(hostile)
{
	sampler_close(&self->marks);
	stub_unmap(&self->stub);
}

/* What the malformed table may still lead to. */
enum verdict {
	SHORT,	/* the frame it describes is the last one */
	PREFIX,	/* the truth, as far as it goes */
	LIES,	/* anything from the process's own memory */
	LIES_AT_THE_TOP, /* that as the topmost frame, else SHORT */
	WHOLE,	/* the truth, all of it */
};

FIXTURE_VARIANT(hostile)
{
	void (*change)(struct stub *s);
	enum verdict verdict;
};

#define HOSTILE_UNUSED __attribute__((unused))

/* A way to spoil the right table, by the @parts of it that are named. */
#define HOSTILE_PARTS(name, wanted, parts, ...)				\
static void change_##name(struct stub *s)				\
{									\
	parts;								\
	__VA_ARGS__;							\
}									\
FIXTURE_VARIANT_ADD(hostile, name)					\
{									\
	.change = change_##name,					\
	.verdict = wanted,						\
}

static bool is_acceptable(const struct stack *stack, enum verdict verdict,
			  unsigned int frames)
{
	if (verdict == LIES_AT_THE_TOP)
		verdict = frames == 1 ? LIES : SHORT;
	switch (verdict) {
	case SHORT:
		return stack->nr == frames && stack_is_prefix(stack, &truth);
	case PREFIX:
		return stack->nr >= frames && stack_is_prefix(stack, &truth);
	case WHOLE:
		return stack_is_true(stack, &truth);
	default:
		return common_prefix(stack, &truth) >= frames;
	}
}

/* Once as the topmost frame, once below a callback. */
static void check_both(struct __test_metadata *_metadata,
		       FIXTURE_DATA(hostile) * self, enum verdict verdict)
{
	void (*const callbacks[])(void) = { NULL, stub_callback };

	for (int i = 0; i < 2; i++) {
		truth_reset();
		sampler_drain(&self->marks);
		stub_run(&self->stub, callbacks[i]);
		ASSERT_TRUE(sampler_next(&self->marks, &self->stack));
		EXPECT_TRUE(is_acceptable(&self->stack, verdict, 1 + i)) {
			TH_LOG("%s", i ? "below a callback" : "topmost");
			print_stack(&self->stack, &truth);
		}
		EXPECT_FALSE(has_kernel_address(&self->stack));
	}
}

/*
 * Nothing of the kernel's is ever seen.  A task's deferred stacks go to all of its
 * events, so this one is open no longer than necessary.
 */
static void check_samples(struct __test_metadata *_metadata,
			  FIXTURE_DATA(hostile) * self, unsigned int runs)
{
	struct sampler clock;

	if (is_slow())
		runs /= 4;
	ASSERT_EQ(0, sampler_open_clock(&clock, 4000));
	for (unsigned int i = 0; i < runs; i++)
		stub_run(&self->stub, i & 1 ? stub_callback : NULL);
	while (sampler_next(&clock, &self->stack)) {
		if (!stub_is_topmost(&self->stub, &self->stack))
			continue;
		EXPECT_FALSE(has_kernel_address(&self->stack)) {
			print_stack(&self->stack, &truth);
		}
	}
	sampler_close(&clock);
}

#endif /* CODECTL_HOSTILE_FIXTURE_H */

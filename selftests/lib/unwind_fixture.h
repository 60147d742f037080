/* SPDX-License-Identifier: GPL-2.0 */
/* The fixture of the unwind tests: a stack at each marker(). */
#ifndef CODECTL_UNWIND_FIXTURE_H
#define CODECTL_UNWIND_FIXTURE_H

#include "unwind_common.h"

FIXTURE(unwind)
{
	struct sampler sampler;
	struct stack stack;
};

FIXTURE_SETUP(unwind)
{
	REQUIRE_CODECTL();
	truth_reset();
	ASSERT_EQ(0, sampler_open_syscall(&self->sampler, MARKER_NR));
}

FIXTURE_TEARDOWN(unwind)
{
	sampler_close(&self->sampler);
}

/* One stack was taken, and it is the truth to the last address. */
#define EXPECT_TRUE_STACK() do {					\
	ASSERT_TRUE(sampler_next(&self->sampler, &self->stack)) {	\
		TH_LOG("no stack was recorded");			\
	}								\
	EXPECT_TRUE(stack_is_true(&self->stack, &truth)) {		\
		print_stack(&self->stack, &truth);			\
	}								\
	EXPECT_TRUE(stack_has_noted(&self->stack)) {			\
		TH_LOG("not all %u noted frames are in the stack",	\
		       truth.nr_noted);					\
	}								\
} while (0)

#define EXPECT_TRUE_STACK_TO_START() do {				\
	EXPECT_TRUE_STACK();						\
	EXPECT_TRUE(ends_in_start(&self->stack));			\
} while (0)

/* Takes the stack and its truth. */
static noinline __attribute__((unused)) void leaf(void)
{
	uint64_t ip;

	NOTE_FRAME();
	ip = marker();
	truth_capture(ip);
}

/* Where a handler of the signal returns to, as the kernel has it; 0 on failure. */
static inline uint64_t trampoline_address(int sig)
{
	struct {
		void *handler;
		unsigned long flags;
		void *restorer;
		unsigned long mask;
	} kernel_sa;

	if (syscall(__NR_rt_sigaction, sig, NULL, &kernel_sa, 8))
		return 0;
	return addr_of(kernel_sa.restorer);
}

#endif /* CODECTL_UNWIND_FIXTURE_H */

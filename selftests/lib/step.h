/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Runs code one instruction at a time, and has a stack taken and compared
 * with its truth before each of them.
 */
#ifndef CODECTL_STEP_H
#define CODECTL_STEP_H

#include "truth.h"

struct step_result {
	unsigned int steps;	/* instructions whose stack was taken */
	unsigned int none;	/* no stack was recorded */
	unsigned int wrong;	/* not complete, or not the truth */
	unsigned int untold;	/* libgcc lost its way; the end was right */
	unsigned int plt;	/* in_static_plt(): the walk ended there */
};

extern struct step_result step_result;

/*
 * @sampler takes stacks at marker(); the stack of every step ends in the truth
 * as it is now.
 */
int step_prepare(struct sampler *sampler);

/* The next instruction after this is the first to be stepped. */
static inline __attribute__((always_inline)) void step_on(void)
{
	asm volatile("pushfq\n\torq $0x100, (%%rsp)\n\tpopfq"
		     : : : "cc", "memory");
}

extern volatile int step_stop;

static inline __attribute__((always_inline)) void step_off(void)
{
	step_stop = 1;
	/* What is read of the result is read after the last step. */
	asm volatile("nop" : : : "memory");
}

#endif /* CODECTL_STEP_H */

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a recorded stack has to be, from two sources that share no table with
 * the kernel: the DWARF unwinder of libgcc, and return addresses that the
 * functions of a test wrote down as they were entered.
 */
#ifndef CODECTL_TRUTH_H
#define CODECTL_TRUTH_H

#include <stdbool.h>
#include <stdint.h>

#include "sampler.h"

#define TRUTH_MAX 4096

struct truth {
	unsigned int nr;
	uint64_t ip[TRUTH_MAX];
	unsigned int nr_noted;
	uint64_t noted[TRUTH_MAX];
};

extern struct truth truth;

/*
 * The truth is @ip followed by the callers of the function that calls this;
 * what was noted is checked against it.
 */
void truth_capture(uint64_t ip);
/* The truth is the callers of the function that calls this, and no more. */
void truth_callers(void);
/* Put @nr addresses that libgcc does not find before the truth. */
void truth_prepend(const uint64_t *ip, unsigned int nr);
void truth_reset(void);

/* Write down the return address of the function that this is used in. */
#define NOTE_FRAME() truth_note((uint64_t)__builtin_return_address(0))
void truth_note(uint64_t ip);
/* Whether all that was noted is found, in order, in @stack. */
bool stack_has_noted(const struct stack *stack);

/* The number of leading addresses that two lists share. */
unsigned int common_prefix(const struct stack *stack, const struct truth *t);
/* Complete and equal, address by address. */
bool stack_is_true(const struct stack *stack, const struct truth *t);
/* Equal as far as it goes, and not empty. */
bool stack_is_prefix(const struct stack *stack, const struct truth *t);
/* Whether the last @n addresses of both are the same. */
bool same_tail(const struct stack *stack, const struct truth *t,
	       unsigned int n);
/* Whether the outermost frame is the program's entry point. */
bool ends_in_start(const struct stack *stack);
/*
 * Whether @ip is in the PLT of a static program, which the linker describes in
 * no table at all: a walk goes on by frame pointer there, if at all.
 */
bool in_static_plt(uint64_t ip);
/*
 * Whether @ip, in mapped text, is an entry of .plt.got: ld describes it as two
 * words deep where it is one, so that the walk skips its caller.
 */
bool in_plt_got(uint64_t ip);
/* Whether some address is beyond what user space can map. */
bool has_kernel_address(const struct stack *stack);

void print_stack(const struct stack *stack, const struct truth *t);

#endif /* CODECTL_TRUTH_H */

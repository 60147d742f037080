/* SPDX-License-Identifier: MIT */
/*
 * Kernel stacks at events, each of which is kept once and has a number.
 */
#ifndef KERNEL_STACKS_H
#define KERNEL_STACKS_H

#include <stdint.h>

#include "report/profile.h"

struct kernel_stacks;

/* How many different ones are kept. */
extern uint32_t kernel_stacks_max;

struct kernel_stacks *kernel_stacks_new(void);
void kernel_stacks_free(struct kernel_stacks *stacks);

/*
 * The number of the stack with those return addresses, the innermost first; 0, which
 * means none, if there are too many different ones.
 */
uint32_t kernel_stacks_add(struct kernel_stacks *stacks, const uint64_t *address, uint32_t nr);

/* How often there were. */
unsigned long kernel_stacks_left_out(const struct kernel_stacks *stacks);

/* The stack of @caller, as for profile_stack(), with that one on top. */
uint32_t kernel_stacks_push(struct kernel_stacks *stacks, struct profile *profile,
			    uint32_t caller, uint32_t number);

#endif

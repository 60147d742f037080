/* SPDX-License-Identifier: MIT */
/* Steps from a frame to its caller's, on the stack of the main thread. */
#ifndef STEP_H
#define STEP_H

#include <stdbool.h>
#include <stdint.h>

#include <codectl.h>

extern void *__libc_stack_end;

static inline bool on_stack(uint64_t addr, uint64_t sp)
{
	return addr >= sp && addr <= (uint64_t)(uintptr_t)__libc_stack_end && !(addr & 7);
}

static inline uint64_t word(uint64_t addr)
{
	return *(uint64_t *)(uintptr_t)addr;
}

/* Replaces *@ip, *@sp and *@fp by those of the caller; false: @rule leads nowhere. */
static inline bool step(const struct codectl_rule *rule, uint64_t *ip, uint64_t *sp,
			uint64_t *fp, uint64_t *cfa)
{
	*cfa = (rule->info & CODE_FRE_BASE_SP ? *sp : *fp) + rule->cfa_off;
	if (rule->info & (CODE_FRE_SP_SAVED | CODE_FRE_UNKNOWN))
		return false;
	if (*cfa <= *sp || !on_stack(*cfa + rule->ra_off, *sp))
		return false;
	*ip = word(*cfa + rule->ra_off);
	if (rule->info & CODE_FRE_FP_SAVED) {
		if (!on_stack(*cfa + rule->fp_off, *sp - 128))
			return false;
		*fp = word(*cfa + rule->fp_off);
	}
	*sp = *cfa;
	return true;
}

#endif /* STEP_H */

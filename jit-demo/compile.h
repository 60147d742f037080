/* SPDX-License-Identifier: MIT */
#ifndef COMPILE_H
#define COMPILE_H

#include "engine.h"

/*
 * Emits a function.  Tier 1 keeps one local in a register, and intermediate results on the
 * stack.  Tier 2 keeps more locals in registers, folds constants, and combines comparisons
 * with branches.
 */
void compile_function(struct engine *engine, const struct code *code,
		      const struct function *function, int slot,
		      int first_slot);

#endif /* COMPILE_H */

/* SPDX-License-Identifier: GPL-2.0 */
/* The stack of chain.h, in compiled code. */
#ifndef CODECTL_JIT_CHAIN_H
#define CODECTL_JIT_CHAIN_H

#include "jit_code.h"
#include "chain.h"

struct jit_chain {
	struct jit_region r;
	const struct jit_shape *shape[CHAIN_FUNCTIONS];
	uint8_t *link[CHAIN_FUNCTIONS];
	uint8_t *last;
	uint8_t *base;
};

/* Makes functions of all shapes with rows, or, with @fp_only, with frame pointers. */
void jit_chain_make(struct jit_chain *c, bool fp_only);
/* Sets the number of calls between the first and the last function. */
void jit_chain_set(struct jit_chain *c, unsigned int depth);
void jit_chain_call(void *chain);

#endif /* CODECTL_JIT_CHAIN_H */

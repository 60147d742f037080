/* SPDX-License-Identifier: GPL-2.0 */
/* A deep stack of distinct functions, whose last one takes a stack. */
#ifndef CODECTL_CHAIN_H
#define CODECTL_CHAIN_H

/* The called functions are spread among this many. */
#define CHAIN_FUNCTIONS	1024
#define CHAIN_STEP	5
/* The innermost and the outermost frame, common to all stacks. */
#define CHAIN_ENDS	2

/* Calls @depth functions, and a last one that takes the stack. */
void chain_call(void *depth);

/*
 * Calls a function as the outermost frame; position-independent, like a last function
 * with a frame pointer.
 */
void chain_base(void (*function)(void *), void *arg);
extern const unsigned char chain_base_code[], chain_base_end[];
extern const unsigned char chain_last_code[], chain_last_end[];

#endif /* CODECTL_CHAIN_H */

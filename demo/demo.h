/* SPDX-License-Identifier: MIT */
/* What the programs of the demonstration share. */
#ifndef DEMO_H
#define DEMO_H

#include <stddef.h>

/* A function that keeps its own frame, name and code. */
#define DEMO_FRAME	__attribute__((noinline, noclone, no_icf))

static inline unsigned int demo_scramble(unsigned int x)
{
	for (int i = 0; i < 24; i++) {
		x ^= x << 13;
		x ^= x >> 17;
		x ^= x << 5;
	}
	return x;
}

static inline int demo_order(unsigned int x, unsigned int y)
{
	x = demo_scramble(x);
	y = demo_scramble(y);
	return (x > y) - (x < y);
}

static inline void demo_fill(unsigned int *keys, size_t nr, unsigned int seed)
{
	for (size_t i = 0; i < nr; i++) {
		seed = seed * 1664525 + 1013904223;
		keys[i] = seed;
	}
}

#endif /* DEMO_H */

// SPDX-License-Identifier: MIT
/*
 * chain: main -> a -> b -> qsort() in libc -> compare(), where the time goes.
 *
 * usage: chain ROUNDS
 */
#include <stdio.h>
#include <stdlib.h>

#include "demo.h"

#define NR_KEYS		4096

static unsigned int keys[NR_KEYS];

static DEMO_FRAME int compare(const void *pa, const void *pb)
{
	return demo_order(*(const unsigned int *)pa, *(const unsigned int *)pb);
}

static DEMO_FRAME unsigned int b(unsigned int seed)
{
	demo_fill(keys, NR_KEYS, seed);
	qsort(keys, NR_KEYS, sizeof(keys[0]), compare);
	return keys[NR_KEYS / 2];
}

static DEMO_FRAME unsigned int a(unsigned int seed)
{
	return b(seed) ^ 1;
}

int main(int argc, char **argv)
{
	long rounds = argc > 1 ? strtol(argv[1], NULL, 10) : 1;
	unsigned int seed = 1;

	while (rounds-- > 0)
		seed = a(seed);
	printf("chain: %u\n", seed);
	return 0;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * One of many libraries, which differ by N: two dozen functions that use the C library,
 * with a table of them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PASTE(n, name)		lib ## n ## _ ## name
#define EXPAND(n, name)		PASTE(n, name)
#define LOCAL(name)		EXPAND(N, name)

#define FUNCTION(name)							\
	int LOCAL(name)(const char *from, int nr)			\
	{								\
		char *copy = malloc(strlen(from) + 32);			\
		int sum = 0;						\
									\
		snprintf(copy, 32 + strlen(from), "%s %d", from, nr);	\
		for (int i = 0; i < nr && copy[i]; i++)			\
			sum += memcmp(copy, from, i) ? copy[i] : nr;	\
		free(copy);						\
		return sum;						\
	}

#define FOUR(f, a)	f(a ## 0) f(a ## 1) f(a ## 2) f(a ## 3)
#define ALL(f)		FOUR(f, a) FOUR(f, b) FOUR(f, c)		\
			FOUR(f, d) FOUR(f, e) FOUR(f, g)
#define ENTRY(name)	LOCAL(name),

ALL(FUNCTION)

int (*const LOCAL(table)[])(const char *from, int nr) = { ALL(ENTRY) };

__attribute__((__constructor__)) static void init(void)
{
	if (getenv("START_LIB"))
		puts(getenv("START_LIB"));
}

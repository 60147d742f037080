/* SPDX-License-Identifier: MIT */
/*
 * Tests on the host, as TAP.
 */
#ifndef CHECK_H
#define CHECK_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int check_count, check_failed;
static bool check_good;

#define CHECK(condition)						\
do {									\
	if (!(condition)) {						\
		printf("# %s:%d: not so: %s\n", __FILE__, __LINE__,	\
		       #condition);					\
		check_good = false;					\
	}								\
} while (0)

#define RUN(test)	check_run(#test, test)

static inline void check_run(const char *name, void (*test)(void))
{
	check_good = true;
	/* Processes that the test forks would print the earlier results again. */
	fflush(stdout);
	test();
	check_failed += !check_good;
	printf("%s %d %s\n", check_good ? "ok" : "not ok", ++check_count, name);
}

static inline int check_end(void)
{
	printf("1..%d\n", check_count);
	return check_failed != 0;
}

/* A copy with nothing after it, so that the sanitizer sees overruns. */
static inline void *exact_copy(const void *data, size_t len)
{
	char *copy = malloc(len ? len : 1);

	if (!copy)
		abort();
	memcpy(copy, data, len);
	return copy;
}

/* Compares @text, and frees it. */
static inline bool is(char *text, const char *wanted)
{
	bool same = !strcmp(text, wanted);

	if (!same)
		printf("# '%s', not '%s'\n", text, wanted);
	free(text);
	return same;
}

/* Starts a process that does nothing until it is killed. */
static inline pid_t start_process(void)
{
	pid_t pid = fork();

	if (!pid) {
		pause();
		_exit(0);
	}
	return pid;
}

/* A number below @below, from a fixed sequence. */
static inline unsigned int check_random(unsigned int below)
{
	static unsigned long long state = 1;

	state = state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (state >> 33) % below;
}

/* Changes some bytes, preferably to meaningful ones. */
static inline void mutate(char *data, size_t len)
{
	static const char bytes[] = " -=0x\n\\fx9:\377\0\1";

	for (unsigned int n = 1 + check_random(4); len && n > 0; n--)
		data[check_random(len)] = bytes[check_random(sizeof(bytes))];
}

#endif

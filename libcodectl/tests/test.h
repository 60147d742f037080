/* SPDX-License-Identifier: MIT */
/*
 * Each test runs in a child of its own, and prints one line of TAP.
 */
#ifndef CODECTL_TEST_H
#define CODECTL_TEST_H

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "codectl.h"

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#define PAGE		4096UL

struct test {
	const char *name;
	void (*run)(void);
};

#define TEST(fn)	{ #fn, fn }

/* Ends the test, and reports what failed. */
void test_fail(const char *file, int line, const char *what, long long got,
	       long long want) __attribute__((__noreturn__));
void test_skip(const char *why) __attribute__((__noreturn__));

#define CHECK(cond)							\
do {									\
	if (!(cond))							\
		test_fail(__FILE__, __LINE__, #cond, 0, 1);		\
} while (0)

#define CHECK_EQ(got, want)						\
do {									\
	long long got_ = (long long)(got), want_ = (long long)(want);	\
									\
	if (got_ != want_)						\
		test_fail(__FILE__, __LINE__, #got, got_, want_);	\
} while (0)

int test_main(const struct test *tests, size_t nr);

/* Address space that code could be in; nothing reads it. */
uint64_t test_text(size_t len);

/* Opens a region over new text. */
struct codectl_region *test_open(size_t len,
				 const struct codectl_region_attr *attr,
				 uint64_t *text);

/* The same with a default rule and names only. */
struct codectl_region *test_open_without_rows(size_t len, uint64_t *text);

/* A row that says which one it is. */
struct code_jit_unwind_fre test_row(uint32_t ip_off, uint32_t size,
				    int32_t id);

/* Adds a function with one row. */
int test_add(struct codectl_region *region, uint64_t start, uint32_t len,
	     int32_t id, const char *name);

/* The id of the row that covers an address, or an error. */
int test_id(uint64_t ip);

/* Waits for the child, which must succeed. */
void test_wait(pid_t pid);

/* Waits until one of the bits is set. */
void test_wait_for(const uint32_t *word, uint32_t bits);

/*
 * Of repetitions with random values, those that there is time for: a fifth if TEST_TIME_SCALE
 * says that everything takes longer.
 */
unsigned int test_rounds(unsigned int rounds);

/* A number below @below, from a fixed sequence. */
uint32_t test_random(uint32_t below);

#endif /* CODECTL_TEST_H */

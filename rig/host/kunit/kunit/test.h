/* SPDX-License-Identifier: GPL-2.0 */
/*
 * As much of KUnit as the readers' tests need to run on the host: each suite is a
 * program, which prints TAP.
 */
#ifndef HOST_KUNIT_TEST_H
#define HOST_KUNIT_TEST_H

#include <linux/limits.h>
#include <linux/types.h>
#include <linux/uaccess.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#define GFP_KERNEL	0

struct kunit {
	void	*priv;
	bool	failed;
};

struct kunit_case {
	const char	*name;
	void		(*run)(struct kunit *test);
};

struct kunit_suite {
	const char		*name;
	int			(*init)(struct kunit *test);
	struct kunit_case	*test_cases;
};

#define KUNIT_CASE(fn)	{ #fn, fn }

/* What a test allocates is freed with the program. */
#define kunit_kzalloc(test, size, flags)					\
	((void)(test), (void)(flags), calloc(1, size))
#define kunit_kcalloc(test, nr, size, flags)				\
	((void)(test), (void)(flags), calloc(nr, size))
#define kunit_kfree(test, p)			((void)(test), free((void *)(p)))

void kunit_failed(struct kunit *test, const char *file, int line,
		  const char *what, bool fatal);

#define KUNIT_CHECK(test, cond, what, fatal, ...)			\
do {									\
	if (!(cond)) {							\
		printf("# " __VA_ARGS__);				\
		printf("\n");						\
		kunit_failed(test, __FILE__, __LINE__, what, fatal);	\
	}								\
} while (0)

#define KUNIT_EXPECT_EQ(test, a, b)					\
	KUNIT_CHECK(test, (a) == (b), #a " == " #b, false, "not equal")
#define KUNIT_EXPECT_EQ_MSG(test, a, b, ...)				\
	KUNIT_CHECK(test, (a) == (b), #a " == " #b, false, __VA_ARGS__)
#define KUNIT_EXPECT_PTR_EQ(test, a, b)	KUNIT_EXPECT_EQ(test, a, b)
#define KUNIT_EXPECT_TRUE(test, a)					\
	KUNIT_CHECK(test, a, #a, false, "not true")
#define KUNIT_EXPECT_FALSE(test, a)					\
	KUNIT_CHECK(test, !(a), "!" #a, false, "not false")
#define KUNIT_ASSERT_FALSE(test, a)					\
	KUNIT_CHECK(test, !(a), "!" #a, true, "not false")
#define KUNIT_ASSERT_EQ(test, a, b)					\
	KUNIT_CHECK(test, (a) == (b), #a " == " #b, true, "not equal")
#define KUNIT_ASSERT_NE(test, a, b)					\
	KUNIT_CHECK(test, (a) != (b), #a " != " #b, true, "equal")
#define KUNIT_ASSERT_GE(test, a, b)					\
	KUNIT_CHECK(test, (a) >= (b), #a " >= " #b, true, "less")
#define KUNIT_ASSERT_LT(test, a, b)					\
	KUNIT_CHECK(test, (a) < (b), #a " < " #b, true, "not less")
#define KUNIT_ASSERT_NOT_NULL(test, a)					\
	KUNIT_CHECK(test, a, #a, true, "null")

extern struct kunit_suite *kunit_suite;

#define kunit_test_suite(suite)						\
	struct kunit_suite *kunit_suite = &(suite)

#endif /* HOST_KUNIT_TEST_H */

// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of what is found in a cache of rules with a concurrent writer
 */
#include <linux/slab.h>

#include <kunit/test.h>

#include "../rule_cache.h"

#define IP	0x401000UL
#define GEN	0x700000005ULL
#define REGION	3

struct cache_test {
	struct rule_cache	*cache;
	struct rule_walk	walk;
	u64			rule;
};

/* A rule that holds, in the only place for its frame. */
static int cache_test_init(struct kunit *test)
{
	struct cache_test *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);
	const u64 hash = rule_cache_hash(rule_cache_key(IP, false));
	struct rule_slot *slot;

	KUNIT_ASSERT_NOT_NULL(test, t);
	t->cache = kunit_kzalloc(test, RULE_CACHE_SIZE, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, t->cache);
	t->rule = kept_pack(KEPT_FP_SAVED, 32, KEPT_RA_OFF, -16);
	t->cache->seq = 4;
	t->walk.cache = t->cache;
	t->walk.seq = 4;
	t->walk.gen = GEN;
	t->walk.region = U64_MAX;
	slot = rule_cache_set(t->cache, hash >> 32);
	slot->key = rule_cache_key(IP, false);
	slot->held.rule = t->rule;
	slot->held.seen = (u32)GEN;
	slot->held.region = REGION;
	test->priv = t;

	return 0;
}

static u64 find(struct kunit *test)
{
	struct cache_test *t = test->priv;
	struct rule_slot *slot = NULL;

	return rule_cache_common(&t->walk, t->cache, IP, &slot);
}

static void nobody_writes(struct kunit *test)
{
	struct cache_test *t = test->priv;

	KUNIT_EXPECT_EQ(test, find(test), t->rule);
}

/* What has been read may be half of one rule and half of another. */
static void somebody_writes(struct kunit *test)
{
	struct cache_test *t = test->priv;

	t->cache->seq = 5;
	KUNIT_EXPECT_EQ(test, find(test), 0);
}

/* The same if the writer is done, as the walk has @seq from before. */
static void somebody_has_written(struct kunit *test)
{
	struct cache_test *t = test->priv;

	t->cache->seq = 6;
	KUNIT_EXPECT_EQ(test, find(test), 0);
	t->walk.seq = 6;
	KUNIT_EXPECT_EQ(test, find(test), t->rule);
}

/* It belongs neither to the current registry, nor to a registration that is there. */
static void rule_of_another_generation(struct kunit *test)
{
	struct cache_test *t = test->priv;

	t->walk.gen++;
	KUNIT_EXPECT_EQ(test, find(test), 0);
	t->walk.region = REGION;
	KUNIT_EXPECT_EQ(test, find(test), t->rule);
}

static struct kunit_case rule_cache_cases[] = {
	KUNIT_CASE(nobody_writes),
	KUNIT_CASE(somebody_writes),
	KUNIT_CASE(somebody_has_written),
	KUNIT_CASE(rule_of_another_generation),
	{}
};

static struct kunit_suite rule_cache_suite = {
	.name = "codectl_rule_cache",
	.init = cache_test_init,
	.test_cases = rule_cache_cases,
};

kunit_test_suite(rule_cache_suite);

MODULE_DESCRIPTION("KUnit tests of kept unwind rules");
MODULE_LICENSE("GPL");

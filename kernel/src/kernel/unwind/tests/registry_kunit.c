// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of the registry of the code in an address space
 */
#include "../code_file.h"
#include "registry_mm.h"

static void overlaps(struct kunit *test)
{
	const struct {
		unsigned long	start;
		unsigned long	end;
		int		ret;
	} cases[] = {
		{ BASE, END, -EEXIST },
		{ BASE - 1, BASE + 1, -EEXIST },
		{ BASE, BASE + 1, -EEXIST },
		{ END - 1, END, -EEXIST },
		{ END - 1, END + 1, -EEXIST },
		{ BASE + 1, END - 1, -EEXIST },
		{ BASE - 1, END + 1, -EEXIST },
		{ BASE - 0x1000, END, -EEXIST },
		{ BASE, END + 0x1000, -EEXIST },
		{ BASE - 0x1000, BASE, 0 },
		{ END, END + 0x1000, 0 },
		{ END + 0x1000, END + 0x1001, 0 },
		{ 0, 1, 0 },
		{ TASK_SIZE_MAX - 1, TASK_SIZE_MAX, 0 },
	};
	struct mm_struct *mm = new_mm(test);
	unsigned int i;

	KUNIT_ASSERT_EQ(test, 0, insert(mm, BASE, END));
	for (i = 0; i < ARRAY_SIZE(cases); i++)
		KUNIT_EXPECT_EQ_MSG(test, cases[i].ret,
				    insert(mm, cases[i].start, cases[i].end),
				    "[%lx, %lx)", cases[i].start, cases[i].end);
	KUNIT_EXPECT_TRUE(test, covers(mm, 0));
	KUNIT_EXPECT_FALSE(test, covers(mm, 1));
	KUNIT_EXPECT_FALSE(test, covers(mm, TASK_SIZE_MAX - 2));
	KUNIT_EXPECT_TRUE(test, covers(mm, TASK_SIZE_MAX - 1));
	KUNIT_EXPECT_FALSE(test, covers(mm, TASK_SIZE_MAX));
	KUNIT_EXPECT_FALSE(test, covers(mm, ULONG_MAX));
}

static void half_open_ranges(struct kunit *test)
{
	struct mm_struct *mm = new_mm(test);
	struct codectl_lookup lookup;

	KUNIT_EXPECT_FALSE(test, covers(mm, BASE));
	KUNIT_ASSERT_EQ(test, 0, insert(mm, BASE, END));
	KUNIT_EXPECT_FALSE(test, covers(mm, BASE - 1));
	KUNIT_EXPECT_TRUE(test, covers(mm, BASE));
	KUNIT_EXPECT_TRUE(test, covers(mm, END - 1));
	KUNIT_EXPECT_FALSE(test, covers(mm, END));

	KUNIT_ASSERT_EQ(test, 0, insert(mm, END, END + 1));
	KUNIT_ASSERT_TRUE(test, codectl_find(mm, END - 1, &lookup));
	KUNIT_EXPECT_EQ(test, lookup.text_start, BASE);
	KUNIT_EXPECT_EQ(test, lookup.text_end, END);
	KUNIT_ASSERT_TRUE(test, codectl_find(mm, END, &lookup));
	KUNIT_EXPECT_EQ(test, lookup.text_start, END);
	KUNIT_EXPECT_EQ(test, lookup.text_end, END + 1);
}

static void limit(struct kunit *test)
{
	struct mm_struct *mm = new_mm(test);

	KUNIT_EXPECT_EQ(test, -ENOSPC, insert_max(mm, BASE, END, 0));
	KUNIT_EXPECT_TRUE(test, is_empty(mm));
	KUNIT_EXPECT_EQ(test, 0, insert_max(mm, BASE, BASE + 1, 2));
	KUNIT_EXPECT_EQ(test, 0, insert_max(mm, BASE + 1, BASE + 2, 2));
	KUNIT_EXPECT_EQ(test, -ENOSPC, insert_max(mm, BASE + 2, BASE + 3, 2));
	KUNIT_EXPECT_EQ(test, -EEXIST, insert_max(mm, BASE, BASE + 1, 2));

	KUNIT_EXPECT_EQ(test, 0, erase(mm, BASE, BASE + 1));
	KUNIT_EXPECT_EQ(test, 0, insert_max(mm, BASE + 2, BASE + 3, 2));

	/* A lower limit removes nothing. */
	KUNIT_EXPECT_EQ(test, -ENOSPC, insert_max(mm, BASE, BASE + 1, 1));
	KUNIT_EXPECT_TRUE(test, covers(mm, BASE + 1));
	KUNIT_EXPECT_TRUE(test, covers(mm, BASE + 2));
}

static int insert_claim(struct mm_struct *mm, unsigned long start,
			unsigned int bytes)
{
	struct codectl_region *region = codectl_region_alloc();
	int ret;

	if (!region)
		return -ENOMEM;
	region->text_start = start;
	region->text_end = start + 1;
	region->claim = kzalloc_obj(*region->claim);
	if (region->claim) {
		refcount_set(&region->claim->ref, 1);
		region->claim->bytes = bytes;
	}

	mmap_write_lock(mm);
	ret = codectl_insert(mm, region, UINT_MAX);
	mmap_write_unlock(mm);
	codectl_region_put(region);

	return ret;
}

static void limit_of_claims(struct kunit *test)
{
	const unsigned int third = CODECTL_CLAIM_BYTES / 3;
	struct mm_struct *mm = new_mm(test), *child;

	KUNIT_EXPECT_EQ(test, 0, insert_claim(mm, BASE, third));
	KUNIT_EXPECT_EQ(test, 0, insert_claim(mm, BASE + 1, third));
	KUNIT_EXPECT_EQ(test, 0, insert_claim(mm, BASE + 2, third));
	KUNIT_EXPECT_EQ(test, 0, insert_claim(mm, BASE + 3,
					      CODECTL_CLAIM_BYTES - 3 * third));
	KUNIT_EXPECT_EQ(test, -ENOSPC, insert_claim(mm, BASE + 4, 1));
	KUNIT_EXPECT_EQ(test, -EEXIST, insert_claim(mm, BASE, third));
	KUNIT_EXPECT_EQ(test, 0, insert(mm, BASE + 4, BASE + 5));

	/* A copy has what it was copied with, and both change independently. */
	child = fork_mm(test, mm);
	KUNIT_EXPECT_EQ(test, -ENOSPC, insert_claim(child, BASE + 5, 1));
	KUNIT_EXPECT_EQ(test, 0, erase(child, BASE, BASE + 1));
	KUNIT_EXPECT_EQ(test, -ENOSPC, insert_claim(child, BASE, third + 1));
	KUNIT_EXPECT_EQ(test, 0, insert_claim(child, BASE, third));
	KUNIT_EXPECT_EQ(test, -ENOSPC, insert_claim(mm, BASE + 5, 1));

	unmap(mm, BASE, BASE + 2);
	KUNIT_EXPECT_EQ(test, -ENOSPC, insert_claim(mm, BASE, 2 * third + 1));
	KUNIT_EXPECT_EQ(test, 0, insert_claim(mm, BASE, 2 * third));
}

static void erase_is_exact(struct kunit *test)
{
	struct mm_struct *mm = new_mm(test);

	KUNIT_EXPECT_EQ(test, -ENOENT, erase(mm, BASE, END));
	KUNIT_ASSERT_EQ(test, 0, insert(mm, BASE, END));
	KUNIT_EXPECT_EQ(test, -ENOENT, erase(mm, BASE, END - 1));
	KUNIT_EXPECT_EQ(test, -ENOENT, erase(mm, BASE, END + 1));
	KUNIT_EXPECT_EQ(test, -ENOENT, erase(mm, BASE - 1, END));
	KUNIT_EXPECT_EQ(test, -ENOENT, erase(mm, BASE + 1, END));
	KUNIT_EXPECT_TRUE(test, covers(mm, BASE));

	KUNIT_EXPECT_EQ(test, 0, erase(mm, BASE, END));
	KUNIT_EXPECT_FALSE(test, covers(mm, BASE));
	KUNIT_EXPECT_TRUE(test, is_empty(mm));
	KUNIT_EXPECT_EQ(test, -ENOENT, erase(mm, BASE, END));
	KUNIT_EXPECT_EQ(test, 0, insert(mm, BASE, END));
}

static void munmap_drops_whole(struct kunit *test)
{
	const struct {
		unsigned long	start;
		unsigned long	end;
		bool		dropped;
	} cases[] = {
		{ BASE, BASE + 1, true },
		{ END - 1, END, true },
		{ BASE + 0x800, BASE + 0x801, true },
		{ BASE - 0x1000, BASE + 1, true },
		{ END - 1, END + 0x1000, true },
		{ 0, TASK_SIZE_MAX, true },
		{ BASE - 0x1000, BASE, false },
		{ END, END + 0x1000, false },
		{ BASE, BASE, false },
		{ BASE + 1, BASE + 1, false },
		{ END - 1, END - 1, false },
		{ END, END, false },
		{ END, BASE, false },
	};
	struct mm_struct *mm = new_mm(test);
	unsigned int i;

	unmap(mm, BASE, END);
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		KUNIT_ASSERT_EQ(test, 0, insert(mm, BASE, END));
		unmap(mm, cases[i].start, cases[i].end);
		KUNIT_EXPECT_EQ_MSG(test, is_empty(mm), cases[i].dropped,
				    "[%lx, %lx)", cases[i].start, cases[i].end);
		unmap(mm, BASE, END);
	}

	/* Several at once, and the neighbours stay. */
	for (i = 0; i < 5; i++)
		KUNIT_ASSERT_EQ(test, 0, insert(mm, BASE + i * 0x1000,
						BASE + (i + 1) * 0x1000));
	unmap(mm, BASE + 0x1fff, BASE + 0x3001);
	for (i = 0; i < 5; i++)
		KUNIT_EXPECT_EQ(test, covers(mm, BASE + i * 0x1000),
				i == 0 || i == 4);
}

static void mapped_over(struct kunit *test)
{
	struct mm_struct *mm = new_mm(test), *child, *other;
	struct codectl_lookup lookup;

	map_over(mm, BASE, END);
	KUNIT_ASSERT_EQ(test, 0, insert(mm, BASE, END));
	map_over(mm, BASE, BASE);
	map_over(mm, BASE - 1, BASE);
	map_over(mm, END, END + 1);
	KUNIT_EXPECT_EQ(test, -EEXIST, insert(mm, BASE, END));

	/* Until it is replaced it is found as before. */
	KUNIT_ASSERT_TRUE(test, codectl_find(mm, BASE, &lookup));
	child = fork_mm(test, mm);
	map_over(mm, END - 1, END);
	map_over(mm, BASE, END);
	KUNIT_EXPECT_TRUE(test, codectl_valid(mm, &lookup));
	KUNIT_EXPECT_TRUE(test, covers(mm, BASE));
	KUNIT_EXPECT_EQ(test, -EEXIST, insert(child, BASE, END));

	/* In place of the old ones, at the limit, too. */
	child = fork_mm(test, mm);
	KUNIT_EXPECT_EQ(test, -ENOSPC, insert_max(mm, BASE, END, 0));
	KUNIT_EXPECT_TRUE(test, codectl_valid(mm, &lookup));
	KUNIT_EXPECT_EQ(test, 0, insert_max(mm, BASE + 1, END + 1, 1));
	KUNIT_EXPECT_FALSE(test, codectl_valid(mm, &lookup));
	KUNIT_EXPECT_FALSE(test, covers(mm, BASE));
	KUNIT_EXPECT_TRUE(test, covers(mm, END));
	KUNIT_EXPECT_EQ(test, -EEXIST, insert(mm, BASE + 1, END));
	KUNIT_EXPECT_TRUE(test, codectl_valid(child, &lookup));

	/* A copy remembers it. */
	other = fork_mm(test, child);
	KUNIT_EXPECT_EQ(test, 0, insert(child, END, END + 1));
	KUNIT_EXPECT_EQ(test, 0, insert(child, BASE, END));
	KUNIT_EXPECT_FALSE(test, codectl_valid(child, &lookup));
	KUNIT_EXPECT_TRUE(test, codectl_valid(other, &lookup));
	KUNIT_EXPECT_EQ(test, 0, erase(other, BASE, END));
	KUNIT_EXPECT_TRUE(test, is_empty(other));
}

static void fork_shares(struct kunit *test)
{
	struct mm_struct *parent = new_mm(test), *child, *other;

	child = fork_mm(test, parent);
	KUNIT_EXPECT_TRUE(test, is_empty(child));

	KUNIT_ASSERT_EQ(test, 0, insert(parent, BASE, END));
	child = fork_mm(test, parent);
	other = fork_mm(test, child);
	KUNIT_EXPECT_PTR_EQ(test, rcu_access_pointer(parent->codectl),
			    rcu_access_pointer(child->codectl));
	KUNIT_EXPECT_PTR_EQ(test, rcu_access_pointer(parent->codectl),
			    rcu_access_pointer(other->codectl));

	/* What changes nothing needs no copy. */
	KUNIT_EXPECT_EQ(test, -EEXIST, insert(child, BASE, END));
	KUNIT_EXPECT_EQ(test, -ENOENT, erase(child, BASE, END + 1));
	KUNIT_EXPECT_EQ(test, -ENOSPC, insert_max(child, END, END + 1, 1));
	unmap(child, END, END + 1);
	KUNIT_EXPECT_PTR_EQ(test, rcu_access_pointer(parent->codectl),
			    rcu_access_pointer(child->codectl));
}

static void fork_copies_at_change(struct kunit *test)
{
	struct mm_struct *parent = new_mm(test), *child, *other;

	KUNIT_ASSERT_EQ(test, 0, insert(parent, BASE, END));
	child = fork_mm(test, parent);
	other = fork_mm(test, parent);

	KUNIT_EXPECT_EQ(test, 0, erase(child, BASE, END));
	KUNIT_EXPECT_TRUE(test, is_empty(child));
	KUNIT_EXPECT_TRUE(test, covers(parent, BASE));
	KUNIT_EXPECT_TRUE(test, covers(other, BASE));

	KUNIT_EXPECT_EQ(test, 0, insert(parent, END, END + 1));
	KUNIT_EXPECT_TRUE(test, covers(parent, BASE));
	KUNIT_EXPECT_TRUE(test, covers(parent, END));
	KUNIT_EXPECT_FALSE(test, covers(other, END));
	KUNIT_EXPECT_FALSE(test, covers(child, END));

	child = fork_mm(test, parent);
	unmap(parent, BASE, BASE + 1);
	KUNIT_EXPECT_FALSE(test, covers(parent, BASE));
	KUNIT_EXPECT_TRUE(test, covers(child, BASE));
	KUNIT_EXPECT_TRUE(test, covers(other, BASE));

	/* The limit counts what the copy has. */
	KUNIT_EXPECT_EQ(test, -ENOSPC, insert_max(child, END + 1, END + 2, 2));
	KUNIT_EXPECT_EQ(test, 0, insert_max(child, END + 1, END + 2, 3));
}

static void parent_goes_first(struct kunit *test)
{
	struct mm_struct *parent = new_mm(test), *child;
	struct codectl_lookup lookup;

	KUNIT_ASSERT_EQ(test, 0, insert(parent, BASE, END));
	child = fork_mm(test, parent);
	exit_mm(test, parent);

	KUNIT_ASSERT_TRUE(test, codectl_find(child, BASE, &lookup));
	KUNIT_EXPECT_TRUE(test, codectl_valid(child, &lookup));
	KUNIT_EXPECT_EQ(test, 0, insert(child, END, END + 1));
	KUNIT_EXPECT_TRUE(test, codectl_valid(child, &lookup));
	unmap(child, END, END + 1);
	KUNIT_EXPECT_EQ(test, 0, erase(child, BASE, END));
	KUNIT_EXPECT_TRUE(test, is_empty(child));
}

static void generations(struct kunit *test)
{
	struct mm_struct *mm = new_mm(test), *child;
	struct codectl_lookup lookup, again;

	KUNIT_ASSERT_EQ(test, 0, insert(mm, BASE, END));
	KUNIT_ASSERT_TRUE(test, codectl_find(mm, BASE, &lookup));
	KUNIT_EXPECT_TRUE(test, codectl_valid(mm, &lookup));

	/* Changes elsewhere do not matter. */
	KUNIT_ASSERT_EQ(test, 0, insert(mm, END, END + 1));
	KUNIT_EXPECT_TRUE(test, codectl_valid(mm, &lookup));
	KUNIT_ASSERT_EQ(test, 0, erase(mm, END, END + 1));
	KUNIT_EXPECT_TRUE(test, codectl_valid(mm, &lookup));

	/* Nor do those of a child, nor the copy that they lead to. */
	child = fork_mm(test, mm);
	KUNIT_ASSERT_EQ(test, 0, erase(child, BASE, END));
	KUNIT_EXPECT_TRUE(test, codectl_valid(mm, &lookup));
	KUNIT_EXPECT_FALSE(test, codectl_valid(child, &lookup));
	child = fork_mm(test, mm);
	KUNIT_ASSERT_EQ(test, 0, insert(mm, END, END + 1));
	KUNIT_EXPECT_TRUE(test, codectl_valid(mm, &lookup));
	KUNIT_EXPECT_TRUE(test, codectl_valid(child, &lookup));

	/* Gone, and then another one has the same range. */
	KUNIT_ASSERT_EQ(test, 0, erase(mm, BASE, END));
	KUNIT_EXPECT_FALSE(test, codectl_valid(mm, &lookup));
	KUNIT_ASSERT_EQ(test, 0, insert(mm, BASE, END));
	KUNIT_EXPECT_FALSE(test, codectl_valid(mm, &lookup));
	KUNIT_ASSERT_TRUE(test, codectl_find(mm, BASE, &again));
	KUNIT_EXPECT_GT(test, again.gen, lookup.gen);
	KUNIT_EXPECT_TRUE(test, codectl_valid(mm, &again));

	/* The whole registry is gone and made anew */
	unmap(mm, 0, TASK_SIZE_MAX);
	KUNIT_EXPECT_FALSE(test, codectl_valid(mm, &again));
	KUNIT_ASSERT_EQ(test, 0, insert(mm, BASE, END));
	KUNIT_EXPECT_FALSE(test, codectl_valid(mm, &again));
}

#define MANY		1201	/* prime to the step */
#define MANY_STEP	709

static unsigned long nth(unsigned int i)
{
	return BASE + (unsigned long)i * 0x1000;
}

static void many(struct kunit *test)
{
	struct mm_struct *mm = new_mm(test), *child;
	struct codectl_lookup lookup;
	unsigned int i, n;

	for (i = 0, n = 0; i < MANY; i++, n = (n + MANY_STEP) % MANY)
		KUNIT_ASSERT_EQ(test, 0, insert_max(mm, nth(n), nth(n + 1), MANY));
	KUNIT_EXPECT_EQ(test, -ENOSPC, insert_max(mm, 0, 1, MANY));
	for (i = 0; i < MANY; i++) {
		KUNIT_ASSERT_TRUE(test, codectl_find(mm, nth(i) + 0xfff, &lookup));
		KUNIT_ASSERT_EQ(test, lookup.text_start, nth(i));
		KUNIT_ASSERT_EQ(test, -EEXIST, insert(mm, nth(i), nth(i) + 1));
	}

	child = fork_mm(test, mm);
	for (i = 0; i < MANY; i += 2)
		KUNIT_ASSERT_EQ(test, 0, erase(mm, nth(i), nth(i + 1)));
	unmap(mm, nth(300) + 1, nth(900));
	for (i = 0; i < MANY; i++) {
		KUNIT_ASSERT_EQ(test, covers(mm, nth(i)),
				(i & 1) && (i < 300 || i >= 900));
		KUNIT_ASSERT_TRUE(test, covers(child, nth(i)));
	}
	unmap(mm, 0, TASK_SIZE_MAX);
	KUNIT_EXPECT_TRUE(test, is_empty(mm));
}

static void ids_are_never_reused(struct kunit *test)
{
	u64 id = codectl_next_id();
	struct mm_struct *mm = new_mm(test);
	struct codectl_region *region;

	KUNIT_ASSERT_EQ(test, insert(mm, BASE, END), 0);
	region = codectl_get_next(mm, BASE);
	KUNIT_ASSERT_NOT_NULL(test, region);
	KUNIT_EXPECT_GT(test, region->gen, id);
	KUNIT_EXPECT_GT(test, codectl_next_id(), region->gen);
	codectl_region_put(region);
}

/* Into @size bytes, after which nothing may be written. */
static void expect_escaped(struct kunit *test, size_t size, const char *path,
			   const char *escaped)
{
	char to[33];

	memset(to, '#', sizeof(to));
	code_path_escape(to, size, path);
	KUNIT_EXPECT_STREQ(test, to, escaped);
	KUNIT_EXPECT_EQ(test, to[size], '#');
}

static void paths_are_escaped(struct kunit *test)
{
	expect_escaped(test, 32, "", "");
	expect_escaped(test, 32, "/lib/a b.so", "/lib/a b.so");
	expect_escaped(test, 32, "\n\t\177\\", "\\012\\011\\177\\134");
	expect_escaped(test, 32, "/caf\303\251", "/caf\303\251");
	expect_escaped(test, 8, "/", "/");
	expect_escaped(test, 8, "/12345678", "/...");
	expect_escaped(test, 8, "\n\n", "\\012...");
	expect_escaped(test, 16, "/12345678901234567890", "/12345678...");
}

static struct kunit_case registry_test_cases[] = {
	KUNIT_CASE(overlaps),
	KUNIT_CASE(half_open_ranges),
	KUNIT_CASE(limit),
	KUNIT_CASE(limit_of_claims),
	KUNIT_CASE(erase_is_exact),
	KUNIT_CASE(munmap_drops_whole),
	KUNIT_CASE(mapped_over),
	KUNIT_CASE(fork_shares),
	KUNIT_CASE(fork_copies_at_change),
	KUNIT_CASE(parent_goes_first),
	KUNIT_CASE(generations),
	KUNIT_CASE_SLOW(many),
	KUNIT_CASE(ids_are_never_reused),
	KUNIT_CASE(paths_are_escaped),
	{}
};

static struct kunit_suite registry_test_suite = {
	.name = "codectl_registry",
	.test_cases = registry_test_cases,
};

kunit_test_suite(registry_test_suite);

// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of lookups in a registry that changes
 */
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/mmap_lock.h>
#include <linux/sched.h>
#include <linux/seqlock.h>
#include <linux/smp.h>
#include <linux/uaccess.h>

#include "../walk_text.h"
#include "registry_mm.h"

static DECLARE_COMPLETION(looking);

/* A running thread: one that is stopped before it has started never looks. */
static struct task_struct *start_to_look(struct kunit *test,
					 int (*look)(void *data),
					 struct mm_struct *mm)
{
	struct task_struct *task;

	reinit_completion(&looking);
	task = kthread_run(look, mm, "codectl-lookup");
	KUNIT_ASSERT_FALSE(test, IS_ERR(task));
	wait_for_completion(&looking);

	return task;
}

/* Finds either range, or none, never anything in between. */
static int look_up(void *data)
{
	struct mm_struct *mm = data;
	struct codectl_lookup lookup;
	u64 gen = 0;
	int bad = 0;

	complete(&looking);
	while (!kthread_should_stop()) {
		if (codectl_find(mm, BASE, &lookup)) {
			bad += lookup.text_start != BASE || lookup.gen < gen ||
			       (lookup.text_end != END &&
				lookup.text_end != END + 0x1000);
			gen = lookup.gen;
			codectl_valid(mm, &lookup);
		}
		cond_resched();
	}

	return bad;
}

static void lookups_while_it_changes(struct kunit *test)
{
	struct mm_struct *mm = new_mm(test);
	struct task_struct *task;
	unsigned int i, bad = 0;

	task = start_to_look(test, look_up, mm);
	for (i = 0; i < 400; i++) {
		unsigned long end = i & 1 ? END : END + 0x1000;

		bad += !!insert(mm, BASE, end);
		if (i & 2)
			unmap(mm, end - 1, end);
		else
			bad += !!erase(mm, BASE, end);
		cond_resched();
	}
	KUNIT_EXPECT_EQ(test, kthread_stop(task), 0);
	KUNIT_EXPECT_EQ(test, bad, 0);
	KUNIT_EXPECT_TRUE(test, is_empty(mm));
}

/*
 * The registrations that stay, with others that come and go in between: few, so that
 * most rotations are on the path to many of them.
 */
#define STAYING		16
#define STAYING_STEP	0x4000

static unsigned long staying(unsigned int i)
{
	return BASE + (unsigned long)i * STAYING_STEP;
}

/* Finds each of them. */
static int look_up_staying(void *data)
{
	struct mm_struct *mm = data;
	struct codectl_lookup lookup;
	unsigned int i = 0;
	int bad = 0;

	complete(&looking);
	while (!kthread_should_stop()) {
		i = (i + 1) % STAYING;
		bad += !codectl_find(mm, staying(i) + 0xfff, &lookup) ||
		       lookup.text_start != staying(i) ||
		       !codectl_valid(mm, &lookup);
		if (!i)
			cond_resched();
	}

	return bad;
}

static void lookups_beside_neighbours(struct kunit *test)
{
	struct mm_struct *mm = new_mm(test);
	struct task_struct *task;
	unsigned int i, n, round, bad = 0;

	for (i = 0; i < STAYING; i++)
		KUNIT_ASSERT_EQ(test, 0, insert(mm, staying(i), staying(i) + 0x1000));
	task = start_to_look(test, look_up_staying, mm);
	for (round = 0; round < 1000; round++) {
		for (i = 0, n = 0; i < STAYING; i++, n = (n + 7) % STAYING)
			bad += !!insert(mm, staying(n) + 0x1000, staying(n + 1));
		for (i = 0; i < STAYING; i++)
			unmap(mm, staying(i) + 0x1000, staying(i) + 0x2000);
		cond_resched();
	}
	KUNIT_EXPECT_EQ(test, kthread_stop(task), 0);
	KUNIT_EXPECT_EQ(test, bad, 0);
}

static unsigned int nr_lookups;

static void count_lookup(void)
{
	WRITE_ONCE(nr_lookups, nr_lookups + 1);
	cond_resched();
}

/* Finds what the parent has, and never what its children have in that place. */
static int look_up_parent(void *data)
{
	struct mm_struct *mm = data;
	struct codectl_lookup lookup;
	int bad = 0;

	complete(&looking);
	while (!kthread_should_stop()) {
		bad += !codectl_find(mm, BASE, &lookup) ||
		       lookup.text_end != END;
		count_lookup();
	}

	return bad;
}

/* What the parent had before it ever changed is there all the time. */
static int validate_of_parent(void *data)
{
	struct mm_struct *mm = data;
	struct codectl_lookup before;
	int bad = !codectl_find(mm, BASE, &before);

	complete(&looking);
	while (!kthread_should_stop()) {
		bad += !codectl_valid(mm, &before);
		count_lookup();
	}

	return bad;
}

/* The same when going through the registrations one by one. */
static int look_up_next_of_parent(void *data)
{
	struct mm_struct *mm = data;
	struct codectl_region *region;
	int bad = 0;

	complete(&looking);
	while (!kthread_should_stop()) {
		region = codectl_get_next(mm, BASE);
		bad += !region || region->text_end != END;
		if (region)
			codectl_region_put(region);
		count_lookup();
	}

	return bad;
}

/* What a lookup is kept from by interrupt_lookup() */
struct interruption {
	bool begun;
	bool over;
};

/* Wherever it is; not forever, as it may hold the lock that the other one waits for. */
static void interrupt_lookup(void *data)
{
	struct interruption *interruption = data;
	unsigned int us;

	/* Pairs with the acquire in replace_while_interrupted(). */
	smp_store_release(&interruption->begun, true);
	for (us = 0; us < 100 * USEC_PER_MSEC; us++) {
		/* Pairs with the release in replace_while_interrupted(). */
		if (smp_load_acquire(&interruption->over))
			break;
		udelay(1);
	}
}

/* As at fork(); @child keeps what was there, and changes it. */
static unsigned int replace(struct mm_struct *mm, struct mm_struct *child)
{
	return !!insert(mm, END + 0x1000, END + 0x2000) +
	       !!erase(child, BASE, END) +
	       !!insert(child, BASE, END + 0x1000);
}

/* What a thread on @cpu has begun to search belongs to another address space then. */
static unsigned int replace_while_interrupted(struct mm_struct *mm,
					      struct mm_struct *child,
					      unsigned int cpu)
{
	struct interruption interruption = {};
	unsigned int before, bad;

	bad = !!smp_call_function_single(cpu, interrupt_lookup, &interruption, false);
	/* Pairs with the release in interrupt_lookup(). */
	while (!bad && !smp_load_acquire(&interruption.begun))
		cpu_relax();
	before = READ_ONCE(nr_lookups);
	bad += replace(mm, child);
	/* Pairs with the acquire in interrupt_lookup(), which has ended then. */
	smp_store_release(&interruption.over, true);
	while (READ_ONCE(nr_lookups) == before)
		cond_resched();

	return bad + !!erase(mm, END + 0x1000, END + 0x2000);
}

static void replace_while_looking(struct kunit *test, int (*look)(void *data))
{
	struct mm_struct *mm = new_mm(test), *child;
	unsigned int i, cpu, other, bad = 0;
	struct task_struct *task;

	cpu = cpumask_first(cpu_online_mask);
	other = cpumask_next(cpu, cpu_online_mask);
	if (other >= nr_cpu_ids)
		kunit_skip(test, "needs two CPUs");

	KUNIT_ASSERT_EQ(test, 0, insert(mm, BASE, END));
	task = start_to_look(test, look, mm);
	/* Both threads belong to this test alone. */
	KUNIT_EXPECT_EQ(test, 0, set_cpus_allowed_ptr(current, cpumask_of(cpu)));
	KUNIT_EXPECT_EQ(test, 0, set_cpus_allowed_ptr(task, cpumask_of(other)));
	for (i = 0; i < 2000; i++) {
		child = fork_mm(test, mm);
		bad += replace_while_interrupted(mm, child, other);
		exit_mm(test, child);
	}
	KUNIT_EXPECT_EQ(test, kthread_stop(task), 0);
	KUNIT_EXPECT_EQ(test, bad, 0);
}

static void lookups_while_it_is_replaced(struct kunit *test)
{
	replace_while_looking(test, look_up_parent);
}

static void valid_while_it_is_replaced(struct kunit *test)
{
	replace_while_looking(test, validate_of_parent);
}

static void next_while_it_is_replaced(struct kunit *test)
{
	replace_while_looking(test, look_up_next_of_parent);
}

/* As a lookup sees it that has interrupted a writer */
static void hide_tree(struct codectl_registry *reg, struct rb_root *tree)
{
	raw_write_seqcount_begin(&reg->seq);
	*tree = reg->tree;
	WRITE_ONCE(reg->tree.rb_node, NULL);
}

static void show_tree(struct codectl_registry *reg, const struct rb_root *tree)
{
	WRITE_ONCE(reg->tree.rb_node, tree->rb_node);
	raw_write_seqcount_end(&reg->seq);
}

/* What is missed in the middle of a change counts as changed, not as gone. */
static void lookups_in_a_change(struct kunit *test)
{
	struct mm_struct *mm = new_mm(test);
	struct codectl_lookup lookup, before;
	struct codectl_registry *reg;
	struct rb_root tree;

	KUNIT_ASSERT_EQ(test, 0, insert(mm, BASE, END));
	KUNIT_ASSERT_TRUE(test, codectl_find(mm, BASE, &before));
	KUNIT_ASSERT_EQ(test, 0, insert(mm, END, END + 1));
	reg = rcu_dereference_raw(mm->codectl);

	mmap_write_lock(mm);
	hide_tree(reg, &tree);
	scoped_guard(pagefault) {
		KUNIT_EXPECT_TRUE(test, codectl_find(mm, BASE, &lookup));
		KUNIT_EXPECT_FALSE(test, codectl_valid(mm, &lookup));
		KUNIT_EXPECT_FALSE(test, codectl_valid(mm, &before));
	}
	show_tree(reg, &tree);
	mmap_write_unlock(mm);

	KUNIT_EXPECT_FALSE(test, codectl_valid(mm, &lookup));
	KUNIT_EXPECT_TRUE(test, codectl_valid(mm, &before));
	KUNIT_EXPECT_TRUE(test, codectl_find(mm, BASE, &lookup));
	KUNIT_EXPECT_TRUE(test, codectl_valid(mm, &lookup));
}

/* The writer that @look meets continues once it is waited for. */
static int look_in_a_change(struct kunit *test, int (*look)(void *data))
{
	struct mm_struct *mm = new_mm(test);
	struct codectl_registry *reg;
	struct task_struct *task;
	struct rb_root tree;
	unsigned int tries;

	KUNIT_ASSERT_EQ(test, 0, insert(mm, BASE, END));
	task = start_to_look(test, look, mm);
	KUNIT_EXPECT_EQ(test, 0, insert(mm, END, END + 1));

	mmap_write_lock(mm);
	reg = rcu_dereference_raw(mm->codectl);
	hide_tree(reg, &tree);
	for (tries = 0; tries < 500 && !mmap_lock_is_contended(mm); tries++)
		msleep(20);
	KUNIT_EXPECT_LT(test, tries, 500);
	show_tree(reg, &tree);
	mmap_write_unlock(mm);

	return kthread_stop(task);
}

/* A lookup that may sleep waits for the writer in the end. */
static void lookups_wait_for_a_change(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, 0, look_in_a_change(test, look_up_parent));
	KUNIT_EXPECT_EQ(test, 0, look_in_a_change(test, validate_of_parent));
}

static unsigned long next(struct mm_struct *mm, unsigned long addr)
{
	struct codectl_region *region = codectl_get_next(mm, addr);
	unsigned long start = region ? region->text_start : 0;

	if (region)
		codectl_region_put(region);

	return start;
}

static void next_from_an_address(struct kunit *test)
{
	struct mm_struct *mm = new_mm(test);

	KUNIT_EXPECT_EQ(test, next(mm, 0), 0);
	KUNIT_ASSERT_EQ(test, insert(mm, BASE, END), 0);
	KUNIT_ASSERT_EQ(test, insert(mm, END + 1, END + 2), 0);
	KUNIT_EXPECT_EQ(test, next(mm, 0), BASE);
	KUNIT_EXPECT_EQ(test, next(mm, BASE), BASE);
	KUNIT_EXPECT_EQ(test, next(mm, END - 1), BASE);
	KUNIT_EXPECT_EQ(test, next(mm, END), END + 1);
	KUNIT_EXPECT_EQ(test, next(mm, END + 2), 0);
}

/* A lookup that may sleep takes the lock in the end. */
static void next_in_a_change(struct kunit *test)
{
	struct mm_struct *mm = new_mm(test);
	struct codectl_registry *reg;

	KUNIT_ASSERT_EQ(test, insert(mm, BASE, END), 0);
	reg = rcu_dereference_raw(mm->codectl);
	raw_write_seqcount_begin(&reg->seq);
	KUNIT_EXPECT_EQ(test, next(mm, 0), BASE);
	KUNIT_EXPECT_EQ(test, next(mm, END), 0);
	raw_write_seqcount_end(&reg->seq);
	KUNIT_EXPECT_EQ(test, erase(mm, BASE, END), 0);
}

/* Whoever shows a registration may keep it longer than the registry does. */
static void outlives_the_registry(struct kunit *test)
{
	struct mm_struct *mm = new_mm(test);
	struct codectl_region *region;

	KUNIT_ASSERT_EQ(test, insert(mm, BASE, END), 0);
	region = codectl_get_next(mm, BASE);
	KUNIT_ASSERT_NOT_NULL(test, region);
	KUNIT_EXPECT_EQ(test, erase(mm, BASE, END), 0);
	exit_mm(test, mm);
	synchronize_rcu();
	KUNIT_EXPECT_EQ(test, region->text_start, BASE);
	codectl_region_put(region);
}

/* What was looked up last may be the text after the one that the frame is in. */
static void gap_is_around_the_address(struct kunit *test)
{
	struct rule_walk *walk = kunit_kzalloc(test, sizeof(*walk), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, walk);
	rule_walk_set_gap(walk, BASE - 1, BASE, END);
	rule_walk_set_gap(walk, END, BASE, END);
	KUNIT_EXPECT_EQ(test, walk->gap_size, 0);
	rule_walk_set_gap(walk, END - 1, BASE, END);
	KUNIT_EXPECT_EQ(test, walk->gap, BASE);
	KUNIT_EXPECT_EQ(test, walk->gap_size, END - BASE);
}

static struct kunit_case lookup_test_cases[] = {
	KUNIT_CASE(lookups_while_it_changes),
	KUNIT_CASE_SLOW(lookups_beside_neighbours),
	KUNIT_CASE_SLOW(lookups_while_it_is_replaced),
	KUNIT_CASE_SLOW(valid_while_it_is_replaced),
	KUNIT_CASE(lookups_in_a_change),
	KUNIT_CASE(lookups_wait_for_a_change),
	KUNIT_CASE(next_from_an_address),
	KUNIT_CASE(next_in_a_change),
	KUNIT_CASE_SLOW(next_while_it_is_replaced),
	KUNIT_CASE(outlives_the_registry),
	KUNIT_CASE(gap_is_around_the_address),
	{}
};

static struct kunit_suite lookup_test_suite = {
	.name = "codectl_lookup",
	.test_cases = lookup_test_cases,
};

kunit_test_suite(lookup_test_suite);

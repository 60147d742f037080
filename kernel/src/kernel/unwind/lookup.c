// SPDX-License-Identifier: GPL-2.0
/*
 * Lookups in the registry of an address space
 *
 * They hold RCU, and only while they search: reading tables in user memory may sleep
 * for as long as user space likes.  So they copy what they need, read the tables, and
 * then ask codectl_valid() whether the registration was still there after the last
 * read.
 *
 * A search that runs concurrently with a writer ends, and what it finds is in the tree,
 * but it may miss what is there: lib/rbtree.c.  Only then does the sequence count of
 * the tree matter.  After a few tries the lookup waits for the writer by its lock,
 * unless page faults are disabled: the writer may be what the lookup has interrupted.
 */
#include <linux/codectl_query.h>
#include <linux/mmap_lock.h>
#include <linux/rbtree.h>
#include <linux/sched.h>
#include <linux/seqlock.h>
#include <linux/uaccess.h>

#include "registry.h"

#define CODECTL_TRIES	4

/**
 * codectl_search() - search for the registration that covers an address
 * @reg: the registry
 * @addr: the address
 *
 * Context: any, under RCU or the lock of the registry.
 * Return: the registration, or NULL, which says nothing if there is a concurrent
 * writer.
 */
struct codectl_region *codectl_search(const struct codectl_registry *reg,
				      unsigned long addr)
{
	struct rb_node *node = rcu_dereference_raw(reg->tree.rb_node);
	struct codectl_region *region;

	while (node) {
		region = codectl_entry(node);
		if (addr < region->text_start)
			node = rcu_dereference_raw(node->rb_left);
		else if (addr >= region->text_end)
			node = rcu_dereference_raw(node->rb_right);
		else
			return region;
	}

	return NULL;
}

/**
 * codectl_search_from() - search for the registration at or above an address
 * @reg: the registry
 * @addr: the address
 *
 * Context: as codectl_search().
 * Return: the registration that covers @addr, or the first one above it, or NULL; with
 * a concurrent writer it may be one further above.
 */
struct codectl_region *codectl_search_from(const struct codectl_registry *reg,
					   unsigned long addr)
{
	struct rb_node *node = rcu_dereference_raw(reg->tree.rb_node);
	struct codectl_region *region, *found = NULL;

	while (node) {
		region = codectl_entry(node);
		if (addr >= region->text_end) {
			node = rcu_dereference_raw(node->rb_right);
		} else {
			found = region;
			node = rcu_dereference_raw(node->rb_left);
		}
	}

	return found;
}

/* Before a search; odd if there is a writer, which is not waited for. */
static unsigned int codectl_search_begin(const struct codectl_registry *reg)
{
	return raw_read_seqcount(&reg->seq);
}

/* After a search: may it have missed something? */
static bool codectl_search_missed(const struct codectl_registry *reg,
				  unsigned int seq)
{
	return (seq & 1) || read_seqcount_retry(&reg->seq, seq);
}

/* May it have missed something, or does another address space have @reg by now? */
static bool codectl_search_outdated(const struct mm_struct *mm,
				    const struct codectl_registry *reg,
				    unsigned int seq)
{
	/* The barrier in the first call is that of codectl_try_find(), too. */
	return codectl_search_missed(reg, seq) ||
	       rcu_access_pointer(mm->codectl) != reg;
}

/**
 * codectl_generation() - get the generation of the registry of an address space
 * @mm: the address space
 *
 * Context: any; the address space cannot go away.
 * Return: the generation, different from that of any other registry and from that of
 * this one before or after a change; 0 if nothing is registered.
 */
u64 codectl_generation(struct mm_struct *mm)
{
	const struct codectl_registry *reg;

	guard(rcu)();
	reg = rcu_dereference(mm->codectl);

	/* As in codectl_find(). */
	return reg ? smp_load_acquire(&reg->gen) : 0;
}

/* Keeps the registry from changing; fails if the task cannot wait or is killed. */
static bool codectl_lock(struct mm_struct *mm)
{
	return !pagefault_disabled() && !mmap_read_lock_killable(mm);
}

/* Whether there is one; -EAGAIN if a concurrent writer makes that unknown. */
static __always_inline int codectl_try_find(struct mm_struct *mm,
					    unsigned long ip,
					    struct codectl_lookup *lookup)
{
	const struct codectl_registry *reg;
	const struct codectl_region *region;
	unsigned int seq;
	u64 gen;

	guard(rcu)();
	reg = rcu_dereference(mm->codectl);
	if (!reg)
		return false;

	/*
	 * The generation before the search: one from after it would hide a change in
	 * between.  Pairs with the release of the generation in
	 * codectl_registry_changed(), which comes after the change.
	 */
	gen = smp_load_acquire(&reg->gen);
	seq = codectl_search_begin(reg);
	region = codectl_search(reg, ip);
	if (!region && codectl_search_missed(reg, seq))
		return -EAGAIN;

	/*
	 * A registry that was shared and has been replaced here may by now belong to
	 * the other address space alone, and have changed with it.  Pairs with the
	 * release in the refcount_dec_and_test() by which this one gave up its share
	 * after replacing it.
	 */
	smp_rmb();
	if (rcu_access_pointer(mm->codectl) != reg)
		return -EAGAIN;
	if (!region)
		return false;

	lookup->text_start = region->text_start;
	lookup->text_end = region->text_end;
	lookup->gen = region->gen;
	lookup->registry_gen = gen;
	lookup->tables = region->tables;

	return true;
}

static noinline bool codectl_find_locked(struct mm_struct *mm, unsigned long ip,
					 struct codectl_lookup *lookup)
{
	int ret = -EAGAIN;

	if (codectl_lock(mm)) {
		ret = codectl_try_find(mm, ip, lookup);
		mmap_read_unlock(mm);
	}
	if (ret == -EAGAIN)
		*lookup = (struct codectl_lookup) {};

	return ret;
}

/**
 * codectl_find() - find the registration that covers an address
 * @mm: the address space
 * @ip: the address
 * @lookup: where to store a copy of the registration
 *
 * If the registry changes meanwhile and the task cannot wait, the copy may be one that
 * codectl_valid() refuses.
 *
 * Context: process, without RCU and the mmap lock; any, if page faults are disabled.
 * The address space cannot go away.
 * Return: whether there is one.
 */
bool codectl_find(struct mm_struct *mm, unsigned long ip,
		  struct codectl_lookup *lookup)
{
	unsigned int tries;
	int ret;

	might_sleep_if(!pagefault_disabled());
	for (tries = 0; tries < CODECTL_TRIES; tries++) {
		ret = codectl_try_find(mm, ip, lookup);
		if (likely(ret >= 0))
			return ret;
	}

	return codectl_find_locked(mm, ip, lookup);
}

/**
 * codectl_find_gap() - find how far around an address nothing is registered
 * @mm: the address space
 * @gen: generation of its registry that is meant
 * @addr: the address
 * @start: raised to where the gap starts, if that is higher
 * @end: lowered to where the gap ends, if that is lower
 *
 * Context: any; the address space cannot go away.
 * Return: whether that is so; false also if the registry has changed.
 */
bool codectl_find_gap(struct mm_struct *mm, u64 gen, unsigned long addr,
		      unsigned long *start, unsigned long *end)
{
	const struct codectl_registry *reg;
	const struct codectl_region *region;
	struct rb_node *node;
	unsigned int seq;

	guard(rcu)();
	reg = rcu_dereference(mm->codectl);
	if (!reg)
		return false;

	seq = codectl_search_begin(reg);
	node = rcu_dereference_raw(reg->tree.rb_node);
	while (node) {
		region = codectl_entry(node);
		if (addr < region->text_start) {
			*end = min(*end, region->text_start);
			node = rcu_dereference_raw(node->rb_left);
		} else if (addr >= region->text_end) {
			*start = max(*start, region->text_end);
			node = rcu_dereference_raw(node->rb_right);
		} else {
			return false;
		}
	}

	/* What @gen stands for was searched, even if @mm has another registry by now. */
	return !codectl_search_missed(reg, seq) && READ_ONCE(reg->gen) == gen;
}

/* Whether it is there; -EAGAIN if a concurrent writer makes that unknown. */
static int codectl_try_remains(struct mm_struct *mm,
			       const struct codectl_lookup *lookup)
{
	const struct codectl_registry *reg;
	const struct codectl_region *region;
	unsigned int seq;

	guard(rcu)();
	reg = rcu_dereference(mm->codectl);
	if (!reg)
		return false;

	seq = codectl_search_begin(reg);
	region = codectl_search(reg, lookup->text_start);
	/* Once gone it does not come back, wherever @reg is by now. */
	if (region && region->gen == lookup->gen)
		return true;

	return codectl_search_outdated(mm, reg, seq) ? -EAGAIN : false;
}

/**
 * codectl_remains() - is a registration still there?
 * @mm: the address space, whose registry has changed
 * @lookup: what codectl_find() found
 *
 * Context: as codectl_find(); its tables were read before, with smp_rmb() since.
 * Return: whether it is; false also if the registry changes meanwhile and the task
 * cannot wait.
 */
bool codectl_remains(struct mm_struct *mm, const struct codectl_lookup *lookup)
{
	int ret = -EAGAIN;
	unsigned int tries;

	might_sleep_if(!pagefault_disabled());
	for (tries = 0; ret < 0 && tries < CODECTL_TRIES; tries++)
		ret = codectl_try_remains(mm, lookup);
	if (ret < 0 && codectl_lock(mm)) {
		ret = codectl_try_remains(mm, lookup);
		mmap_read_unlock(mm);
	}

	return ret > 0;
}

/* Takes a reference; -EAGAIN if the registry has changed meanwhile. */
static struct codectl_region *codectl_try_next(struct mm_struct *mm,
					       unsigned long addr)
{
	struct codectl_registry *reg;
	struct codectl_region *region;
	unsigned int seq;

	guard(rcu)();
	reg = rcu_dereference(mm->codectl);
	if (!reg)
		return NULL;

	seq = codectl_search_begin(reg);
	region = codectl_search_from(reg, addr);
	if (codectl_search_outdated(mm, reg, seq) ||
	    (region && !refcount_inc_not_zero(&region->ref)))
		return ERR_PTR(-EAGAIN);

	return region;
}

/* As codectl_get_next(), under the lock of the address space. */
static struct codectl_region *codectl_get_next_locked(struct mm_struct *mm,
						      unsigned long addr)
{
	struct codectl_registry *reg =
		rcu_dereference_protected(mm->codectl,
					  lockdep_is_held(&mm->mmap_lock));
	struct codectl_region *region;

	region = reg ? codectl_search_from(reg, addr) : NULL;
	if (region)
		refcount_inc(&region->ref);

	return region;
}

/**
 * codectl_get_next() - get the registration at or above an address
 * @mm: the address space
 * @addr: the address
 *
 * Context: process; may sleep; the caller holds @mm as one of its users does, as by
 * mmget(), and not its lock.
 * Return: the registration that covers @addr, or the first one above it, with a
 * reference for codectl_region_put(); NULL if there is none.
 */
struct codectl_region *codectl_get_next(struct mm_struct *mm,
					unsigned long addr)
{
	struct codectl_region *region;
	unsigned int tries = 0;

	while (IS_ERR(region = codectl_try_next(mm, addr))) {
		/* A killed task keeps trying, without the lock. */
		if (++tries % CODECTL_TRIES || mmap_read_lock_killable(mm))
			continue;
		region = codectl_get_next_locked(mm, addr);
		mmap_read_unlock(mm);
		break;
	}

	return region;
}

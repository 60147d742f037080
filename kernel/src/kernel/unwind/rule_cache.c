// SPDX-License-Identifier: GPL-2.0
/*
 * What walks have found in the tables of an address space
 *
 * Most stacks taken of a program share most frames with earlier ones, even with those
 * of other threads.
 *
 * The memory is the tracer's rather than the program's: it is not charged to the
 * program, nobody waits for it, and it is freed when it is wanted for something else,
 * when no stack was taken for a while, or with the address space.
 */
#include <linux/array_size.h>
#include <linux/build_bug.h>
#include <linux/codectl.h>
#include <linux/init.h>
#include <linux/jiffies.h>
#include <linux/list.h>
#include <linux/mm_types.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/shrinker.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

#include "find_rule.h"
#include "granules.h"
#include "rule_cache.h"

/* In place of the cache of an address space of which one stack was taken. */
#define RULE_CACHE_WANTED	((struct rule_cache *)1)

/* How long a cache may be idle before it is freed, and how often that is checked. */
#define RULE_CACHE_IDLE		(HZ / 2)
#define RULE_CACHE_PERIOD	(HZ / 4)

static struct kmem_cache *rule_cache_cachep __ro_after_init;

/*
 * Protects the list of caches, their number, and mm_struct.unwind_rules but for reading
 * it.
 */
static DEFINE_SPINLOCK(rule_caches_lock);
static LIST_HEAD(rule_caches);
static unsigned long nr_rule_caches;

static void rule_cache_age_all(struct work_struct *work);
static DECLARE_DELAYED_WORK(rule_cache_work, rule_cache_age_all);

static struct rule_cache *rule_cache_alloc(u64 gen)
{
	struct rule_cache *cache;

	/* An exiting task must not ask for memory that it will hardly use. */
	if (current->flags & PF_EXITING)
		return NULL;

	cache = kmem_cache_zalloc(rule_cache_cachep, GFP_NOWAIT | __GFP_NOWARN);
	if (!cache)
		return NULL;

	/* For the address space and for the walk. */
	refcount_set(&cache->ref, 2);
	cache->epoch = gen >> 32;
	cache->used = jiffies;
	cache->mm = current->mm;

	return cache;
}

static struct rule_cache *rule_cache_add(u64 gen)
{
	struct rule_cache *cache = rule_cache_alloc(gen);
	struct mm_struct *mm = current->mm;

	if (!cache)
		return NULL;

	scoped_guard(spinlock, &rule_caches_lock) {
		/* Another thread may have been faster. */
		if (rcu_access_pointer(mm->unwind_rules) == RULE_CACHE_WANTED) {
			rcu_assign_pointer(mm->unwind_rules, cache);
			list_add_tail(&cache->list, &rule_caches);
			if (!nr_rule_caches++)
				schedule_delayed_work(&rule_cache_work,
						      RULE_CACHE_PERIOD);
			return cache;
		}
	}

	kmem_cache_free(rule_cache_cachep, cache);
	return NULL;
}

/* Takes a cache away from its address space, whose reference the caller then drops. */
static void rule_cache_remove(struct rule_cache *cache)
{
	lockdep_assert_held(&rule_caches_lock);

	RCU_INIT_POINTER(cache->mm->unwind_rules, NULL);
	list_del(&cache->list);
	nr_rule_caches--;
}

static struct rule_cache *rule_cache_of(struct mm_struct *mm, u64 gen)
{
	struct rule_cache *cache;

	guard(rcu)();
	cache = rcu_dereference(mm->unwind_rules);
	if (!cache) {
		unrcu_pointer(cmpxchg(&mm->unwind_rules, NULL,
				      RCU_INITIALIZER(RULE_CACHE_WANTED)));
		return NULL;
	}
	if (cache == RULE_CACHE_WANTED)
		return rule_cache_add(gen);
	/* One of another epoch is of no use to anybody, and is freed once idle. */
	if (cache->epoch != gen >> 32 || !refcount_inc_not_zero(&cache->ref))
		return NULL;

	return cache;
}

/**
 * rule_cache_get() - get the cache of the current task's address space for a walk
 * @walk: the walk, whose @walk->gen is not 0; its @walk->cache may be NULL afterwards
 *
 * The first walk gets none, as there may never be another.
 *
 * Context: process; rule_cache_put() has to follow.
 */
void rule_cache_get(struct rule_walk *walk)
{
	walk->cache = rule_cache_of(current->mm, walk->gen);
	if (!walk->cache)
		return;

	/*
	 * Odd while somebody writes: with the even value before, nothing that is copied
	 * is used.  Pairs with rule_cache_unlock().
	 */
	walk->seq = smp_load_acquire(&walk->cache->seq) & ~1UL;
}

/**
 * rule_cache_peek() - use the cache of the current task's address space, if there is one
 * @walk: the walk, which holds no reference to it
 *
 * Context: any, under RCU, which keeps the cache.
 */
void rule_cache_peek(struct rule_walk *walk)
{
	struct rule_cache *cache = rcu_dereference(current->mm->unwind_rules);

	if (!cache || cache == RULE_CACHE_WANTED || cache->epoch != walk->gen >> 32)
		return;

	walk->cache = cache;
	/* As in rule_cache_get(). */
	walk->seq = smp_load_acquire(&cache->seq) & ~1UL;
}

static void rule_cache_free_rcu(struct rcu_head *rcu)
{
	kmem_cache_free(rule_cache_cachep,
			container_of(rcu, struct rule_cache, rcu));
}

static void rule_cache_unref(struct rule_cache *cache)
{
	if (refcount_dec_and_test(&cache->ref))
		call_rcu(&cache->rcu, rule_cache_free_rcu);
}

/**
 * rule_cache_put() - release the cache of a walk
 * @walk: the walk
 */
void rule_cache_put(struct rule_walk *walk)
{
	struct rule_cache *cache = walk->cache;
	const unsigned long now = jiffies;

	if (!cache)
		return;

	/* No store unless it is needed: the line is shared with other CPUs. */
	if (READ_ONCE(cache->used) != now)
		WRITE_ONCE(cache->used, now);
	rule_cache_unref(cache);
}

/* The last user of the address space is gone. */
void __codectl_rules_exit(struct mm_struct *mm)
{
	struct rule_cache *cache = rcu_access_pointer(mm->unwind_rules);

	/* Nobody walks in it, so it can only be taken away. */
	if (cache == RULE_CACHE_WANTED)
		return;

	scoped_guard(spinlock, &rule_caches_lock) {
		if (!rcu_access_pointer(mm->unwind_rules))
			return;
		rule_cache_remove(cache);
	}
	kmem_cache_free(rule_cache_cachep, cache);
}

/* Frees those that have been idle for so long, @max at most; returns how many. */
static unsigned long rule_cache_free_idle(unsigned long idle, unsigned long max)
{
	struct rule_cache *cache, *next;
	unsigned long freed = 0;

	guard(spinlock)(&rule_caches_lock);
	list_for_each_entry_safe(cache, next, &rule_caches, list) {
		if (freed >= max)
			break;
		if (time_before(jiffies, READ_ONCE(cache->used) + idle))
			continue;
		rule_cache_remove(cache);
		rule_cache_unref(cache);
		freed++;
	}

	return freed;
}

static void rule_cache_age_all(struct work_struct *work)
{
	rule_cache_free_idle(RULE_CACHE_IDLE, ULONG_MAX);

	guard(spinlock)(&rule_caches_lock);
	if (nr_rule_caches)
		schedule_delayed_work(&rule_cache_work, RULE_CACHE_PERIOD);
}

/*
 * The generation of the registration that a walk has looked up last, or 0 if that
 * cannot be said.
 */
static u32 rule_walk_region(const struct rule_walk *walk)
{
	const struct codectl_lookup *last = &walk->last;

	return last->registry_gen == walk->gen &&
	       last->gen >> 32 == walk->gen >> 32 ? last->gen : 0;
}

/* Is a registration still there?  If so, it is the one that the walk has looked up last. */
static bool rule_walk_enter(struct rule_walk *walk, unsigned long ip, u32 region)
{
	if (!region)
		return false;
	if (region != rule_walk_region(walk) &&
	    (!codectl_find(current->mm, ip, &walk->last) ||
	     region != rule_walk_region(walk)))
		return false;

	walk->region = region;
	return true;
}

/* Does not wait for another writer, which may have been preempted. */
static bool rule_cache_trylock(struct rule_walk *walk)
{
	unsigned long seq = walk->seq;

	/* A full barrier: for readers, what is written next comes after it. */
	return try_cmpxchg(&walk->cache->seq, &seq, seq + 1);
}

static void rule_cache_unlock(struct rule_walk *walk)
{
	walk->seq += 2;
	/* Pairs with rule_cache_get() and rule_cache_look(). */
	smp_store_release(&walk->cache->seq, walk->seq);
}

static void held_rule_write(struct held_rule *held, const struct held_rule *new)
{
	WRITE_ONCE(held->rule, new->rule);
	WRITE_ONCE(held->seen, new->seen);
	WRITE_ONCE(held->region, new->region);
}

/* Where a rule goes: where it was, into the first free place, or anywhere. */
static struct rule_slot *rule_cache_place(struct rule_cache *cache,
					  unsigned long key)
{
	const u64 hash = rule_cache_hash(key);
	struct rule_slot *sets[] = {
		rule_cache_set(cache, hash >> 32), rule_cache_set(cache, hash),
	};
	struct rule_slot *slot;
	unsigned int i, way;

	/* No place becomes free again: a rule is before the first free one. */
	for (i = 0; i < ARRAY_SIZE(sets); i++) {
		for (way = 0; way < RULE_CACHE_WAYS; way++) {
			slot = &sets[i][way];
			if (!slot->key || slot->key == key)
				return slot;
		}
	}
	i = cache->turn++;

	return &sets[i / RULE_CACHE_WAYS % ARRAY_SIZE(sets)][i % RULE_CACHE_WAYS];
}

/**
 * rule_cache_keep() - keep what was found for a frame
 * @walk: the walk, with a cache, which has just found @walk->found
 * @ip: address of the frame
 * @exact: whether the frame is there, rather than returning there
 * @rule: the rule
 */
void rule_cache_keep(struct rule_walk *walk, unsigned long ip, bool exact,
		     u64 rule)
{
	const struct found_rule *found = &walk->found;
	const unsigned long key = rule_cache_key(ip, exact);
	const unsigned long row = found->place.row;
	struct rule_cache *cache = walk->cache;
	struct rule_range *uniform = &cache->uniform;
	struct rule_slot *slot;
	struct held_rule held = {
		.rule = row ? KEPT_TYPE(KEPT_ROW) | row << KEPT_ROW_SHIFT :
			      rule,
		.seen = row ? found->place.seq : walk->gen,
		.region = found->own ? rule_walk_region(walk) : 0,
	};

	/* Whether a row remains depends on what its registration says. */
	if (kept_type(rule) == KEPT_ASIDE || (row && !held.region) ||
	    row > ULONG_MAX >> KEPT_ROW_SHIFT ||
	    !rule_cache_trylock(walk))
		return;

	if (found->uniform) {
		WRITE_ONCE(uniform->start, walk->last.text_start);
		WRITE_ONCE(uniform->size, walk->last.text_end -
					  walk->last.text_start);
		held_rule_write(&uniform->held, &held);
	}
	slot = rule_cache_place(cache, key);
	WRITE_ONCE(slot->key, key);
	held_rule_write(&slot->held, &held);
	rule_cache_unlock(walk);
}

/* Copies what is at a place; false if somebody is writing. */
static bool rule_cache_copy(struct rule_walk *walk, unsigned long seq,
			    const struct held_rule *held, struct held_rule *copy)
{
	copy->rule = READ_ONCE(held->rule);
	copy->seen = READ_ONCE(held->seen);
	copy->region = READ_ONCE(held->region);
	/* Pairs with rule_cache_trylock(). */
	smp_rmb();

	return seq == walk->seq && READ_ONCE(walk->cache->seq) == seq;
}

/* The registry has changed, the registration that the rule belongs to has not. */
static void rule_cache_renew(struct rule_walk *walk, struct held_rule *held)
{
	/* It is still that rule, as nobody has written since it was copied. */
	if (!rule_cache_trylock(walk))
		return;

	WRITE_ONCE(held->seen, walk->gen);
	rule_cache_unlock(walk);
}

static u64 rule_cache_row(struct rule_walk *walk, const struct held_rule *held,
			  unsigned long addr)
{
	const unsigned long row = held->rule >> KEPT_ROW_SHIFT;
	const struct jit_unwind *jit = &walk->last.tables.jit;
	struct code_jit_unwind_fre fre;

	if (!(jit->nr_slots ?
	      jit_granule_remains(jit, addr - walk->last.text_start, row,
				  held->seen, &fre) :
	      jit_row_remains(row, jit->seq, held->seen, &fre)))
		return 0;

	/* If it was unregistered meanwhile, the memory of the row may be anybody's. */
	return codectl_valid(current->mm, &walk->last) ?
	       codectl_row_kept(&fre) : 0;
}

/**
 * rule_cache_look() - look up what was found before
 * @walk: the walk, with a cache
 * @ip: address of the frame
 * @exact: whether the frame is there, rather than returning there
 * @slot: the slot for the frame, or NULL
 *
 * Context: may fault, unless page faults are disabled.
 * Return: the rule, or 0.
 */
u64 rule_cache_look(struct rule_walk *walk, unsigned long ip, bool exact,
		    struct rule_slot *slot)
{
	/* Pairs with rule_cache_unlock(). */
	const unsigned long seq = smp_load_acquire(&walk->cache->seq);
	struct held_rule *held = rule_cache_range(walk->cache, ip);
	struct held_rule copy;

	walk->seq = seq & ~1UL;
	/* It may be another frame's by now. */
	if (!held && slot && READ_ONCE(slot->key) == rule_cache_key(ip, exact))
		held = &slot->held;
	if (!held || !rule_cache_copy(walk, seq, held, &copy))
		return 0;
	if (kept_type(copy.rule) != KEPT_ROW && copy.seen == (u32)walk->gen)
		return copy.rule;
	if (!rule_walk_enter(walk, ip - !exact, copy.region))
		return 0;
	if (kept_type(copy.rule) == KEPT_ROW)
		return rule_cache_row(walk, &copy, ip - !exact);

	rule_cache_renew(walk, held);
	return copy.rule;
}

static unsigned long rule_cache_count(struct shrinker *shrinker,
				      struct shrink_control *sc)
{
	return READ_ONCE(nr_rule_caches) ?: SHRINK_EMPTY;
}

static unsigned long rule_cache_scan(struct shrinker *shrinker,
				     struct shrink_control *sc)
{
	return rule_cache_free_idle(0, sc->nr_to_scan) ?: SHRINK_STOP;
}

static int __init rule_cache_init(void)
{
	struct shrinker *shrinker;

	/* All within a second of the last stack. */
	static_assert(RULE_CACHE_IDLE + RULE_CACHE_PERIOD < HZ);
	static_assert(sizeof(struct rule_slot) == 24);
	static_assert(struct_size_t(struct rule_cache, slots,
				    RULE_CACHE_SLOTS) <= RULE_CACHE_SIZE);

	rule_cache_cachep = kmem_cache_create("unwind_rules", RULE_CACHE_SIZE,
					      0, SLAB_PANIC |
					      SLAB_RECLAIM_ACCOUNT, NULL);
	shrinker = shrinker_alloc(0, "unwind_rules");
	if (!shrinker)
		return -ENOMEM;

	shrinker->count_objects = rule_cache_count;
	shrinker->scan_objects = rule_cache_scan;
	shrinker_register(shrinker);

	return 0;
}
core_initcall(rule_cache_init);

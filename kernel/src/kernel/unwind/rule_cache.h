/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _UNWIND_RULE_CACHE_H
#define _UNWIND_RULE_CACHE_H

#include <linux/hash.h>
#include <linux/mm_types.h>
#include <linux/refcount.h>
#include <linux/sizes.h>
#include <linux/types.h>
#include <linux/unroll.h>
#include <linux/unwind_user_types.h>

#include "attach.h"
#include "jit.h"
#include "kept_rule.h"
#include "registry.h"
#include "rule.h"

/* Slots that a key may be in, from each of the two that its hash gives. */
#define RULE_CACHE_WAYS		4
#define RULE_CACHE_SIZE		SZ_8K
#define RULE_CACHE_SLOTS						\
	((RULE_CACHE_SIZE - sizeof(struct rule_cache)) / sizeof(struct rule_slot))

/**
 * struct found_rule - a rule and where it comes from
 * @rule: the rule
 * @lasting: whether it holds until the registry changes or the row retires
 * @own: whether it holds while its registration is there, whatever else changes
 * @uniform: whether it holds for all that it covers, in the same way
 * @place: where the row is, if it comes from one
 */
struct found_rule {
	struct unwind_rule	rule;
	bool			lasting;
	bool			own;
	bool			uniform;
	struct jit_place	place;
};

/**
 * struct held_rule - a rule and what it depends on
 * @rule: the rule, 0 for none
 * @seen: generation of the registry in which it was last known to hold; for a row, the
 *	value of its counter instead
 * @region: generation of the registration that it belongs to, 0 if it depends on
 *	others, too
 *
 * Generations are cut to 32 bits; &struct rule_cache.epoch has the upper half.
 */
struct held_rule {
	u64	rule;
	u32	seen;
	u32	region;
};

/**
 * struct rule_slot - what was found for a frame
 * @key: the frame, rule_cache_key(), or 0
 * @held: its rule
 */
struct rule_slot {
	unsigned long		key;
	struct held_rule	held;
};

/**
 * struct rule_range - a rule for all frames with an address in some code
 * @start: first byte of the code
 * @size: bytes of code
 * @held: the rule
 */
struct rule_range {
	unsigned long		start;
	unsigned long		size;
	struct held_rule	held;
};

/**
 * struct rule_cache - what walks have found in the tables of an address space
 * @ref: references by the address space and by walks
 * @epoch: upper half of the generations of all that is in it
 * @seq: odd while it is being written to
 * @turn: which slot to replace when all are taken
 * @used: when a walk last ended, in jiffies
 * @mm: the address space, while it has it
 * @list: in the list of all that address spaces have
 * @rcu: defers freeing until nobody takes a reference
 * @uniform: a rule for a whole range
 * @slots: the frames
 *
 * Walks of several threads may read and write it at the same time.  A writer that meets
 * another one drops its rule; a reader that a writer has interfered with reads again,
 * or goes to the tables.  Nobody waits.
 */
struct rule_cache {
	refcount_t		ref;
	u32			epoch;
	unsigned long		seq;
	unsigned int		turn;
	unsigned long		used;
	struct mm_struct	*mm;
	struct list_head	list;
	struct rcu_head		rcu;
	struct rule_range	uniform;
	struct rule_slot	slots[];
};

/* Texts with attached tables that a walk remembers. */
#define RULE_WALK_TEXTS		4

/**
 * struct rule_walk - a walk by tables
 * @gen: generation of the registry when the walk began, 0 if nothing was registered
 * @cache: what was found before, or NULL
 * @seq: @cache->seq when nobody was writing, as old as what is read with it
 * @region: generation of a registration that is there in @gen, as &struct held_rule has
 *	it, or of none
 * @rule: the rule for the frame that the walk is at
 * @err: the reason, if that is %KEPT_NOTHING
 * @vdso: first byte of the vDSO
 * @vdso_size: its size, 0 if it has no table
 * @fp_reach: how far from SP the frame pointer is followed without looking at the code;
 *	0 if it is not followed here
 * @last: the registration that was looked up last; used if its @last.registry_gen is
 *	@gen
 * @found: what was just found in its tables
 * @nofault: it waits for nothing, under one RCU read lock
 * @held: what is known of mappings was found under the RCU read lock that is held now;
 *	meanwhile it waits for nothing
 * @attached: tables are attached to files; they come before all others
 * @by_rules: there may be rules other than the vDSO's
 * @nr_texts: texts that were looked up, including those before the last
 *	%RULE_WALK_TEXTS
 * @texts: if @held, what is mapped, with attached tables or without
 * @text: if @held, the one of these with a table that a frame was in last; or an empty
 *	one
 * @gap: if @held, where nothing registered has a rule, and no attached table
 * @gap_size: its size
 *
 * A walk uses the registry as it was when the walk began.
 */
struct rule_walk {
	u64			gen;
	struct rule_cache	*cache;
	unsigned long		seq;
	u64			region;
	u64			rule;
	int			err;
	unsigned long		vdso;
	unsigned long		vdso_size;
	unsigned long		fp_reach;
	struct codectl_lookup	last;
	struct found_rule	found;
	bool			nofault;
	bool			held;
	bool			attached;
	bool			by_rules;
	unsigned int		nr_texts;
	struct attached_text	texts[RULE_WALK_TEXTS];
	const struct attached_text *text;
	unsigned long		gap;
	unsigned long		gap_size;
};

void rule_cache_get(struct rule_walk *walk);
void rule_cache_put(struct rule_walk *walk);
void rule_cache_peek(struct rule_walk *walk);
u64 rule_cache_look(struct rule_walk *walk, unsigned long ip, bool exact,
		    struct rule_slot *slot);
void rule_cache_keep(struct rule_walk *walk, unsigned long ip, bool exact,
		     u64 rule);

/* The key of a frame; not 0. */
static __always_inline unsigned long rule_cache_key(unsigned long ip,
						    bool exact)
{
	return ip * 4 + exact + 2;
}

/* Its halves give the places where a key may be. */
static __always_inline u64 rule_cache_hash(unsigned long key)
{
	return key * GOLDEN_RATIO_64;
}

static __always_inline struct rule_slot *
rule_cache_set(struct rule_cache *cache, u32 half)
{
	const unsigned int sets = RULE_CACHE_SLOTS - RULE_CACHE_WAYS + 1;

	return &cache->slots[(u64)half * sets >> 32];
}

static __always_inline struct rule_slot *
rule_cache_search(struct rule_slot *set, unsigned long key)
{
	unsigned int way;

	unrolled_count(RULE_CACHE_WAYS)
	for (way = 0; way < RULE_CACHE_WAYS; way++) {
		/* Whether it is that one turns out when @seq is checked. */
		if (data_race(set[way].key == key))
			return &set[way];
	}

	return NULL;
}

static __always_inline struct rule_slot *
rule_cache_slot(struct rule_cache *cache, unsigned long key)
{
	const u64 hash = rule_cache_hash(key);
	struct rule_slot *slot;

	slot = rule_cache_search(rule_cache_set(cache, hash >> 32), key);

	return slot ?: rule_cache_search(rule_cache_set(cache, hash), key);
}

/* The rule for a whole range, if the address is in it and there is one, or NULL. */
static __always_inline struct held_rule *
rule_cache_range(struct rule_cache *cache, unsigned long ip)
{
	struct rule_range *uniform = &cache->uniform;

	/*
	 * Not at its ends: of a frame that is there and one that returns there, only
	 * one is in the range.
	 */
	return unlikely(data_race(uniform->held.rule)) &&
	       ip - READ_ONCE(uniform->start) - 1 < READ_ONCE(uniform->size) - 1 ?
	       &uniform->held : NULL;
}

/* Is it code that has a table without being registered? */
static __always_inline bool rule_walk_in_vdso(const struct rule_walk *walk,
					      unsigned long ip)
{
	return ip - walk->vdso < walk->vdso_size;
}

/**
 * rule_cache_common() - look up what was found before, if it is the usual case
 * @walk: the walk
 * @cache: its cache
 * @ip: address that the frame returns to
 * @slot: where to store the slot for the frame, or NULL
 *
 * Return: the rule if it holds and is %KEPT_COMMON or %KEPT_UNCOVERED; else 0, and
 * rule_cache_look() may know more.
 */
static __always_inline u64 rule_cache_common(const struct rule_walk *walk,
					     struct rule_cache *cache,
					     unsigned long ip,
					     struct rule_slot **slot)
{
	const struct held_rule *held = rule_cache_range(cache, ip);
	bool holds;
	u64 rule;

	if (likely(!held)) {
		*slot = rule_cache_slot(cache, rule_cache_key(ip, false));
		if (unlikely(!*slot))
			return 0;
		held = &(*slot)->held;
	}

	rule = READ_ONCE(held->rule);
	holds = likely(READ_ONCE(held->seen) == (u32)walk->gen) ||
		READ_ONCE(held->region) == walk->region;
	/* After the acquire of the same @seq; pairs with rule_cache_trylock(). */
	smp_rmb();
	if (unlikely(!holds || READ_ONCE(cache->seq) != walk->seq))
		return 0;

	if (likely(kept_is_common(rule)))
		return rule;

	/* The vDSO, which nobody registers, may have been mapped there. */
	return kept_type(rule) == KEPT_UNCOVERED &&
	       !rule_walk_in_vdso(walk, ip) ? rule : 0;
}

#endif /* _UNWIND_RULE_CACHE_H */

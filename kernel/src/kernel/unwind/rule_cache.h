/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _UNWIND_RULE_CACHE_H
#define _UNWIND_RULE_CACHE_H

#include <linux/hash.h>
#include <linux/sizes.h>
#include <linux/types.h>
#include <linux/unwind_user_types.h>

#include "jit.h"
#include "registry.h"
#include "rule.h"

/* Slots that a key may be in, from the one that its hash says. */
#define RULE_CACHE_WAYS		8
#define RULE_CACHE_SLOTS						\
	((SZ_16K - sizeof(struct rule_cache)) / sizeof(struct rule_slot))

/**
 * struct found_rule - a rule and where it comes from
 * @rule: the rule
 * @lasting: whether it holds as long as the registry does not change, and the
 *	row does not retire
 * @uniform: whether it holds for all that it covers, in the same way
 * @place: where the row is, if it is one
 * @counter: address of the counter that the row depends on, or 0
 */
struct found_rule {
	struct unwind_rule	rule;
	bool			lasting;
	bool			uniform;
	struct jit_place	place;
	unsigned long		counter;
};

/**
 * struct rule_slot - what was found for a frame
 * @key: the frame, rule_cache_key()
 * @gen: generation of the registry that it was found in, 0 for none
 * @row: with %UNWIND_RULE_ROW, address of the row that it is from
 * @counter: ditto, of the counter that the row depends on, or 0
 * @seq: ditto, what the counter was
 * @step: the rule
 */
struct rule_slot {
	unsigned long		key;
	u64			gen;
	unsigned long		row;
	unsigned long		counter;
	u32			seq;
	struct unwind_step	step;
};

/**
 * struct rule_range - a rule for all frames with an address in some code
 * @gen: generation of the registry that it was found in, 0 for none
 * @start: first byte of the code
 * @size: bytes of code
 * @step: the rule
 */
struct rule_range {
	u64			gen;
	unsigned long		start;
	unsigned long		size;
	struct unwind_step	step;
};

/**
 * struct rule_cache - what a task has found in its tables
 * @gen: generation of the registry when the walk began
 * @turn: which slot goes where all are taken
 * @last: the registration that was looked up last; used where its
 *	@last.registry_gen is @gen
 * @found: what was found in its tables just now
 * @step: the rule for the frame that the walk is at, or NULL
 * @err: without one, why: what unwind_user_find_rule() returned
 * @uniform: a rule for a whole range
 * @has_uniform: whether there was one yet
 * @slots: the frames
 *
 * Only the task itself uses it, and its walks do not nest: no lock.
 *
 * What was found in a registry of one generation holds wherever there is a
 * registry of that generation, be it that of another address space: there is
 * only one, and tables do not change while they are registered, but for
 * compiled code.  A walk goes by the registry as it was when it began.
 */
struct rule_cache {
	u64			gen;
	unsigned int		turn;
	struct codectl_lookup	last;
	struct found_rule	found;
	const struct unwind_step *step;
	int			err;
	struct rule_range	uniform;
	bool			has_uniform;
	struct rule_slot	slots[];
};

struct rule_cache *rule_cache_get(void);

/**
 * rule_cache_key() - what a frame is found by
 * @ip: its address
 * @exact: whether the frame is there, or only returns to it
 *
 * Return: the key.
 */
static __always_inline unsigned long rule_cache_key(unsigned long ip,
						    bool exact)
{
	return ip << 1 | exact;
}

static inline struct rule_slot *rule_cache_set(struct rule_cache *cache,
					       unsigned long key)
{
	const unsigned int sets = RULE_CACHE_SLOTS - RULE_CACHE_WAYS + 1;

	static_assert(RULE_CACHE_SLOTS - RULE_CACHE_WAYS + 1 <= 256);
	return &cache->slots[(key * GOLDEN_RATIO_64 >> 56) * sets >> 8];
}

/**
 * rule_cache_uniform() - find a rule that holds for a whole range
 * @cache: the cache
 * @ip: address of the frame
 *
 * Return: the rule, or NULL.
 */
static __always_inline const struct unwind_step *
rule_cache_uniform(const struct rule_cache *cache, unsigned long ip)
{
	const struct rule_range *uniform = &cache->uniform;

	/* Without its ends: there the one address is in it, the other is not. */
	if (cache->has_uniform &&
	    ip - uniform->start - 1 < uniform->size - 1 &&
	    uniform->gen == cache->gen)
		return &uniform->step;

	return NULL;
}

/**
 * rule_cache_find() - find what was found before
 * @cache: the cache
 * @key: the frame
 *
 * Return: the slot; if it is not that of the frame, where to put it.
 */
static __always_inline struct rule_slot *
rule_cache_find(struct rule_cache *cache, unsigned long key)
{
	struct rule_slot *set = rule_cache_set(cache, key);
	unsigned int way;

	for (way = 0; way < RULE_CACHE_WAYS; way++) {
		/* Nor is it in a later one, as this one would have been taken. */
		if (set[way].key == key || set[way].gen != cache->gen)
			return &set[way];
	}

	return &set[cache->turn++ % RULE_CACHE_WAYS];
}

/* Is it that of the frame? */
static __always_inline bool rule_slot_has(const struct rule_slot *slot,
					  const struct rule_cache *cache,
					  unsigned long key)
{
	return slot->key == key && slot->gen == cache->gen;
}

#endif /* _UNWIND_RULE_CACHE_H */

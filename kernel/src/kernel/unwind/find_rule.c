// SPDX-License-Identifier: GPL-2.0
/*
 * Finding the rule for a frame in the tables of registered code
 */
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/unwind_user.h>

#include "find_rule.h"
#include "registry.h"
#include "rule.h"
#include "rule_cache.h"

/*
 * The rule for an address in a section.  With a header that CODE_REGISTER_ELF
 * would have refused, execve() has registered nothing: -ENOENT.
 */
static int codectl_sframe_rule(struct sframe_section *sec, unsigned long ip,
			       struct unwind_rule *rule, unsigned int *budget)
{
	int ret;

	if (!sec->fdes) {
		if (sec->start == sec->end)
			return -ENOENT;
		ret = sframe_read_header(sec);
		if (ret)
			return ret == -EFAULT ? ret : -ENOENT;
	}

	return sframe_find_within(sec, ip, rule, budget);
}

/* Where the frame pointer of the caller is. */
static struct unwind_loc codectl_jit_fp(const struct code_jit_unwind_fre *fre)
{
	if (fre->info & CODE_FRE_FP_SAVED)
		return (struct unwind_loc) { UNWIND_LOC_MEM, UNWIND_BASE_CFA,
					     fre->fp_off };
	if (fre->info & CODE_FRE_FP_UNDEF)
		return (struct unwind_loc) { UNWIND_LOC_LOST };

	return (struct unwind_loc) { UNWIND_LOC_SAME };
}

/*
 * What a row says.  -EOPNOTSUPP where it says that there is no rule: such code
 * has no frame pointer to fall back to.
 */
static __always_inline int
codectl_row_rule(const struct codectl_lookup *lookup,
		 const struct code_jit_unwind_fre *fre,
		 struct unwind_rule *rule)
{
	u8 base = fre->info & CODE_FRE_BASE_SP ? UNWIND_USER_REG_SP :
						 UNWIND_USER_REG_FP;

	/* No architecture here leaves the return address in a register. */
	if (fre->info & (CODE_FRE_UNKNOWN | CODE_FRE_RA_REG))
		return -EOPNOTSUPP;

	*rule = (struct unwind_rule) {
		.cfa = { UNWIND_LOC_VAL, base, fre->cfa_off },
		.ra = { UNWIND_LOC_MEM, UNWIND_BASE_CFA, fre->ra_off },
		.fp = codectl_jit_fp(fre),
		.flags = unwind_rule_flags(fre->ra_off, fre->fp_off),
		.start = lookup->text_start + fre->ip_off,
		.size = fre->size,
	};
	/* What no row covers the default rule does. */
	if (lookup->tables.jit.flags & CODE_JIT_DEFAULT_RULE) {
		rule->start = lookup->text_start;
		rule->size = U32_MAX;
	}
	if (fre->info & CODE_FRE_OUTERMOST)
		rule->flags = UNWIND_RULE_OUTERMOST;
	else if (fre->info & CODE_FRE_SIGNAL)
		rule->flags = UNWIND_RULE_EXACT;

	return 0;
}

/* The rule for an address in compiled code; -ENODATA where there is none. */
static __always_inline int
codectl_jit_rule(const struct codectl_lookup *lookup, unsigned long ip,
		 struct found_rule *found, unsigned int *budget)
{
	const struct jit_unwind *jit = &lookup->tables.jit;
	struct code_jit_unwind_fre fre;
	int ret;

	ret = jit_find_place(jit, ip - lookup->text_start, &fre,
			     &found->place, budget);
	if (ret)
		return ret;
	found->counter = jit->seq;
	if (!found->place.row) {
		/* The default rule does not hold for what gets a row later. */
		found->uniform = !jit->head;
		found->lasting &= found->uniform;
	}

	return codectl_row_rule(lookup, &fre, &found->rule);
}

static __always_inline int codectl_lookup_rule(struct codectl_lookup *lookup,
					       unsigned long ip,
					       struct found_rule *found,
					       unsigned int *budget)
{
	found->uniform = false;
	if (lookup->tables.is_jit)
		return codectl_jit_rule(lookup, ip, found, budget);

	found->place.row = 0;
	return codectl_sframe_rule(&lookup->tables.sframe, ip, &found->rule,
				   budget);
}

static noinline int codectl_vdso_rule(unsigned long ip,
				      struct found_rule *found,
				      unsigned int *budget)
{
	struct sframe_section vdso = {};

	if (!arch_unwind_user_vdso(ip, &vdso.start, &vdso.end))
		return -ENOENT;

	found->lasting = false;
	return codectl_sframe_rule(&vdso, ip, &found->rule, budget);
}

/*
 * The rule for an address.  -ENOENT: no table covers it; -ENODATA: nor can there
 * be a frame pointer.  @last is the registration that was looked up last, by a walk
 * that began at generation @gen, and the one that is looked up now.  The rule is
 * dropped if its registration went while it was read, as the memory may have
 * become something else in between.
 */
static __always_inline int codectl_find_rule(struct codectl_lookup *last,
					     u64 gen, unsigned long ip,
					     struct found_rule *found,
					     unsigned int *budget)
{
	int ret;

	if ((last->registry_gen != gen ||
	     ip - last->text_start >= last->text_end - last->text_start) &&
	    !codectl_find(current->mm, ip, last))
		return codectl_vdso_rule(ip, found, budget);

	/* What was found at another generation is not of this walk. */
	found->lasting = last->registry_gen == gen;
	ret = codectl_lookup_rule(last, ip, found, budget);

	return codectl_valid(current->mm, last) ? ret : -ESTALE;
}

/*
 * A signal handler returns to code that calls sigreturn(), which nobody called: the
 * row before its address, be it of another function, is not the one to go by.
 * Returns 1 if @found is such a frame's now.
 */
static noinline int codectl_find_sigreturn(struct unwind_user_state *state,
					   struct codectl_lookup *last, u64 gen,
					   struct found_rule *found)
{
	struct found_rule exact;
	int ret;

	ret = codectl_find_rule(last, gen, state->ip, &exact, &state->budget);
	if (ret || !(exact.rule.flags & UNWIND_RULE_SIGNAL)) {
		found->lasting &= !last->tables.is_jit;
		return ret;
	}
	*found = exact;

	return 1;
}

/*
 * A return address may lie behind the last byte of the calling function, so the
 * byte before it is what is looked up.
 */
static __always_inline int
codectl_find_frame(struct unwind_user_state *state,
		   struct codectl_lookup *last, u64 gen,
		   struct found_rule *found)
{
	struct unwind_rule *rule = &found->rule;
	int ret, ret_exact;

	ret = codectl_find_rule(last, gen, state->ip - !state->exact, found,
				&state->budget);
	ret_exact = ret;
	/* Behind the text no table says anything. */
	if (!state->exact && (ret || state->ip - rule->start >= rule->size ||
			      state->ip == last->text_end ||
			      (rule->flags & UNWIND_RULE_SIGNAL))) {
		ret_exact = codectl_find_sigreturn(state, last, gen, found);
		/* @last may be another registration than that of the rule. */
		found->uniform = false;
		if (ret_exact > 0)
			return 0;
		/* What was not found may be there the next time. */
		if (ret_exact)
			found->lasting = false;
	}

	if ((ret_exact == -ENOENT || ret_exact == -ENODATA) &&
	    arch_unwind_user_at_sigreturn(state)) {
		rule->flags = UNWIND_RULE_SIGNAL;
		found->lasting = false;
		return 0;
	}

	return ret;
}

static void codectl_keep_rule(struct rule_cache *cache, unsigned long key,
			      struct rule_slot *slot)
{
	const struct found_rule *found = &cache->found;

	if (found->uniform) {
		cache->uniform = (struct rule_range) {
			.gen = cache->gen,
			.start = cache->last.text_start,
			.size = cache->last.text_end - cache->last.text_start,
			.step = found->rule.step,
		};
		cache->has_uniform = true;
	}

	slot->key = key;
	slot->gen = cache->gen;
	slot->step = found->rule.step;
	if (found->place.row) {
		slot->row = found->place.row;
		slot->counter = found->counter;
		slot->seq = found->place.seq;
		slot->step.flags |= UNWIND_RULE_ROW;
	}
}

/**
 * unwind_user_find_rule() - find the rule for a frame, and keep it
 * @state: the frame, of a walk with a cache that does not have it, of which only
 *	@state->ip and @state->exact count; the rule is stored in
 *	@state->rules->found, and what it takes is taken off @state->budget
 * @key: rule_cache_key() of it
 * @slot: where to keep it
 *
 * Context: may fault, unless page faults are disabled.
 * Return: 0, -ENOENT if no table covers the frame, -ENODATA if one does that has
 * no rule for it, another negative error if it cannot be read.
 */
int unwind_user_find_rule(struct unwind_user_state *state,
			  unsigned long key, struct rule_slot *slot)
{
	struct rule_cache *cache = state->rules;
	int ret;

	ret = codectl_find_frame(state, &cache->last, cache->gen,
				 &cache->found);
	if (!ret && cache->found.lasting)
		codectl_keep_rule(cache, key, slot);

	return ret;
}

/**
 * unwind_user_find_uncached() - find the rule for a frame
 * @state: the frame, of a walk without a cache; what is looked at is taken off
 *	@state->budget
 * @found: where the rule is stored
 *
 * Context: may fault, unless page faults are disabled.
 * Return: as unwind_user_find_rule().
 */
int unwind_user_find_uncached(struct unwind_user_state *state,
			      struct found_rule *found)
{
	struct codectl_lookup last = {};

	return codectl_find_frame(state, &last, 0, found);
}

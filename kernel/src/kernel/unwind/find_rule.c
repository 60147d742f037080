// SPDX-License-Identifier: GPL-2.0
/*
 * Find the rule for a frame in the tables of registered code
 */
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/unwind_user.h>

#include "find_rule.h"
#include "registry.h"
#include "rule.h"
#include "rule_cache.h"

/*
 * The rule for an address in a section.  A header that CODE_REGISTER_ELF would have
 * refused counts as nothing registered by execve(): -ENOENT.
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

/* Where the frame pointer of the caller is; offsets count from @base. */
static struct unwind_loc codectl_jit_fp(const struct code_jit_unwind_fre *fre,
					u8 base)
{
	if (fre->info & CODE_FRE_FP_SAVED)
		return (struct unwind_loc) { UNWIND_LOC_MEM, base, fre->fp_off };
	if (fre->info & CODE_FRE_FP_UNDEF)
		return (struct unwind_loc) { UNWIND_LOC_LOST };

	return (struct unwind_loc) { UNWIND_LOC_SAME };
}

/*
 * What a row says.  -EOPNOTSUPP if it says that there is no rule: such code has no
 * frame pointer to fall back to.
 */
static __always_inline int
codectl_row_step(const struct code_jit_unwind_fre *fre, struct unwind_step *step)
{
	const bool sp_saved = fre->info & CODE_FRE_SP_SAVED;
	u8 reg = fre->info & CODE_FRE_BASE_SP ? UNWIND_USER_REG_SP :
						UNWIND_USER_REG_FP;
	u8 base = sp_saved ? reg : UNWIND_BASE_CFA;

	/* No architecture supported here leaves the return address in a register. */
	if (fre->info & (CODE_FRE_UNKNOWN | CODE_FRE_RA_REG))
		return -EOPNOTSUPP;

	*step = (struct unwind_step) {
		.cfa = { sp_saved ? UNWIND_LOC_MEM : UNWIND_LOC_VAL, reg,
			 fre->cfa_off },
		.ra = { UNWIND_LOC_MEM, base, fre->ra_off },
		.fp = codectl_jit_fp(fre, base),
		.flags = sp_saved ? 0 : unwind_rule_flags(fre->ra_off, fre->fp_off),
	};
	if (fre->info & CODE_FRE_OUTERMOST)
		step->flags = UNWIND_RULE_OUTERMOST;
	else if (fre->info & CODE_FRE_SIGNAL)
		step->flags = UNWIND_RULE_EXACT;

	return 0;
}

static noinline u64 codectl_row_kept_any(const struct code_jit_unwind_fre *fre)
{
	struct unwind_step step;

	return codectl_row_step(fre, &step) ? KEPT_TYPE(KEPT_ASIDE) :
					      kept_rule(&step);
}

/**
 * codectl_row_kept() - get the rule of a row that was found before
 * @fre: the row
 *
 * Return: the rule, or 0 if it does not fit into a word.
 */
u64 codectl_row_kept(const struct code_jit_unwind_fre *fre)
{
	const bool saved = fre->info & CODE_FRE_FP_SAVED;
	u64 rule, flags = saved ? KEPT_FP_SAVED : 0;

	if (!(fre->info & CODE_FRE_BASE_SP))
		flags |= KEPT_BASE_FP;

	if (!(fre->info & ~(CODE_FRE_BASE_SP | CODE_FRE_FP_SAVED)) &&
	    unwind_rule_flags(fre->ra_off, fre->fp_off) == UNWIND_RULE_COMMON) {
		rule = kept_pack(flags, fre->cfa_off, fre->ra_off,
				 saved ? fre->fp_off : 0);
		if (likely(kept_is_common(rule)))
			return rule;
	}
	rule = codectl_row_kept_any(fre);

	return kept_type(rule) == KEPT_ASIDE ? 0 : rule;
}

static __always_inline int
codectl_row_rule(const struct codectl_lookup *lookup,
		 const struct code_jit_unwind_fre *fre,
		 struct unwind_rule *rule)
{
	rule->start = lookup->text_start + fre->ip_off;
	rule->size = fre->size;
	/* The default rule covers what no row does. */
	if (lookup->tables.jit.flags & CODE_JIT_DEFAULT_RULE) {
		rule->start = lookup->text_start;
		rule->size = U32_MAX;
	}

	return codectl_row_step(fre, &rule->step);
}

/* The rule for an address in compiled code; -ENODATA if there is none. */
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
	if (!found->place.row) {
		/* The default rule does not hold for code that gets a row later. */
		found->uniform = !jit->head && !jit->nr_slots;
		found->lasting &= found->uniform;
	}

	return codectl_row_rule(lookup, &fre, &found->rule);
}

static __always_inline int codectl_lookup_rule(struct codectl_lookup *lookup,
					       unsigned long ip,
					       struct found_rule *found,
					       unsigned int *budget)
{
	if (lookup->tables.is_jit)
		return codectl_jit_rule(lookup, ip, found, budget);

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
 * The rule for an address.  -ENOENT: no table covers it; -ENODATA: there cannot be a
 * frame pointer, either.  @last is the last registration that a walk which began at
 * generation @gen has looked up, and becomes the one looked up now.  The rule is
 * dropped if its registration went while it was read, as the memory may have been
 * reused in between.
 */
static __always_inline int codectl_find_rule(struct codectl_lookup *last,
					     u64 gen, unsigned long ip,
					     struct found_rule *found,
					     unsigned int *budget)
{
	int ret;

	found->lasting = true;
	found->own = false;
	found->uniform = false;
	found->place.row = 0;
	if ((last->registry_gen != gen ||
	     ip - last->text_start >= last->text_end - last->text_start) &&
	    !codectl_find(current->mm, ip, last))
		return codectl_vdso_rule(ip, found, budget);

	/* What was found at another generation does not belong to this walk. */
	found->lasting = last->registry_gen == gen;
	found->own = true;
	ret = codectl_lookup_rule(last, ip, found, budget);

	return codectl_valid(current->mm, last) ? ret : -ESTALE;
}

/*
 * A signal handler returns to code that calls sigreturn() and that nobody called: the
 * row before its address, which may be another function's, does not apply.  Returns 1
 * if @found is now the rule of such a frame.
 */
static noinline int codectl_find_sigreturn(struct unwind_user_state *state,
					   struct codectl_lookup *last, u64 gen,
					   struct found_rule *found)
{
	struct found_rule exact;
	int ret;

	ret = codectl_find_rule(last, gen, state->ip, &exact, &state->budget);
	if (ret || !(exact.rule.flags & UNWIND_RULE_SIGNAL)) {
		if (!ret && last->tables.is_jit)
			found->lasting = false;
		return ret;
	}
	*found = exact;

	return 1;
}

/*
 * A return address may be one past the last byte of the calling function, so look up
 * the byte before it.
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
	/* After the end of the text no table says anything. */
	if (!state->exact && (ret || state->ip - rule->start >= rule->size ||
			      state->ip == last->text_end ||
			      (rule->flags & UNWIND_RULE_SIGNAL))) {
		ret_exact = codectl_find_sigreturn(state, last, gen, found);
		/* @last may be another registration than that of the rule. */
		found->uniform = false;
		found->own = false;
		if (ret_exact > 0)
			return 0;
		/* What was not found may be there next time. */
		if (ret_exact != ret)
			found->lasting = false;
	}

	/* Where no table covers either address, the walk itself looks. */
	if ((ret_exact == -ENODATA || (ret_exact == -ENOENT && ret != -ENOENT)) &&
	    arch_unwind_user_at_sigreturn(state)) {
		rule->flags = UNWIND_RULE_SIGNAL;
		found->lasting = false;
		return 0;
	}

	return ret;
}

/**
 * unwind_user_find_rule() - find the rule for a frame, and keep it
 * @state: the frame; only @state->ip and @state->exact count; what is looked at is
 *	taken off @state->budget
 *
 * Context: may fault, unless page faults are disabled.
 * Return: the rule, as enum kept_type says; %KEPT_ASIDE is in @state->walk->found, and
 * with %KEPT_NOTHING @state->walk->err says why: -ENOENT if no table covers the frame,
 * -ENODATA if one covers it but has no rule for it, another negative error if it cannot
 * be read.
 */
u64 unwind_user_find_rule(struct unwind_user_state *state)
{
	struct rule_walk *walk = state->walk;
	struct found_rule *found = &walk->found;
	u64 rule;
	int ret;

	ret = codectl_find_frame(state, &walk->last, walk->gen, found);
	walk->err = ret;
	if (!ret)
		rule = kept_rule(&found->rule.step);
	else if (ret == -ENOENT && found->lasting)
		rule = KEPT_TYPE(KEPT_UNCOVERED);
	else
		return KEPT_TYPE(KEPT_NOTHING);

	if (walk->cache && found->lasting)
		rule_cache_keep(walk, state->ip, state->exact, rule);

	return rule;
}

/**
 * unwind_user_find_gap() - find how far around an address nothing has a rule
 * @walk: the walk, which has just found out that @addr is in a gap
 * @addr: the address
 * @start: raised to where the gap starts, if that is higher
 * @end: lowered to where the gap ends, if that is lower
 *
 * Neither attached tables nor the vDSO count.
 *
 * Context: may fault, unless page faults are disabled.
 * Return: whether that is known.
 */
bool unwind_user_find_gap(const struct rule_walk *walk, unsigned long addr,
			  unsigned long *start, unsigned long *end)
{
	const struct codectl_lookup *last = &walk->last;
	struct sframe_section sec;

	if (!walk->gen ||
	    codectl_find_gap(current->mm, walk->gen, addr, start, end))
		return true;
	if (last->registry_gen != walk->gen || last->tables.is_jit ||
	    addr - last->text_start >= last->text_end - last->text_start)
		return false;

	*start = max(*start, last->text_start);
	*end = min(*end, last->text_end);
	sec = last->tables.sframe;
	if (sec.start != sec.end &&
	    ((!sec.fdes && sframe_read_header(&sec)) ||
	     sframe_find_gap(&sec, addr, start, end)))
		return false;

	return codectl_valid(current->mm, last);
}

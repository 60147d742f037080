// SPDX-License-Identifier: GPL-2.0
/*
 * Unwinding user space by the tables of registered code
 *
 * A frame that a table covers is unwound by its rule or not at all: what a rule
 * cannot do ends the stack there, as a frame pointer would only be guessed.
 * Frame pointers are for code that nobody registered, or that its table does not
 * mention.
 */
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/uaccess.h>
#include <linux/unwind_user.h>

#include "find_rule.h"
#include "rule.h"
#include "rule_cache.h"
#include "table.h"

/* Stacks shrink towards the caller. */
static __always_inline bool
unwind_user_cfa_valid(const struct unwind_user_state *state, unsigned long cfa)
{
	if (cfa % sizeof(long))
		return false;
	/*
	 * Only the innermost frame, or the one that a signal interrupted, may
	 * have nothing on the stack.
	 */
	return cfa > state->sp ||
	       (cfa == state->sp && (state->topmost || state->sigframe));
}

static __always_inline int
unwind_user_set_caller(struct unwind_user_state *state, unsigned long cfa,
		       unsigned long ra, unsigned long fp, bool exact)
{
	/* Not 0 either. */
	if (ra - 1 >= TASK_SIZE_MAX - 1)
		return -EINVAL;

	state->ip = ra;
	state->sp = cfa;
	state->fp = fp;
	state->sigframe = 0;
	state->topmost = false;
	state->exact = exact;

	return 0;
}

static int unwind_user_loc(const struct unwind_user_state *state,
			   const struct unwind_loc *loc, unsigned long cfa,
			   unsigned long *val)
{
	unsigned long base = cfa;
	int ret;

	if (loc->base != UNWIND_BASE_CFA) {
		ret = arch_unwind_user_reg(state, loc->base, &base);
		if (ret)
			return ret;
	}

	base += loc->off;
	if (loc->kind == UNWIND_LOC_MEM)
		return get_user(*val, (unsigned long __user *)base);

	*val = base;
	return 0;
}

/* To the caller by a rule of any kind. */
static int unwind_user_step_any(struct unwind_user_state *state,
				const struct unwind_step *step)
{
	unsigned long cfa, ra, fp = state->fp;
	bool fp_lost = state->fp_lost;
	int ret;

	ret = unwind_user_loc(state, &step->cfa, 0, &cfa);
	if (ret)
		return ret;
	if (!unwind_user_cfa_valid(state, cfa))
		return -EINVAL;

	ret = unwind_user_loc(state, &step->ra, cfa, &ra);
	if (ret)
		return ret;

	switch (step->fp.kind) {
	case UNWIND_LOC_SAME:
		break;
	case UNWIND_LOC_LOST:
		fp_lost = true;
		break;
	default:
		ret = unwind_user_loc(state, &step->fp, cfa, &fp);
		if (ret)
			return ret;
		fp_lost = false;
	}

	ret = unwind_user_set_caller(state, cfa, ra, fp,
				     step->flags & UNWIND_RULE_EXACT);
	if (!ret)
		state->fp_lost = fp_lost;

	return ret;
}

static noinline int unwind_user_fail(struct unwind_user_state *state, int err)
{
	state->stop = err == -EFAULT ? UNWIND_USER_STOP_FAULT :
				       UNWIND_USER_STOP_BAD_FRAME;

	return err;
}

static noinline int unwind_user_step_slow(struct unwind_user_state *state,
					  const struct unwind_step *step)
{
	int ret;

	if (step->flags & UNWIND_RULE_OUTERMOST) {
		state->stop = UNWIND_USER_STOP_COMPLETE;
		return 1;
	}

	ret = step->flags & UNWIND_RULE_SIGNAL ?
	      arch_unwind_user_sigframe(state) :
	      unwind_user_step_any(state, step);

	return ret ? unwind_user_fail(state, ret) : 0;
}

/*
 * To the caller.  What a rule with %UNWIND_RULE_COMMON needs is read by one user
 * access window, from as far below the CFA as an offset goes to the word at it.
 */
static __always_inline int unwind_user_step(struct unwind_user_state *state,
					    const struct unwind_step *step)
{
	const unsigned long reach = -(long)S32_MIN;
	unsigned long cfa = state->sp, ra, fp = state->fp;
	bool fp_lost = state->fp_lost;

	if (unlikely(!(step->flags & UNWIND_RULE_COMMON)))
		return unwind_user_step_slow(state, step);

	if (step->cfa.base != UNWIND_USER_REG_SP) {
		if (unlikely(fp_lost))
			return unwind_user_fail(state, -EINVAL);
		cfa = fp;
	}
	cfa += step->cfa.off;
	if (unlikely(!unwind_user_cfa_valid(state, cfa)))
		return unwind_user_fail(state, -EINVAL);
	if (unlikely(!user_read_access_begin((void __user *)(cfa - reach),
					     reach + sizeof(ra))))
		return unwind_user_step_slow(state, step);

	unsafe_get_user(ra, (unsigned long __user *)(cfa + step->ra.off),
			fault);
	if (step->fp.kind == UNWIND_LOC_MEM) {
		unsafe_get_user(fp,
				(unsigned long __user *)(cfa + step->fp.off),
				fault);
		fp_lost = false;
	} else if (step->fp.kind == UNWIND_LOC_LOST) {
		fp_lost = true;
	}
	user_read_access_end();

	if (unlikely(unwind_user_set_caller(state, cfa, ra, fp, false)))
		return unwind_user_fail(state, -EINVAL);
	state->fp_lost = fp_lost;

	return 0;

fault:
	user_read_access_end();
	return unwind_user_fail(state, -EFAULT);
}

/* What a table that was searched in vain says of the walk. */
static enum unwind_user_stop codectl_rule_stop(int err)
{
	switch (err) {
	case -ENODATA:
	case -EOPNOTSUPP:
		return UNWIND_USER_STOP_NO_RULE;
	case -EFAULT:
		return UNWIND_USER_STOP_FAULT;
	case -EAGAIN:
	case -ESTALE:
		return UNWIND_USER_STOP_CHANGED;
	case -EINTR:
		return UNWIND_USER_STOP_KILLED;
	default:
		return UNWIND_USER_STOP_BAD_TABLE;
	}
}

/* What a search has led to, and if that is a rule, to the caller by it. */
static __always_inline int unwind_user_use(struct unwind_user_state *state,
					   const struct found_rule *found,
					   int ret)
{
	if (likely(!ret))
		return unwind_user_step(state, &found->rule.step);

	if (ret != -ENOENT)
		state->stop = codectl_rule_stop(ret);
	return ret;
}

static noinline int unwind_user_search(struct unwind_user_state *state,
				       struct rule_slot *slot)
{
	int ret;

	ret = unwind_user_find_rule(state, slot);
	return unwind_user_use(state, &state->rules->found, ret);
}

static noinline int unwind_user_next_row(struct unwind_user_state *state,
					 struct rule_slot *slot)
{
	if (jit_row_remains(slot->row, slot->counter, slot->seq))
		return unwind_user_step(state, &slot->step);

	return unwind_user_search(state, slot);
}

static noinline int unwind_user_next_uncached(struct unwind_user_state *state)
{
	struct found_rule found;
	int ret;

	ret = unwind_user_find_uncached(state, &found);
	return unwind_user_use(state, &found, ret);
}

/* Only the vDSO has a table. */
static noinline int
unwind_user_next_unregistered(struct unwind_user_state *state)
{
	static const struct unwind_step sigreturn = {
		.flags = UNWIND_RULE_SIGNAL,
	};
	unsigned long start, end;

	if (arch_unwind_user_vdso(state->ip - !state->exact, &start, &end))
		return unwind_user_next_uncached(state);
	if (arch_unwind_user_at_sigreturn(state))
		return unwind_user_step(state, &sigreturn);

	return -ENOENT;
}

/**
 * unwind_user_start_table() - prepare a walk by tables
 * @state: the walk
 *
 * Context: process; may sleep.
 * Return: whether the current task can have tables.
 */
bool unwind_user_start_table(struct unwind_user_state *state)
{
	if (!codectl_enabled() || !arch_unwind_user_has_tables())
		return false;

	state->rules = rule_cache_get();
	return true;
}

/**
 * unwind_user_next_table() - go to the caller by a table
 * @state: the walk; unchanged unless 0 is returned, but for @state->stop
 *
 * Context: may fault, unless page faults are disabled.
 * Return: 0, 1 if the frame is the outermost one, -ENOENT if no table covers
 * the frame, another negative error if a table does but the caller cannot be
 * found.
 */
int unwind_user_next_table(struct unwind_user_state *state)
{
	struct rule_cache *cache = state->rules;
	const struct unwind_step *step;
	struct rule_slot *slot;

	if (unlikely(!cache))
		return rcu_access_pointer(current->mm->codectl) ?
		       unwind_user_next_uncached(state) :
		       unwind_user_next_unregistered(state);

	step = rule_cache_uniform(cache, state);
	if (!step) {
		slot = rule_cache_find(cache, state);
		if (unlikely(!rule_slot_has(slot, cache, state)))
			return unwind_user_search(state, slot);
		if (slot->step.flags & UNWIND_RULE_ROW)
			return unwind_user_next_row(state, slot);
		step = &slot->step;
	}

	return unwind_user_step(state, step);
}

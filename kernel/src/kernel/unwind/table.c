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
#include <linux/sched/signal.h>
#include <linux/sizes.h>
#include <linux/uaccess.h>
#include <linux/unwind_user.h>

#include "find_rule.h"
#include "rule.h"
#include "rule_cache.h"
#include "table.h"
#include "user_load.h"

/*
 * How many FREs, tables and rows of compiled code one walk may look at, so that no
 * table makes it long: many a function has a few hundred FREs.
 */
#define WALK_BUDGET	SZ_64K

/**
 * struct table_frame - what simple rules change of a frame, for registers
 * @ip: as in &struct unwind_user_state
 * @sp: ditto
 * @fp: ditto
 * @exact: ditto
 * @fp_lost: ditto
 */
struct table_frame {
	unsigned long	ip;
	unsigned long	sp;
	unsigned long	fp;
	bool		exact;
	bool		fp_lost;
};

/*
 * Stacks shrink towards the caller, but a signal may have been handled on another
 * one.
 */
static bool unwind_user_cfa_valid(const struct unwind_user_state *state,
				  const struct unwind_step *step,
				  unsigned long cfa)
{
	if (cfa % sizeof(long))
		return false;
	/*
	 * Only the innermost frame, or the one that a signal interrupted, may
	 * have nothing on the stack.
	 */
	return (step->flags & UNWIND_RULE_SIGNAL) || cfa > state->sp ||
	       (cfa == state->sp && state->exact);
}

/* Not 0 either. */
static __always_inline bool unwind_user_ra_valid(unsigned long ra)
{
	return ra - 1 < TASK_SIZE_MAX - 1;
}

static void unwind_user_set_frame(struct unwind_user_state *state,
				  const struct table_frame *frame)
{
	state->ip = frame->ip;
	state->sp = frame->sp;
	state->fp = frame->fp;
	state->fp_lost = frame->fp_lost;
	state->sigframe = 0;
	state->topmost = false;
	state->exact = frame->exact;
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
	struct table_frame caller = {
		.fp = state->fp,
		.exact = step->flags & UNWIND_RULE_EXACT,
		.fp_lost = state->fp_lost,
	};
	int ret;

	ret = unwind_user_loc(state, &step->cfa, 0, &caller.sp);
	if (ret)
		return ret;
	if (!unwind_user_cfa_valid(state, step, caller.sp))
		return -EINVAL;

	ret = unwind_user_loc(state, &step->ra, caller.sp, &caller.ip);
	if (ret)
		return ret;

	switch (step->fp.kind) {
	case UNWIND_LOC_SAME:
		break;
	case UNWIND_LOC_LOST:
		caller.fp_lost = true;
		break;
	default:
		ret = unwind_user_loc(state, &step->fp, caller.sp, &caller.fp);
		if (ret)
			return ret;
		caller.fp_lost = false;
	}
	if (!unwind_user_ra_valid(caller.ip))
		return -EINVAL;

	unwind_user_set_frame(state, &caller);
	return 0;
}

/* To the caller, or nowhere and why. */
static int unwind_user_step(struct unwind_user_state *state,
			    const struct unwind_step *step)
{
	int ret;

	if (step->flags & UNWIND_RULE_OUTERMOST) {
		state->stop = UNWIND_USER_STOP_COMPLETE;
		return 1;
	}

	ret = unwind_rule_is_sigframe(step->flags) ?
	      arch_unwind_user_sigframe(state) :
	      unwind_user_step_any(state, step);
	if (ret)
		state->stop = ret == -EFAULT ? UNWIND_USER_STOP_FAULT :
					       UNWIND_USER_STOP_BAD_FRAME;

	return ret;
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
	case -E2BIG:
		return UNWIND_USER_STOP_BUDGET;
	default:
		return UNWIND_USER_STOP_BAD_TABLE;
	}
}

/* What a search has led to, and if that is a rule, to the caller by it. */
static int unwind_user_use(struct unwind_user_state *state,
			   const struct unwind_step *step, int err)
{
	if (!err)
		return unwind_user_step(state, step);

	if (err != -ENOENT)
		state->stop = codectl_rule_stop(err);
	return err;
}

static noinline int unwind_user_next_uncached(struct unwind_user_state *state)
{
	struct found_rule found;
	int ret;

	ret = unwind_user_find_uncached(state, &found);
	return unwind_user_use(state, &found.rule.step, ret);
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
	state->budget = WALK_BUDGET;
	return true;
}

/*
 * The rule for a frame, for the next walk too.  Returns false if there is none, with
 * @state->rules->err why.
 */
static __always_inline bool
unwind_user_get_step(struct unwind_user_state *state, unsigned long ip,
		     bool exact, const struct unwind_step **step)
{
	struct rule_cache *cache = state->rules;
	unsigned long key = rule_cache_key(ip, exact);
	struct rule_slot *slot;

	*step = rule_cache_uniform(cache, ip);
	if (*step)
		return true;

	slot = rule_cache_find(cache, key);
	if (likely(rule_slot_has(slot, cache, key)) &&
	    (!(slot->step.flags & UNWIND_RULE_ROW) ||
	     jit_row_remains(slot->row, slot->counter, slot->seq))) {
		*step = &slot->step;
		return true;
	}

	state->ip = ip;
	state->exact = exact;
	cache->err = unwind_user_find_rule(state, key, slot);
	*step = cache->err ? NULL : &cache->found.rule.step;

	return !cache->err;
}

/*
 * To the caller, if the rule is one with %UNWIND_RULE_COMMON and all is as usual.
 * What the rule needs is read by one user access window, from as far below the CFA
 * as an offset goes to the word at it.
 */
static __always_inline bool
unwind_user_step_common(struct table_frame *frame,
			const struct unwind_step *step)
{
	const unsigned long reach = -(long)S32_MIN;
	unsigned long cfa = frame->sp, ra, fp = frame->fp;
	int err = 0;

	if (!(step->flags & UNWIND_RULE_COMMON))
		return false;
	if (step->cfa.base != UNWIND_USER_REG_SP) {
		if (frame->fp_lost)
			return false;
		cfa = fp;
	}
	cfa += step->cfa.off;
	if (cfa % sizeof(long) || cfa <= frame->sp)
		return false;

	if (!user_read_access_begin((void __user *)(cfa - reach),
				    reach + sizeof(ra)))
		return false;
	ra = unwind_user_load_u64(cfa + step->ra.off, &err);
	if (step->fp.kind == UNWIND_LOC_MEM)
		fp = unwind_user_load_u64(cfa + step->fp.off, &err);
	user_read_access_end();
	if (err || !unwind_user_ra_valid(ra))
		return false;

	if (step->fp.kind != UNWIND_LOC_SAME)
		frame->fp_lost = step->fp.kind == UNWIND_LOC_LOST;
	frame->ip = ra;
	frame->sp = cfa;
	frame->fp = fp;
	frame->exact = false;

	return true;
}

/**
 * unwind_user_walk_table() - go to the callers as far as rules are simple
 * @state: the walk, of a task with @state->rules; where it has got to
 * @entries: where the addresses of the frames are stored
 * @nr: how many are there, of which that of @state is the last
 * @max: room in @entries
 *
 * What is not as usual is left to unwind_user_next_table(), which says what was
 * wrong, if anything.
 *
 * Context: may fault, unless page faults are disabled.
 * Return: how many addresses there are now.
 */
unsigned int unwind_user_walk_table(struct unwind_user_state *state,
				    unsigned long *entries, unsigned int nr,
				    unsigned int max)
{
	struct table_frame frame = {
		.ip = state->ip,
		.sp = state->sp,
		.fp = state->fp,
		.exact = state->exact,
		.fp_lost = state->fp_lost,
	};
	const struct unwind_step *step;
	unsigned int first = nr;

	for (;;) {
		if (!unwind_user_get_step(state, frame.ip, frame.exact, &step) ||
		    nr >= max)
			break;
		/* The caller decides whether to go on without page faults. */
		if (fatal_signal_pending(current) && !pagefault_disabled())
			break;
		if (!unwind_user_step_common(&frame, step))
			break;
		entries[nr++] = frame.ip;
	}

	state->rules->step = step;
	if (nr != first)
		unwind_user_set_frame(state, &frame);

	return nr;
}

/**
 * unwind_user_next_table() - go to the caller by a table
 * @state: the walk; unchanged unless 0 is returned, but for @state->stop.  With
 *	@state->rules, one that unwind_user_walk_table() has got so far.
 *
 * Context: may fault, unless page faults are disabled.
 * Return: 0, 1 if the frame is the outermost one, -ENOENT if no table covers
 * the frame, another negative error if a table does but the caller cannot be
 * found.
 */
int unwind_user_next_table(struct unwind_user_state *state)
{
	struct rule_cache *cache = state->rules;

	if (cache)
		return unwind_user_use(state, cache->step,
				       cache->step ? 0 : cache->err);

	return rcu_access_pointer(current->mm->codectl) ?
	       unwind_user_next_uncached(state) :
	       unwind_user_next_unregistered(state);
}

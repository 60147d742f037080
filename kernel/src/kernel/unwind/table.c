// SPDX-License-Identifier: GPL-2.0
/*
 * Unwinding user space by the tables of registered code
 *
 * A frame that a table covers is unwound by its rule or not at all: where a rule fails,
 * the stack ends, as a frame pointer would only be a guess.  Frame pointers are for
 * code that nobody registered, or that its table does not mention; and for a table that
 * would have to be waited for, where nothing can wait.
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
#include "walk_text.h"

/*
 * How many FREs, tables and rows of compiled code one walk may look at, so that no
 * table makes it long: many functions have a few hundred FREs.
 */
#define WALK_BUDGET	SZ_64K
/* In an NMI, where the tables of a process decide how long everybody waits. */
#define WALK_BUDGET_NOFAULT	SZ_8K
/* What it costs to find that a table is not in memory: a bisection of exceptions. */
#define WALK_FAULT_COST		512U

/**
 * struct table_frame - what simple rules change in a frame, for registers
 * @ip: as in &struct unwind_user_state
 * @sp: ditto
 * @fp: ditto
 */
struct table_frame {
	unsigned long	ip;
	unsigned long	sp;
	unsigned long	fp;
};

/*
 * Stacks shrink towards the caller, but a signal may have been handled on another
 * stack; and where the caller's SP and the return address were saved separately, code
 * may have switched to another one.
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
	       (cfa == state->sp && state->exact) ||
	       (step->cfa.kind == UNWIND_LOC_MEM &&
		step->ra.base != UNWIND_BASE_CFA);
}

/* Is it an address in user space, and not 0? */
static __always_inline bool unwind_user_ra_valid(unsigned long ra,
						 unsigned long last)
{
	return ra - 1 < last;
}

static void unwind_user_set_frame(struct unwind_user_state *state,
				  const struct table_frame *frame, bool exact)
{
	state->ip = frame->ip;
	state->sp = frame->sp;
	state->fp = frame->fp;
	state->sigframe = 0;
	state->topmost = false;
	state->exact = exact;
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

/* Goes to the caller by a rule of any kind. */
static int unwind_user_step_any(struct unwind_user_state *state,
				const struct unwind_step *step)
{
	struct table_frame caller = { .fp = state->fp };
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
		caller.fp = UNWIND_USER_FP_LOST;
		break;
	default:
		ret = unwind_user_loc(state, &step->fp, caller.sp, &caller.fp);
		if (ret)
			return ret;
	}
	if (!unwind_user_ra_valid(caller.ip, TASK_SIZE_MAX - 1))
		return -EINVAL;

	unwind_user_set_frame(state, &caller, step->flags & UNWIND_RULE_EXACT);
	return 0;
}

/* Goes to the caller, or nowhere, and says why. */
static int unwind_user_step(struct unwind_user_state *state,
			    const struct unwind_step *step)
{
	int ret;

	state->left_exact = step->flags & UNWIND_RULE_SIGNAL;
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

/* What a failed search of a table says about the walk. */
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

/**
 * unwind_user_start_table() - prepare a walk
 * @state: the walk
 * @walk: its state for tables; undefined before
 * @nofault: it waits for nothing
 *
 * If the current task can have no tables, unwind_user_walk() uses frame pointers alone.
 *
 * Context: process; with @nofault any, under RCU until the walk is over, and with page
 * faults disabled.
 * Return: whether the current task can have tables.
 */
bool unwind_user_start_table(struct unwind_user_state *state,
			     struct rule_walk *walk, bool nofault)
{
	state->walk = walk;
	state->budget = nofault ? WALK_BUDGET_NOFAULT : WALK_BUDGET;
	walk->gen = 0;
	walk->cache = NULL;
	walk->vdso = 0;
	walk->vdso_size = 0;
	walk->region = U64_MAX;
	walk->last.text_start = 0;
	walk->last.text_end = 0;
	walk->last.registry_gen = 0;
	walk->nofault = nofault;
	walk->held = nofault;
	walk->attached = false;
	walk->by_rules = false;
	rule_walk_forget(walk);
	/* A 32-bit return address is not read here. */
	walk->fp_reach = state->ws == sizeof(long) ? LONG_MAX : 0;
	if (!codectl_enabled() || !arch_unwind_user_has_tables(state->regs))
		return false;

	walk->fp_reach = arch_unwind_user_start(&walk->vdso, &walk->vdso_size);
	walk->gen = codectl_generation(current->mm);
	walk->attached = READ_ONCE(codectl_nr_attached);
	walk->by_rules = walk->gen || walk->attached;
	if (walk->gen && nofault)
		rule_cache_peek(walk);
	else if (walk->gen)
		rule_cache_get(walk);

	return true;
}

/**
 * unwind_user_end_table() - end a walk
 * @state: the walk
 *
 * Context: process.
 */
void unwind_user_end_table(struct unwind_user_state *state)
{
	if (state->walk && !state->walk->nofault)
		rule_cache_put(state->walk);
}

/*
 * The rule for a frame that returns to the gap or the text that the last ones were in,
 * if it is %KEPT_COMMON or %KEPT_UNCOVERED; else 0.
 */
static __always_inline u64 rule_walk_common(const struct rule_walk *walk,
					    unsigned long ip)
{
	const struct attached_text *text = walk->text;
	u64 rule;

	if (ip - 1 - walk->gap < walk->gap_size)
		return KEPT_TYPE(KEPT_UNCOVERED);
	if (ip - 1 - text->start >= text->size)
		return 0;

	rule = resident_find_word(text->table, ip + text->bias, false);

	return likely(kept_is_common(rule)) ? rule : 0;
}

/* The rule for a frame, kept for the next walk, too; @slot may have it. */
static noinline u64 unwind_user_get_rule(struct unwind_user_state *state,
					 unsigned long ip, bool exact,
					 struct rule_slot *slot)
{
	struct rule_walk *walk = state->walk;
	u64 rule;

	if (walk->attached) {
		if (rule_walk_attached(walk, ip, exact, &rule))
			return rule;
		if (walk->cache)
			slot = rule_cache_slot(walk->cache,
					       rule_cache_key(ip, exact));
	}
	if (walk->cache) {
		rule = rule_cache_look(walk, ip, exact, slot);
		/* The vDSO, which nobody registers, may have been mapped there. */
		if (rule && (kept_type(rule) != KEPT_UNCOVERED ||
			     !rule_walk_in_vdso(walk, ip)))
			return rule;
	}
	/* The caller asks again when it can wait. */
	if (walk->held && !walk->nofault &&
	    (walk->gen || rule_walk_in_vdso(walk, ip)))
		return KEPT_TYPE(KEPT_NOTHING);

	state->ip = ip;
	state->exact = exact;
	rule = unwind_user_find_rule(state);
	if (walk->held && !exact && kept_type(rule) == KEPT_UNCOVERED)
		rule_walk_note_gap(walk, ip);

	return rule;
}

/*
 * Goes to the caller, if the rule is %KEPT_COMMON and all is as usual.  A pointer out
 * of user space becomes one that faults, without a branch that could be mispredicted.
 */
static __always_inline bool
unwind_user_step_common(struct table_frame *frame, u64 rule,
			unsigned long last)
{
	unsigned long cfa = rule & KEPT_BASE_FP ? frame->fp : frame->sp;
	unsigned long fp = frame->fp;
	long ra, err = 0;
	unsigned long at;

	cfa += kept_cfa_off(rule);
	if (cfa % sizeof(long) || cfa <= frame->sp)
		return false;

	at = (unsigned long)masked_user_read_access_begin((void __user *)
							  (cfa + KEPT_RA_OFF));
	/* What a fault leaves there is no return address. */
	ra = unwind_user_load_u64(at, &err);
	if (rule & KEPT_FP_SAVED) {
		at = cfa + kept_fp_off(rule);
		at = (unsigned long)mask_user_address((void __user *)at);
		fp = unwind_user_load_u64(at, &ra);
	}
	user_read_access_end();
	if (!unwind_user_ra_valid(ra, last))
		return false;

	frame->ip = ra;
	frame->sp = cfa;
	frame->fp = fp;

	return true;
}

/*
 * Goes to the caller of a frame that no table covers, if all is as usual.  Where a
 * signal handler has returned to, the frame pointer is that of the interrupted code, or
 * nothing that can be followed: all of the kernel's frame comes before it.  What is
 * nearer is not that, so nobody has to look at the code.
 */
static __always_inline bool unwind_user_step_fp(struct table_frame *frame,
						const struct rule_walk *walk,
						unsigned long last)
{
	return frame->fp - frame->sp < walk->fp_reach &&
	       unwind_user_step_common(frame, KEPT_BY_FP, last);
}

/* The caller decides whether to go on without page faults. */
static __always_inline bool unwind_user_is_killed(void)
{
	return unlikely(fatal_signal_pending(current)) && !pagefault_disabled();
}

static u64 unwind_user_wait_rule(struct unwind_user_state *state,
				 unsigned long ip, bool exact)
{
	/* The caller goes on like this. */
	if (unwind_user_is_killed()) {
		guard(pagefault)();
		return unwind_user_get_rule(state, ip, exact, NULL);
	}

	return unwind_user_get_rule(state, ip, exact, NULL);
}

/* Walks where nothing is registered. */
static unsigned long *unwind_user_walk_fp(const struct rule_walk *walk,
					  struct table_frame *frame,
					  unsigned long *entry,
					  const unsigned long *end)
{
	const unsigned long last = TASK_SIZE_MAX - 1;

	while (entry < end && !unwind_user_is_killed() &&
	       !rule_walk_in_vdso(walk, frame->ip) &&
	       unwind_user_step_fp(frame, walk, last))
		*entry++ = frame->ip;

	return entry;
}

/* The rule of the frame where a walk starts, or starts again. */
static __always_inline u64
unwind_user_first_rule(struct unwind_user_state *state, bool kept)
{
	const struct rule_walk *walk = state->walk;
	struct rule_slot *slot = NULL;
	u64 rule = 0;

	if (kept)
		slot = rule_cache_slot(walk->cache,
				       rule_cache_key(state->ip, state->exact));
	else if (!state->exact)
		rule = rule_walk_common(walk, state->ip);

	return rule ?: unwind_user_get_rule(state, state->ip, state->exact,
					    slot);
}

/*
 * Walks by rules kept from earlier walks, or else by those of the text that the last
 * frames were in.  Leaves the last rule, for the frame where it ended, in
 * @state->walk->rule.
 */
static __always_inline unsigned long *
unwind_user_walk_by(struct unwind_user_state *state, struct table_frame *start,
		    unsigned long *entry, const unsigned long *end, bool kept)
{
	const unsigned long last = TASK_SIZE_MAX - 1;
	struct rule_walk *const walk = state->walk;
	struct rule_cache *const cache = walk->cache;
	u64 rule = unwind_user_first_rule(state, kept);
	/* A copy, for registers. */
	struct table_frame frame = *start;
	struct rule_slot *slot = NULL;

	/* The frame pointer of an interrupted function may not be its own yet. */
	if (state->exact && kept_type(rule) == KEPT_UNCOVERED)
		end = entry;

	while (entry < end) {
		if (likely(kept_is_common(rule)) ?
		    !unwind_user_step_common(&frame, rule, last) :
		    kept_type(rule) != KEPT_UNCOVERED ||
		    !unwind_user_step_fp(&frame, walk, last))
			break;
		*entry++ = frame.ip;
		rule = kept ? rule_cache_common(walk, cache, frame.ip, &slot) :
			      rule_walk_common(walk, frame.ip);
		if (likely(rule))
			continue;
		if (unwind_user_is_killed()) {
			/* The caller goes on like this. */
			guard(pagefault)();
			rule = unwind_user_get_rule(state, frame.ip, false, slot);
			break;
		}
		rule = unwind_user_get_rule(state, frame.ip, false, slot);
	}
	walk->rule = rule;
	*start = frame;

	return entry;
}

static noinline unsigned long *
unwind_user_walk_kept(struct unwind_user_state *state, struct table_frame *start,
		      unsigned long *entry, const unsigned long *end)
{
	return unwind_user_walk_by(state, start, entry, end, true);
}

static noinline unsigned long *
unwind_user_walk_found(struct unwind_user_state *state, struct table_frame *start,
		       unsigned long *entry, const unsigned long *end)
{
	return unwind_user_walk_by(state, start, entry, end, false);
}

/*
 * Walks with attached tables: those that were found stay as long as nothing is waited
 * for.  Then looks for the rule again by what can be waited for.
 */
static noinline unsigned long *
unwind_user_walk_held(struct unwind_user_state *state, struct table_frame *frame,
		      unsigned long *first, const unsigned long *end)
{
	struct rule_walk *walk = state->walk;
	unsigned long *entry;

	scoped_guard(rcu) {
		guard(pagefault)();
		rule_walk_forget(walk);
		walk->held = true;
		entry = unwind_user_walk_found(state, frame, first, end);
		walk->held = false;
	}
	if (kept_type(walk->rule) == KEPT_NOTHING)
		walk->rule = unwind_user_wait_rule(state, frame->ip,
						   entry == first && state->exact);

	return entry;
}

/**
 * unwind_user_walk() - go to the callers as long as that is simple
 * @state: the walk; updated to where it has got
 * @entries: where to store the addresses of the frames
 * @nr: how many are there, the last one being that of @state
 * @max: room in @entries
 *
 * Leaves what is not as usual to unwind_user_next_table() and to the general way by
 * frame pointers, which say what was wrong, if anything.
 *
 * Context: may fault, unless page faults are disabled.
 * Return: how many addresses there are now.
 */
unsigned int unwind_user_walk(struct unwind_user_state *state,
			      unsigned long *entries, unsigned int nr,
			      unsigned int max)
{
	unsigned long *const first = entries + nr, *const end = entries + max;
	struct table_frame frame = {
		.ip = state->ip,
		.sp = state->sp,
		.fp = state->fp,
	};
	unsigned long *entry = first;

	/* Attached tables come before what is kept. */
	if (state->walk->cache && !state->walk->attached)
		entry = unwind_user_walk_kept(state, &frame, first, end);
	else if (state->walk->attached && !state->walk->nofault)
		entry = unwind_user_walk_held(state, &frame, first, end);
	else if (state->walk->by_rules)
		entry = unwind_user_walk_found(state, &frame, first, end);
	else if (!state->exact)
		entry = unwind_user_walk_fp(state->walk, &frame, first, end);
	if (entry != first)
		unwind_user_set_frame(state, &frame, false);

	return entry - entries;
}

/*
 * If nothing can wait, a table that is not in memory says nothing, nor does any once
 * the budget is spent: frame pointers are what such walks had before.
 */
static bool rule_walk_do_without(struct unwind_user_state *state)
{
	struct rule_walk *walk = state->walk;
	const struct codectl_lookup *last = &walk->last;

	if (!walk->nofault || (walk->err != -EFAULT && walk->err != -E2BIG))
		return false;

	state->budget -= min(state->budget, WALK_FAULT_COST);
	if (walk->err == -EFAULT && state->budget) {
		/* No other frame of that text must fault. */
		rule_walk_set_gap(walk, state->ip - !state->exact,
				  last->text_start, last->text_end);
	} else {
		walk->by_rules = false;
		walk->cache = NULL;
		walk->vdso_size = 0;
	}

	return true;
}

/**
 * unwind_user_next_table() - go to the caller by a table
 * @state: the walk, as far as unwind_user_walk() has got; unchanged unless 0 is
 *	returned, but for @state->stop
 *
 * Context: may fault, unless page faults are disabled.
 * Return: 0, 1 if the frame is the outermost one, -ENOENT if no table covers
 * the frame, another negative error if a table does but the caller cannot be
 * found.
 */
int unwind_user_next_table(struct unwind_user_state *state)
{
	struct rule_walk *walk = state->walk;
	struct unwind_step *step = &walk->found.rule.step;
	u64 rule = walk->rule;

	if (!walk->by_rules)
		rule = rule_walk_in_vdso(walk, state->ip) ?
		       unwind_user_find_rule(state) :
		       KEPT_TYPE(KEPT_UNCOVERED);

	switch (kept_type(rule)) {
	case KEPT_NOTHING:
		/* Its table may not be able to say what a signal handler returns to. */
		if (walk->err == -ENODATA &&
		    arch_unwind_user_at_sigreturn(state)) {
			step->flags = UNWIND_RULE_SIGNAL;
			break;
		}
		if (rule_walk_do_without(state))
			return -ENOENT;
		if (walk->err != -ENOENT)
			state->stop = codectl_rule_stop(walk->err);
		return walk->err;
	case KEPT_UNCOVERED:
		if (!arch_unwind_user_at_sigreturn(state))
			return -ENOENT;
		step->flags = UNWIND_RULE_SIGNAL;
		break;
	case KEPT_ASIDE:
		break;
	default:
		kept_expand(rule, step);
	}

	return unwind_user_step(state, step);
}

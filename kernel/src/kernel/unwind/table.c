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

#include "registry.h"
#include "rule.h"
#include "table.h"

/*
 * The rule for an address in a section.  With a header that CODE_REGISTER_ELF
 * would have refused, execve() has registered nothing: -ENOENT.
 */
static int codectl_sframe_rule(struct sframe_section *sec, unsigned long ip,
			       struct unwind_rule *rule)
{
	int ret;

	if (sec->start == sec->end)
		return -ENOENT;

	if (!sec->fdes) {
		ret = sframe_read_header(sec);
		if (ret)
			return ret == -EFAULT ? ret : -ENOENT;
	}

	return sframe_find(sec, ip, rule);
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
 * The rule for an address in compiled code.  -ENODATA where there is none, and
 * -EOPNOTSUPP where a row says so: such code has no frame pointer to fall back
 * to.
 */
static int codectl_jit_rule(const struct jit_unwind *jit,
			    unsigned long text_start, unsigned long ip,
			    struct unwind_rule *rule)
{
	struct code_jit_unwind_fre fre;
	u8 base;
	int ret;

	ret = jit_find(jit, ip - text_start, &fre);
	if (ret)
		return ret;
	/* No architecture here leaves the return address in a register. */
	if (fre.info & (CODE_FRE_UNKNOWN | CODE_FRE_RA_REG))
		return -EOPNOTSUPP;

	base = fre.info & CODE_FRE_BASE_SP ? UNWIND_USER_REG_SP :
					     UNWIND_USER_REG_FP;
	*rule = (struct unwind_rule) {
		.cfa = { UNWIND_LOC_VAL, base, fre.cfa_off },
		.ra = { UNWIND_LOC_MEM, UNWIND_BASE_CFA, fre.ra_off },
		.fp = codectl_jit_fp(&fre),
		.start = text_start + fre.ip_off,
		.size = fre.size,
	};
	/* What no row covers the default rule does. */
	if (jit->flags & CODE_JIT_DEFAULT_RULE) {
		rule->start = text_start;
		rule->size = U32_MAX;
	}
	if (fre.info & CODE_FRE_OUTERMOST)
		rule->flags |= UNWIND_RULE_OUTERMOST;
	if (fre.info & CODE_FRE_SIGNAL)
		rule->flags |= UNWIND_RULE_EXACT;

	return 0;
}

static int codectl_lookup_rule(struct codectl_lookup *lookup, unsigned long ip,
			       struct unwind_rule *rule)
{
	if (lookup->tables.is_jit)
		return codectl_jit_rule(&lookup->tables.jit, lookup->text_start,
					ip, rule);

	return codectl_sframe_rule(&lookup->tables.sframe, ip, rule);
}

/*
 * The rule for an address.  -ENOENT: no table covers it; -ENODATA: nor can there
 * be a frame pointer.  The rule is dropped if its registration went while it was
 * read, as the memory may have become something else in between.
 */
static int codectl_find_rule(unsigned long ip, struct unwind_rule *rule)
{
	struct mm_struct *mm = current->mm;
	struct sframe_section vdso = {};
	struct codectl_lookup lookup;
	int ret;

	if (codectl_find(mm, ip, &lookup)) {
		ret = codectl_lookup_rule(&lookup, ip, rule);
		/* Behind the text no table says anything. */
		if (!ret)
			rule->size = min_t(u64, rule->size,
					   lookup.text_end - rule->start);

		return codectl_valid(mm, &lookup) ? ret : -ESTALE;
	}

	if (!arch_unwind_user_vdso(ip, &vdso.start, &vdso.end))
		return -ENOENT;

	return codectl_sframe_rule(&vdso, ip, rule);
}

/*
 * The rule for the frame.  A return address may lie behind the last byte of
 * the calling function, so the byte before it is what is looked up.  A signal
 * handler, though, returns to the start of the code that calls sigreturn(),
 * which nobody called: where the table entry before @state->ip does not cover
 * @state->ip as well, that is looked for first.
 */
static int unwind_user_find_rule(const struct unwind_user_state *state,
				 struct unwind_rule *rule)
{
	unsigned long ip = state->exact ? state->ip : state->ip - 1;
	struct unwind_rule exact;
	int ret, ret_exact;

	ret = codectl_find_rule(ip, rule);
	ret_exact = ret;
	if (!state->exact &&
	    (ret || state->ip - rule->start >= rule->size)) {
		ret_exact = codectl_find_rule(state->ip, &exact);
		if (!ret_exact && (exact.flags & UNWIND_RULE_SIGNAL)) {
			*rule = exact;
			return 0;
		}
	}

	if ((ret_exact == -ENOENT || ret_exact == -ENODATA) &&
	    arch_unwind_user_at_sigreturn(state)) {
		rule->flags = UNWIND_RULE_SIGNAL;
		return 0;
	}

	return ret;
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

static int unwind_user_apply(struct unwind_user_state *state,
			     const struct unwind_rule *rule)
{
	bool all_regs = state->topmost || state->sigframe;
	unsigned long cfa, ra, fp = state->fp;
	bool fp_lost = state->fp_lost;
	int ret;

	ret = unwind_user_loc(state, &rule->cfa, 0, &cfa);
	if (ret)
		return ret;

	/*
	 * Stacks shrink towards the caller.  Only the innermost frame, or the
	 * one that a signal interrupted, may have nothing on the stack.
	 */
	if (cfa < state->sp || (cfa == state->sp && !all_regs) ||
	    (cfa & (state->ws - 1)))
		return -EINVAL;

	ret = unwind_user_loc(state, &rule->ra, cfa, &ra);
	if (ret)
		return ret;
	if (!ra || ra >= TASK_SIZE_MAX)
		return -EINVAL;

	switch (rule->fp.kind) {
	case UNWIND_LOC_SAME:
		break;
	case UNWIND_LOC_LOST:
		fp_lost = true;
		break;
	default:
		ret = unwind_user_loc(state, &rule->fp, cfa, &fp);
		if (ret)
			return ret;
		fp_lost = false;
	}

	state->ip = ra;
	state->sp = cfa;
	state->fp = fp;
	state->fp_lost = fp_lost;
	state->sigframe = 0;
	state->topmost = false;
	state->exact = rule->flags & UNWIND_RULE_EXACT;

	return 0;
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
	struct unwind_rule rule;
	int ret;

	if (!codectl_enabled() || !arch_unwind_user_has_tables())
		return -ENOENT;

	ret = unwind_user_find_rule(state, &rule);
	if (ret) {
		if (ret != -ENOENT)
			state->stop = codectl_rule_stop(ret);
		return ret;
	}

	if (rule.flags & UNWIND_RULE_OUTERMOST) {
		state->stop = UNWIND_USER_STOP_COMPLETE;
		return 1;
	}

	ret = rule.flags & UNWIND_RULE_SIGNAL ?
	      arch_unwind_user_sigframe(state) : unwind_user_apply(state, &rule);
	if (ret)
		state->stop = ret == -EFAULT ? UNWIND_USER_STOP_FAULT :
					       UNWIND_USER_STOP_BAD_FRAME;

	return ret;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * What a walk remembers of the text that it goes through: where tables are attached,
 * and where nothing has a rule
 */
#include <linux/mm.h>
#include <linux/mmap_lock.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/uaccess.h>

#include "attach.h"
#include "find_rule.h"
#include "walk_text.h"

const struct attached_text rule_walk_no_text;

/**
 * rule_walk_forget() - forget what is known of mappings
 * @walk: the walk
 */
void rule_walk_forget(struct rule_walk *walk)
{
	walk->nr_texts = 0;
	walk->text = &rule_walk_no_text;
	walk->gap_size = 0;
}

/* A text that this walk has already come upon, or NULL. */
static const struct attached_text *
rule_walk_text(const struct rule_walk *walk, unsigned long addr)
{
	const struct attached_text *text;

	for (text = walk->texts;
	     text < walk->texts + min(walk->nr_texts, RULE_WALK_TEXTS); text++) {
		if (addr - text->start < text->size)
			return text;
	}

	return NULL;
}

/* The same, or a new one, which replaces the oldest; or NULL, and why. */
static const struct attached_text *
rule_walk_find_text(struct rule_walk *walk, unsigned long addr, int *err)
{
	const struct attached_text *text;
	struct attached_text *new;

	*err = 0;
	/* What was found before may be gone. */
	if (!walk->held)
		rule_walk_forget(walk);
	text = rule_walk_text(walk, addr);
	if (text)
		return text;

	new = &walk->texts[walk->nr_texts % RULE_WALK_TEXTS];
	if (walk->text == new)
		walk->text = &rule_walk_no_text;
	*err = codectl_find_attached(current->mm, addr, new);
	if (*err < 0 || !new->size)
		return NULL;
	walk->nr_texts++;

	return new;
}

/* As below, for a caller that cannot wait. */
static bool rule_walk_try_attached(struct rule_walk *walk, unsigned long ip,
				   bool exact, u64 *rule)
{
	const struct attached_text *text;
	int err;

	guard(rcu)();
	text = rule_walk_find_text(walk, ip - !exact, &err);
	if (!text) {
		*rule = KEPT_TYPE(KEPT_NOTHING);
		walk->err = err;
		return err;
	}
	if (!text->table)
		return false;
	if (walk->held)
		walk->text = text;

	*rule = resident_find(text->table, ip + text->bias, exact,
			      &walk->found.rule.step);
	if (kept_type(*rule) == KEPT_NOTHING)
		walk->err = -ENODATA;

	return kept_type(*rule) != KEPT_UNCOVERED;
}

/**
 * rule_walk_attached() - look for the rule of a frame in the attached tables
 * @walk: the walk
 * @ip: where the frame is
 * @exact: not a return address
 * @rule: where to store the rule, or %KEPT_NOTHING, with the reason in @walk->err
 *
 * Waits for a mapping that is being changed, unless page faults are disabled.
 *
 * Context: as codectl_find().
 * Return: false if no attached table covers the frame.
 */
bool rule_walk_attached(struct rule_walk *walk, unsigned long ip, bool exact,
			u64 *rule)
{
	bool found = rule_walk_try_attached(walk, ip, exact, rule);

	if (!found || kept_type(*rule) != KEPT_NOTHING || walk->err != -EAGAIN ||
	    pagefault_disabled() || mmap_read_lock_killable(current->mm))
		return found;

	found = rule_walk_try_attached(walk, ip, exact, rule);
	mmap_read_unlock(current->mm);

	return found;
}

/**
 * rule_walk_set_gap() - remember where frame pointers are to be used
 * @walk: the walk, @walk->held
 * @addr: an address that no attached table covers
 * @start: from here on nothing that is registered has a rule
 * @end: up to here
 *
 * Keeps the part of that around @addr that no attached table covers.
 */
void rule_walk_set_gap(struct rule_walk *walk, unsigned long addr,
		       unsigned long start, unsigned long end)
{
	const struct attached_text *text;

	if (walk->attached) {
		text = rule_walk_text(walk, addr);
		if (!text)
			return;
		start = max(start, text->start);
		end = min(end, text->start + text->size);
		if (text->table &&
		    !resident_find_hole(text->table, addr, text->bias, &start, &end))
			return;
	}
	/* What was looked up last may be what follows the text of @addr. */
	if (addr < start || addr >= end)
		return;

	walk->gap = start;
	walk->gap_size = end - start;
}

/**
 * rule_walk_note_gap() - the same, if no table and no registration covers a frame
 * @walk: the walk, @walk->held, which has just found that out
 * @ip: address that the frame returns to
 *
 * Context: may fault, unless page faults are disabled.
 */
void rule_walk_note_gap(struct rule_walk *walk, unsigned long ip)
{
	unsigned long start = 0, end = TASK_SIZE_MAX;

	if (!unwind_user_find_gap(walk, ip, &start, &end))
		return;
	/* Nobody registers the vDSO. */
	if (walk->vdso_size && ip < walk->vdso)
		end = min(end, walk->vdso);
	else if (walk->vdso_size)
		start = max(start, walk->vdso + walk->vdso_size);
	/* The byte before it is what is looked up. */
	if (ip > start)
		rule_walk_set_gap(walk, ip - 1, start, end - 1);
}

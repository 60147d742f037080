/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _UNWIND_TABLE_H
#define _UNWIND_TABLE_H

#include <linux/errno.h>
#include <linux/types.h>

struct unwind_user_state;

#ifdef CONFIG_CODECTL

#include <linux/unwind_user_types.h>

#include "rule_cache.h"

bool codectl_enabled(void);
bool codectl_callchain_enabled(void);
bool unwind_user_start_table(struct unwind_user_state *state,
			     struct rule_walk *walk, bool nofault);
void unwind_user_end_table(struct unwind_user_state *state);
unsigned int unwind_user_walk(struct unwind_user_state *state,
			      unsigned long *entries, unsigned int nr,
			      unsigned int max);
int unwind_user_next_table(struct unwind_user_state *state);
void codectl_trace_stop(const struct unwind_user_state *state, unsigned int nr);

/* Without tables, such a walk does what perf_callchain_user() does without this. */
static inline bool unwind_user_is_nofault(const struct unwind_user_state *state)
{
	return state->walk->nofault;
}

#else /* !CONFIG_CODECTL */

struct rule_walk {};

static inline bool unwind_user_is_nofault(const struct unwind_user_state *state)
{
	return false;
}

static inline bool unwind_user_start_table(struct unwind_user_state *state,
					   struct rule_walk *walk,
					   bool nofault)
{
	return false;
}

static inline void unwind_user_end_table(struct unwind_user_state *state) {}

static inline unsigned int
unwind_user_walk(struct unwind_user_state *state, unsigned long *entries,
		 unsigned int nr, unsigned int max)
{
	return nr;
}

static inline int unwind_user_next_table(struct unwind_user_state *state)
{
	return -ENOENT;
}

static inline void codectl_trace_stop(const struct unwind_user_state *state,
				      unsigned int nr) {}

#endif /* CONFIG_CODECTL */

#endif /* _UNWIND_TABLE_H */

// SPDX-License-Identifier: MIT
/*
 * The list of regions, and looking up in it without a lock.
 *
 * A lookup counts itself in readers[], and close() waits until those that may
 * have seen the region are gone.  There are two counts, so that lookups that
 * begin while it waits do not make it wait longer.
 */
#include <errno.h>
#include <sched.h>

#include "internal.h"
#include "reader.h"

struct codectl_region *codectl_regions;

static int readers[2];
static unsigned int phase;

static unsigned int enter(void)
{
	unsigned int now = __atomic_load_n(&phase, __ATOMIC_RELAXED);

	/*
	 * Before the list is read: pairs with unlinking and then reading the
	 * count in codectl_list_remove().
	 */
	__atomic_fetch_add(&readers[now], 1, __ATOMIC_SEQ_CST);

	return now;
}

static void leave(unsigned int entered)
{
	/* After all that was read: pairs with the loads of wait_for_readers() */
	__atomic_fetch_sub(&readers[entered], 1, __ATOMIC_RELEASE);
}

static void wait_for_readers(void)
{
	unsigned int i, old;

	for (i = 0; i < 2; i++) {
		old = phase;
		__atomic_store_n(&phase, !old, __ATOMIC_RELAXED);
		while (__atomic_load_n(&readers[old], __ATOMIC_SEQ_CST) > 0)
			sched_yield();
	}
}

void codectl_list_add(struct codectl_region *region)
{
	static uint64_t last;

	/* No two names have the same number. */
	region->next_id = ++last << 40;
	region->next = codectl_regions;
	/* After all that is in the region: pairs with find_region(). */
	__atomic_store_n(&codectl_regions, region, __ATOMIC_RELEASE);
}

void codectl_list_remove(struct codectl_region *region)
{
	struct codectl_region **link = &codectl_regions;

	while (*link != region)
		link = &(*link)->next;
	__atomic_store_n(link, region->next, __ATOMIC_SEQ_CST);
	wait_for_readers();
}

/* The threads that were looking something up are not in the child. */
void codectl_lookup_forked(void)
{
	readers[0] = 0;
	readers[1] = 0;
}

static const struct codectl_region *find_region(uint64_t ip)
{
	const struct codectl_region *region;

	region = __atomic_load_n(&codectl_regions, __ATOMIC_SEQ_CST);
	while (region && ip - region->text_start >= region->text_len)
		region = __atomic_load_n(&region->next, __ATOMIC_SEQ_CST);

	return region;
}

static int find_rule(const struct codectl_region *region, uint64_t ip,
		     struct codectl_rule *rule)
{
	struct jit_unwind jit = {
		.head = (unsigned long)region->tables,
		.seq = (unsigned long)&region->seq,
		.flags = region->jit_flags & CODE_JIT_DESCENDING,
	};
	uint32_t off = ip - region->text_start;
	struct code_jit_unwind_fre fre;
	uint32_t flags = 0;
	int ret;

	ret = jit_find(&jit, off, &fre);
	if (ret == -ENODATA && (region->jit_flags & CODE_JIT_DEFAULT_RULE)) {
		fre = region->rule;
		fre.ip_off = off;
		fre.size = 1;
		flags = CODECTL_RULE_DEFAULT;
		ret = 0;
	}
	if (ret)
		return ret;

	if (region->jit_flags & CODE_JIT_CALLSITE)
		flags |= CODECTL_RULE_CALLSITE;
	*rule = (struct codectl_rule) {
		.start = region->text_start + fre.ip_off,
		.size = fre.size,
		.cfa_off = fre.cfa_off,
		.ra_off = fre.ra_off,
		.fp_off = fre.fp_off,
		.info = fre.info,
		.flags = flags,
	};

	return 0;
}

int codectl_lookup(uint64_t ip, struct codectl_rule *rule)
{
	unsigned int entered = enter();
	const struct codectl_region *region = find_region(ip);
	int ret = region ? find_rule(region, ip, rule) : -ENOENT;

	leave(entered);

	return ret;
}

// SPDX-License-Identifier: MIT
/*
 * The list of regions, and looking up in it without a lock.
 *
 * The list is sorted, and there are two of it: what is seen does not change, the
 * other one is changed and takes its place.  A lookup counts itself in readers[],
 * and who changes the list waits until those that may have seen the old one, or
 * the region that is not in the new one, are gone.  There are two counts, so that
 * lookups that begin while it waits do not make it wait longer.
 */
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>

#include "internal.h"
#include "reader.h"

/**
 * struct list_pair - the list that is seen, and the other one
 * @max: regions that there is space for in each, or 0
 * @len: bytes that each takes
 * @map: both of them
 */
struct list_pair {
	size_t max;
	size_t len;
	char *map;
};

static struct codectl_list no_regions;
static struct list_pair pair;
struct codectl_list *codectl_list = &no_regions;

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

static void publish(struct codectl_list *list)
{
	/*
	 * After all that is in the list and in its regions, and before the count
	 * is read: pairs with find_region() and enter().
	 */
	__atomic_store_n(&codectl_list, list, __ATOMIC_SEQ_CST);
	wait_for_readers();
}

static struct codectl_list *list_at(const struct list_pair *of, bool second)
{
	return (void *)(of->map + (second ? of->len : 0));
}

static struct codectl_list *other_list(void)
{
	return list_at(&pair, codectl_list == list_at(&pair, false));
}

/* Makes sure that there is space for one more. */
bool codectl_list_reserve(void)
{
	struct list_pair old = pair, new = { .len = old.len ? 2 * old.len :
							 CODECTL_PAGE };
	struct codectl_list *list;

	if (codectl_list->nr < pair.max)
		return true;

	new.max = (new.len - sizeof(*list)) / sizeof(list->regions[0]);
	new.map = mmap(NULL, 2 * new.len, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (new.map == MAP_FAILED)
		return false;

	list = list_at(&new, false);
	list->nr = codectl_list->nr;
	memcpy(list->regions, codectl_list->regions,
	       list->nr * sizeof(list->regions[0]));
	pair = new;
	publish(list);
	if (old.map)
		munmap(old.map, 2 * old.len);

	return true;
}

/* The first region that ends after an address. */
size_t codectl_list_find(const struct codectl_list *list, uint64_t addr)
{
	size_t low = 0, high = list->nr, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (codectl_region_end(list->regions[mid]) > addr)
			high = mid;
		else
			low = mid + 1;
	}

	return low;
}

void codectl_list_add(struct codectl_region *region)
{
	const size_t size = sizeof(region);
	const struct codectl_list *old = codectl_list;
	size_t at = codectl_list_find(old, region->text_start);
	struct codectl_list *new = other_list();
	static uint64_t last;

	/* No two names have the same number. */
	region->next_id = ++last << 40;
	memcpy(new->regions, old->regions, at * size);
	new->regions[at] = region;
	memcpy(new->regions + at + 1, old->regions + at, (old->nr - at) * size);
	new->nr = old->nr + 1;
	publish(new);
}

void codectl_list_remove(struct codectl_region *region)
{
	const struct codectl_list *old = codectl_list;
	size_t at = codectl_list_find(old, region->text_start);
	struct codectl_list *new = other_list();
	const size_t size = sizeof(region);

	new->nr = old->nr - 1;
	memcpy(new->regions, old->regions, at * size);
	memcpy(new->regions + at, old->regions + at + 1, (new->nr - at) * size);
	publish(new);
}

/* The threads that were looking something up are not in the child. */
void codectl_lookup_forked(void)
{
	readers[0] = 0;
	readers[1] = 0;
}

static const struct codectl_region *find_region(uint64_t ip)
{
	const struct codectl_list *list =
		__atomic_load_n(&codectl_list, __ATOMIC_SEQ_CST);
	size_t at = codectl_list_find(list, ip);

	return at < list->nr && list->regions[at]->text_start <= ip ?
	       list->regions[at] : NULL;
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

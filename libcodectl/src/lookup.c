// SPDX-License-Identifier: MIT
/*
 * The list of regions, and lock-free lookups in it.
 *
 * The list is sorted, and there are two copies: the visible one does not change, the
 * other one is changed and takes its place.  A lookup counts itself in readers[], and
 * whoever changes the list waits until lookups that may have seen the old one, or a
 * region that is not in the new one, are done.  There are two counts, so that lookups
 * that begin during the wait do not prolong it.
 *
 * It does not wait under the lock, which a signal handler may want in the middle of a
 * lookup, for fork().  Whoever changes the list has another lock, too, for that time.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>

#include "internal.h"
#include "reader.h"

/**
 * struct list_pair - the visible list, and the other one
 * @max: number of regions that there is space for in each, or 0
 * @len: size of each in bytes
 * @map: both of them
 */
struct list_pair {
	size_t max;
	size_t len;
	char *map;
};

static struct codectl_list no_regions;
static struct list_pair pair;
/* The previous pair, which was too small, until nobody sees it. */
static struct list_pair outgrown;
static pthread_mutex_t change = PTHREAD_MUTEX_INITIALIZER;
struct codectl_list *codectl_list = &no_regions;

/*
 * A child has counts of its own, since lookups of other threads do not exist in it, and
 * one that its handler has interrupted ends in the old count.
 */
#define FORKS	16

static int readers[FORKS][2];
static unsigned int phase;

static int *counts(void)
{
	return readers[codectl_forks % FORKS];
}

static int *enter(void)
{
	int *count = counts() + __atomic_load_n(&phase, __ATOMIC_RELAXED);

	/*
	 * Before the list is read: pairs with publishing another one and then
	 * reading the count.
	 */
	__atomic_fetch_add(count, 1, __ATOMIC_SEQ_CST);

	return count;
}

static void leave(int *count)
{
	/* After all that was read: pairs with the loads of wait_for_readers() */
	__atomic_fetch_sub(count, 1, __ATOMIC_RELEASE);
}

static void wait_for_readers(void)
{
	unsigned int i, old;

	for (i = 0; i < 2; i++) {
		old = phase;
		__atomic_store_n(&phase, !old, __ATOMIC_RELAXED);
		while (__atomic_load_n(&counts()[old], __ATOMIC_SEQ_CST) > 0)
			sched_yield();
	}
}

/* Takes the lock, and the list to be changed once. */
void codectl_change_begin(void)
{
	pthread_mutex_lock(&change);
	codectl_lock();
}

/* When it returns, nobody sees what was removed from the list. */
void codectl_change_end(void)
{
	codectl_unlock();
	wait_for_readers();
	if (outgrown.map)
		munmap(outgrown.map, 2 * outgrown.len);
	outgrown.map = NULL;
	pthread_mutex_unlock(&change);
}

static void publish(struct codectl_list *list)
{
	/*
	 * After all that is in the list and in its regions, and before the count
	 * is read: pairs with find_region() and enter().
	 */
	__atomic_store_n(&codectl_list, list, __ATOMIC_SEQ_CST);
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
	struct codectl_list *list;
	struct list_pair new;

	if (codectl_list->nr < pair.max)
		return true;

	new.len = pair.len ? 2 * pair.len : CODECTL_PAGE;
	new.max = (new.len - sizeof(*list)) / sizeof(list->regions[0]);
	new.map = mmap(NULL, 2 * new.len, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (new.map == MAP_FAILED)
		return false;

	list = list_at(&new, false);
	list->nr = codectl_list->nr;
	memcpy(list->regions, codectl_list->regions,
	       list->nr * sizeof(list->regions[0]));
	outgrown = pair;
	pair = new;
	publish(list);

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

/* Replaces @nr regions from @at on by @region, if it is not NULL. */
void codectl_list_change(size_t at, size_t nr, struct codectl_region *region)
{
	const struct codectl_list *old = codectl_list;
	struct codectl_list *new = other_list();
	const size_t size = sizeof(region);
	size_t rest = old->nr - at - nr, next = at;

	memcpy(new->regions, old->regions, at * size);
	if (region)
		new->regions[next++] = region;
	memcpy(new->regions + next, old->regions + at + nr, rest * size);
	new->nr = next + rest;
	publish(new);
}

void codectl_lookup_forked(void)
{
	counts()[0] = 0;
	counts()[1] = 0;
	pthread_mutex_init(&change, NULL);
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
		.slots = (unsigned long)region->slots,
		.pool = (unsigned long)region->pool,
		.pool_len = region->pool_len,
		.shift = region->granule_shift,
	};
	uint32_t off = ip - region->text_start;
	struct code_jit_unwind_fre fre;
	uint32_t flags = 0;
	int ret;

	if (jit.shift)
		jit.nr_slots = codectl_granules(region, region->text_len);
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
	int *entered = enter();
	const struct codectl_region *region = find_region(ip);
	int ret = region ? find_rule(region, ip, rule) : -ENOENT;

	leave(entered);

	return ret;
}

// SPDX-License-Identifier: MIT
/*
 * Granule maps: functions that come and go in any order.
 *
 * A place in the pool, once it is a record for a given number of rows, stays one
 * forever: then its seq continues from what it was, and a reader that has the place
 * from an old slot finds out.  It is odd while the record is free; there is a list of
 * free records for each size.
 *
 * Records of many functions are not in the cache.  Retiring one takes only what the
 * writer keeps of each granule, and its record is freed a few functions later, when it
 * has arrived there.
 *
 * If another thread forks in the middle of this, the child is left with a record too
 * few, or with a function that is in only some of its granules: a rest.  Other
 * functions may come into the remainder of its granules, and it goes with any range
 * that it is in.
 */
#include <errno.h>
#include <sys/mman.h>

#include "internal.h"

static void store_u32(__u32 *to, uint32_t value)
{
	__atomic_store_n(to, value, __ATOMIC_RELAXED);
}

static struct code_jit_record *record_at(const struct codectl_region *region,
					 uint32_t slot)
{
	return (void *)(region->pool +
			(uint64_t)slot * CODE_JIT_RECORD_ALIGN);
}

static uint32_t slot_of(const struct codectl_region *region,
			const struct code_jit_record *record)
{
	return ((const char *)record - region->pool) / CODE_JIT_RECORD_ALIGN;
}

/* In a child that has what comes after, what is written before is there, too. */
static void order_for_fork(void)
{
	__asm__ volatile("" ::: "memory");
}

/* The list of free records with room for so many rows, and how many that is. */
static unsigned int size_class(uint32_t nr, uint64_t *room)
{
	unsigned int half, top;

	if (nr <= 4) {
		*room = nr;
		return nr - 1;
	}
	/* Two sizes for each power of two. */
	half = 30 - __builtin_clz(nr - 1);
	top = (nr - 1) >> half;
	*room = (uint64_t)(top + 1) << half;

	return 2 * half + top;
}

static void free_record(struct codectl_region *region, uint32_t slot)
{
	struct code_jit_record *record = record_at(region, slot);
	uint64_t room;
	uint32_t *list = &region->records_free[size_class(record->nr, &room)];

	store_u32(&record->seq, record->seq + 1);
	/*
	 * Before the record changes: pairs with the read barrier after it in the
	 * kernel's granule_end().
	 */
	__atomic_thread_fence(__ATOMIC_RELEASE);
	store_u32(&record->start, *list);
	order_for_fork();
	*list = slot;
}

/* Frees the one that was retired so many functions ago, if there is one. */
static uint32_t *next_retired(struct codectl_region *region)
{
	uint32_t *place = &region->retired[region->next_retired];
	uint32_t slot = *place;

	region->next_retired = (region->next_retired + 1) % CODECTL_RETIRED;
	if (slot) {
		*place = 0;
		order_for_fork();
		free_record(region, slot);
	}

	return place;
}

static void free_records(struct codectl_region *region)
{
	unsigned int i;

	for (i = 0; i < CODECTL_RETIRED; i++)
		next_retired(region);
}

/* A record that no slot names; its seq is odd if one ever did.  NULL: none left. */
static struct code_jit_record *take_record(struct codectl_region *region,
					   uint32_t nr)
{
	struct code_jit_record *record;
	uint64_t room, bytes;
	uint32_t *list;

	list = &region->records_free[size_class(nr, &room)];
	if (!*list)
		free_records(region);
	if (*list) {
		record = record_at(region, *list);
		*list = record->start;
		order_for_fork();
		return record;
	}

	bytes = sizeof(*record) + room * CODECTL_FRE_SIZE;
	if (bytes > region->pool_len - region->pool_used)
		return NULL;
	record = (void *)(region->pool + region->pool_used);
	region->pool_used += bytes;

	return record;
}

static void write_record(struct code_jit_record *record,
			 const struct codectl_func *func)
{
	uint32_t i;

	store_u32(&record->start, func->off);
	store_u32(&record->len, func->len);
	store_u32(&record->nr, func->nr);
	codectl_store_u64(&record->code_id, func->id);
	for (i = 0; i < func->nr; i++)
		codectl_store_row(&record->fre[i], &func->rows[i], func->off);
	/*
	 * After the record: pairs with the read barrier before it in the kernel's
	 * granule_begin().
	 */
	if (record->seq)
		__atomic_store_n(&record->seq, record->seq + 1,
				 __ATOMIC_RELEASE);
}

/* Keeps the function for the granules from @first to before @end. */
static void keep(struct codectl_region *region, uint64_t first, uint64_t end,
		 const struct codectl_func *func)
{
	uint32_t nr = func->nr < CODECTL_MANY_ROWS ? func->nr : CODECTL_MANY_ROWS;
	uint64_t i;

	for (i = first; i < end; i++)
		region->kept[i] = (struct codectl_granule) { .nr = nr };
	region->kept[first].begin = func->off - (first << region->granule_shift) + 1;
	region->kept[end - 1].end = (uint64_t)func->off + func->len -
				    ((end - 1) << region->granule_shift);
}

/* -EEXIST: there is a function in one of its granules. */
int codectl_granules_add(struct codectl_region *region,
			 const struct codectl_func *func)
{
	uint64_t first = func->off >> region->granule_shift;
	uint64_t end = codectl_granules(region,
					(uint64_t)func->off + func->len), i;
	struct code_jit_record *record;

	for (i = first; i < end; i++) {
		if (region->slots[i])
			return -EEXIST;
	}
	record = take_record(region, func->nr);
	if (!record)
		return -ENOSPC;

	write_record(record, func);
	region->rows_live += func->nr;
	keep(region, first, end, func);
	order_for_fork();
	for (i = first; i < end; i++)
		/*
		 * After the record: pairs with the read barrier after the slot
		 * in the kernel's granule_begin().
		 */
		__atomic_store_n(&region->slots[i], slot_of(region, record),
				 __ATOMIC_RELEASE);

	return 0;
}

/*
 * struct run - a function, by its granules
 * @first: the first one
 * @end: the one after the last
 * @start: the first byte of the text that belongs to it
 * @stop: the byte after the last
 * @rest: whether it is the rest of a function
 */
struct run {
	uint64_t first;
	uint64_t end;
	uint64_t start;
	uint64_t stop;
	bool rest;
};

/* The run with the granule @i; slots are stored in order, when retiring, too. */
static struct run find_run(const struct codectl_region *region, uint64_t i)
{
	uint64_t nr = codectl_granules(region, region->text_len);
	struct run run = { .first = i, .end = i + 1 };
	const struct codectl_granule *first, *last;
	uint32_t slot = region->slots[i];

	while (run.first && region->slots[run.first - 1] == slot)
		run.first--;
	while (run.end < nr && region->slots[run.end] == slot)
		run.end++;
	first = &region->kept[run.first];
	last = &region->kept[run.end - 1];
	run.rest = !first->begin || !last->end;
	run.start = run.first << region->granule_shift;
	run.stop = run.end << region->granule_shift;
	if (!run.rest) {
		run.start += first->begin - 1;
		run.stop = ((run.end - 1) << region->granule_shift) + last->end;
	}

	return run;
}

static uint32_t rows_of(const struct codectl_region *region, uint64_t i)
{
	uint32_t nr = region->kept[i].nr;

	return nr < CODECTL_MANY_ROWS ? nr : record_at(region, region->slots[i])->nr;
}

/* Counts the rows in a range.  -EINVAL: it contains a function only in part. */
static int count_rows(const struct codectl_region *region, uint64_t off,
		      uint64_t end)
{
	uint64_t i = off >> region->granule_shift;
	struct run run;
	int nr = 0;

	for (; i < codectl_granules(region, end); i++) {
		if (!region->slots[i])
			continue;
		run = find_run(region, i);
		i = run.end - 1;
		if (run.stop <= off || run.start >= end)
			continue;
		if ((run.start < off || run.stop > end) && !run.rest)
			return -EINVAL;
		nr += rows_of(region, run.first);
	}

	return nr;
}

static void unlink_run(struct codectl_region *region, const struct run *run)
{
	uint32_t slot = region->slots[run->first];
	uint64_t i;

	for (i = run->first; i < run->end; i++)
		store_u32(&region->slots[i], 0);
	order_for_fork();
	__builtin_prefetch(record_at(region, slot), 1);
	*next_retired(region) = slot;
}

/* Returns how many rows retire, or -EINVAL as above. */
int codectl_granules_retire(struct codectl_region *region, uint64_t off,
			    uint64_t end)
{
	int nr = count_rows(region, off, end);
	uint64_t i = off >> region->granule_shift;
	struct run run;

	if (nr <= 0)
		return nr;
	for (; i < codectl_granules(region, end); i++) {
		if (!region->slots[i])
			continue;
		run = find_run(region, i);
		i = run.end - 1;
		if (run.stop > off && run.start < end)
			unlink_run(region, &run);
	}
	region->rows_live -= nr;

	return nr;
}

/* Nothing is found any more, whatever is locked in memory, or how large pages are. */
void codectl_granules_clear(struct codectl_region *region)
{
	uint64_t i;

	if (!madvise(region->slots, region->pool - (char *)region->slots,
		     MADV_DONTNEED))
		return;
	for (i = 0; i < codectl_granules(region, region->text_len); i++) {
		if (region->slots[i])
			store_u32(&region->slots[i], 0);
	}
}

// SPDX-License-Identifier: MIT
/*
 * Granule maps: functions that come and go in any order.
 *
 * A place in the pool is a record for so many rows, once it is one, for ever: then
 * its seq goes on from what it was, and a reader that has the place from a slot of long
 * ago finds out.  It is odd while the record is free, of which there is a list for
 * each size.
 *
 * A fork() of another thread in the middle of it all leaves the child with a record
 * too few, or with a function that is in some of its granules only: a rest.  Others
 * may come into the rest of its granules, and it goes with any range that it is in.
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

/* What is written before is so in a child, too, that has what comes after. */
static void order_for_fork(void)
{
	__asm__ volatile("" ::: "memory");
}

static uint64_t record_end(const struct code_jit_record *record)
{
	return (uint64_t)record->start + record->len;
}

/* The list of free records with room for so many rows, and how many that is. */
static unsigned int size_class(uint32_t nr, uint64_t *room)
{
	unsigned int half, top;

	if (nr <= 4) {
		*room = nr;
		return nr - 1;
	}
	/* Two sizes from one power of two to the next. */
	half = 30 - __builtin_clz(nr - 1);
	top = (nr - 1) >> half;
	*room = (uint64_t)(top + 1) << half;

	return 2 * half + top;
}

/* A record that no slot names; its seq is odd if one ever did.  NULL: none left. */
static struct code_jit_record *take_record(struct codectl_region *region,
					   uint32_t nr)
{
	struct code_jit_record *record;
	uint64_t room, bytes;
	uint32_t *list;

	list = &region->records_free[size_class(nr, &room)];
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
	for (i = first; i < end; i++)
		/*
		 * After the record: pairs with the read barrier after the slot
		 * in the kernel's granule_begin().
		 */
		__atomic_store_n(&region->slots[i], slot_of(region, record),
				 __ATOMIC_RELEASE);

	return 0;
}

static void free_record(struct codectl_region *region, uint32_t slot)
{
	struct code_jit_record *record = record_at(region, slot);
	uint64_t i, end = codectl_granules(region, record_end(record)), room;
	uint32_t *list = &region->records_free[size_class(record->nr, &room)];

	/* Of a rest, others may be in the other granules. */
	for (i = record->start >> region->granule_shift; i < end; i++) {
		if (region->slots[i] == slot)
			store_u32(&region->slots[i], 0);
	}
	order_for_fork();
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

/* Slots are stored in the order of granules, be it to publish or to retire. */
static bool is_rest(const struct codectl_region *region, uint32_t slot)
{
	const struct code_jit_record *record = record_at(region, slot);
	uint64_t first = record->start >> region->granule_shift;
	uint64_t last = (record_end(record) - 1) >> region->granule_shift;

	return region->slots[first] != slot || region->slots[last] != slot;
}

/* Whether a function is in the range in part at least. */
static bool is_in(const struct code_jit_record *record, uint64_t off, uint64_t end)
{
	return record_end(record) > off && record->start < end;
}

/* Counts the rows in a range.  -EINVAL: a function is there in part only. */
static int count_rows(const struct codectl_region *region, uint64_t off,
		      uint64_t end)
{
	uint64_t i = off >> region->granule_shift;
	const struct code_jit_record *record;
	uint32_t slot, before = 0;
	int nr = 0;

	for (; i < codectl_granules(region, end); i++) {
		slot = region->slots[i];
		if (!slot || slot == before)
			continue;
		before = slot;
		record = record_at(region, slot);
		if (!is_in(record, off, end))
			continue;
		if ((record->start < off || record_end(record) > end) &&
		    !is_rest(region, slot))
			return -EINVAL;
		nr += record->nr;
	}

	return nr;
}

/* How many rows retire, or -EINVAL as above. */
int codectl_granules_retire(struct codectl_region *region, uint64_t off,
			    uint64_t end)
{
	int nr = count_rows(region, off, end);
	uint64_t i = off >> region->granule_shift;
	uint32_t slot;

	if (nr <= 0)
		return nr;
	for (; i < codectl_granules(region, end); i++) {
		slot = region->slots[i];
		if (slot && is_in(record_at(region, slot), off, end))
			free_record(region, slot);
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

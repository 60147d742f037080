// SPDX-License-Identifier: MIT
/*
 * Names of functions: kept until these retire, and reported to whoever asks for them.
 *
 * The writer of a region keeps names, after it has published the function that they
 * belong to.  All else is under the lock.
 *
 *	publisher			who replays
 *	---------			-----------
 *	the function and its name	bits of the word, set
 *	next_id, release	(c)	(b) membarrier(2)
 *	(a)				next_id, acquire, pairs with (c)
 *	bits of the word		names
 *
 * (a) orders for the compiler only, and (b) makes up for it in all threads: either the
 * publisher finds a bit, or the replay finds a next_id after the name.  The value of
 * next_id decides which of them reports it, as codectl_region.replayed.
 *
 * Records are reused while others are replayed:
 *
 *	writer				who replays
 *	------				-----------
 *	id, 0				id
 *	release			(d)	acquire, pairs with (e)
 *	all else			all else
 *	release			(e)	acquire, pairs with (d)
 *	id				id, the same
 */
#include <linux/membarrier.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "internal.h"

#define HEAD	offsetof(struct codectl_name_record, name)
#define WORD	sizeof(uint64_t)
/* The writer would have to change the same few names as often in between. */
#define MAX_TRIES	1000
#define NR_WORDS	(CODECTL_NAME_RECORD / WORD)

/**
 * union buffer - a record that nobody else sees
 * @record: the record
 * @words: as it is copied; its first word is the number
 */
union buffer {
	struct codectl_name_record record;
	uint64_t words[NR_WORDS];
};

/**
 * struct found - a name that was found
 * @unit: where it is
 * @off: first byte of the function
 * @id: its number
 */
struct found {
	uint32_t unit;
	uint32_t off;
	uint64_t id;
};

_Static_assert(HEAD + CODECTL_NAME_LEN + 1 <= CODECTL_NAME_RECORD,
	       "a name that is cut off fits");
_Static_assert(!offsetof(struct codectl_name_record, id), "the first word");

struct codectl_names codectl_names;

static size_t name_len(const char *name)
{
	return strnlen(name, CODECTL_NAME_LEN);
}

/* Names become parts of lines. */
static void copy_name(char *to, const char *name, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++)
		to[i] = (unsigned char)name[i] < ' ' ? ' ' : name[i];
	to[len] = '\0';
}

static size_t record_size(const struct codectl_name_record *record)
{
	return HEAD + strlen(record->name) + 1;
}

static size_t align_word(size_t size)
{
	return (size + WORD - 1) & -WORD;
}

/* After all of a record was read: does it still have the number? */
static bool is_same(const struct codectl_name_record *record, uint64_t id)
{
	/* (d) of the above. */
	__atomic_thread_fence(__ATOMIC_ACQUIRE);

	return id && __atomic_load_n(&record->id, __ATOMIC_RELAXED) == id;
}

static uint32_t *index_of(const struct codectl_region *region, uint64_t off)
{
	return &region->name_index[off / CODECTL_NAME_GRANULE];
}

/* --- keeping */

/* Writes a record of @size bytes to its place, and lets it be found. */
static void link_record(struct codectl_region *region, uint32_t unit,
			union buffer *from, size_t size)
{
	uint32_t *first = index_of(region, from->record.off);
	uint64_t *to = (void *)codectl_name_record(region, unit);
	size_t i;

	from->record.next = *first;
	for (i = 1; i * WORD < size || i * WORD < CODECTL_NAME_UNIT; i++)
		__atomic_store_n(to + i, from->words[i], __ATOMIC_RELAXED);
	/* (e) of the above. */
	__atomic_store_n(to, from->words[0], __ATOMIC_RELEASE);
	region->names_kept++;
	__atomic_store_n(first, unit, __ATOMIC_RELEASE);
}

/* Where the numbers of this copy of the library begin, far from those of others. */
static uint64_t begin_ids(const void *here)
{
	struct timespec now;
	uint64_t nsec;

	clock_gettime(CLOCK_MONOTONIC, &now);
	nsec = now.tv_sec * 1000000000ULL + now.tv_nsec;

	/* By the golden ratio; half of the numbers or more remain to count up. */
	return ((uintptr_t)here ^ nsec) * 0x9e3779b97f4a7c15 >> 33 << 32 | 1;
}

/*
 * The first of 2^32 numbers that no other region has, and that is larger than those
 * given before.
 */
static uint64_t first_id(void)
{
	static uint64_t last;
	uint64_t none = 0;

	if (!__atomic_load_n(&last, __ATOMIC_RELAXED))
		__atomic_compare_exchange_n(&last, &none, begin_ids(&last), false,
					    __ATOMIC_RELAXED, __ATOMIC_RELAXED);

	return __atomic_add_fetch(&last, 1ULL << 32, __ATOMIC_RELAXED);
}

/*
 * From here to codectl_name_end() the next number may be in use; forever, if it was
 * when another thread forked.
 */
uint64_t codectl_name_begin(struct codectl_region *region)
{
	uint64_t id = region->next_id;

	if (CODECTL_UNLIKELY(region->keeping && id))
		id++;
	/* There is none yet, or none left. */
	if (CODECTL_UNLIKELY(!(uint32_t)id))
		id = first_id();
	__atomic_store_n(&region->next_id, id, __ATOMIC_RELAXED);
	__atomic_store_n(&region->keeping, codectl_forks, __ATOMIC_RELEASE);

	return id;
}

void codectl_name_end(struct codectl_region *region)
{
	/* (c) of the above. */
	__atomic_store_n(&region->next_id, region->next_id + 1,
			 __ATOMIC_RELEASE);
	__atomic_store_n(&region->keeping, 0, __ATOMIC_RELEASE);
}

/*
 * Called by the writer of the region, which has just published the function, with a
 * number from codectl_name_begin(), or without one.
 */
bool codectl_name_keep(struct codectl_region *region,
		       const struct codectl_func *func)
{
	size_t len = name_len(func->name), size = HEAD + len + 1;
	uint32_t unit = codectl_name_alloc(region, size);
	union buffer new;

	if (!func->id)
		codectl_name_begin(region);
	if (unit) {
		memset(&new, 0, CODECTL_NAME_UNIT);
		new.record.id = region->next_id;
		new.record.off = func->off;
		new.record.len = func->len;
		copy_name(new.record.name, func->name, len);
		link_record(region, unit, &new, size);
	} else {
		region->names_lost++;
	}
	codectl_name_end(region);

	return unit;
}

static void free_record(struct codectl_region *region, uint32_t unit)
{
	struct codectl_name_record *record = codectl_name_record(region, unit);

	__atomic_store_n(&record->id, 0, __ATOMIC_RELAXED);
	/* (d) of the above. */
	__atomic_thread_fence(__ATOMIC_RELEASE);
	codectl_name_free(region, unit, record_size(record));
	region->names_kept--;
}

/*
 * Called by the writer of the region, so that no two names begin at the same address.
 * Returns how many began in the range.
 */
int codectl_names_forget(struct codectl_region *region, uint64_t off,
			 uint64_t end)
{
	struct codectl_name_record *record;
	uint32_t *at, *link, unit;
	int nr = 0;

	if (!region->names_kept)
		return 0;

	for (at = index_of(region, off); at <= index_of(region, end - 1);
	     at++) {
		for (link = at; (unit = *link);) {
			record = codectl_name_record(region, unit);
			if (record->off < off || record->off >= end) {
				link = &record->next;
				continue;
			}
			__atomic_store_n(link, record->next, __ATOMIC_RELAXED);
			free_record(region, unit);
			nr++;
		}
	}

	return nr;
}

/* Takes all that are kept, one after the other from @to on, and empties the index. */
static const char *take_records(struct codectl_region *region, char *to)
{
	uint64_t nr = codectl_name_granules(region->text_len), i;
	const struct codectl_name_record *record;
	uint32_t unit;
	size_t size;

	for (i = 0; i < nr; i++) {
		for (unit = region->name_index[i]; unit; unit = record->next) {
			record = codectl_name_record(region, unit);
			size = record_size(record);
			memcpy(to, record, size);
			to += align_word(size);
		}
		region->name_index[i] = 0;
	}

	return to;
}

/* Called under the lock, by the writer of the region. */
void codectl_names_compact(struct codectl_region *region)
{
	size_t len = region->names_used * CODECTL_NAME_UNIT, size;
	const char *end;
	char *copy, *at;

	if (!len)
		return;
	copy = mmap(NULL, len, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (copy == MAP_FAILED)
		return;

	end = take_records(region, copy);
	codectl_name_space_reset(region);
	region->names_kept = 0;
	for (at = copy; at < end; at += align_word(size)) {
		size = record_size((void *)at);
		link_record(region, codectl_name_alloc(region, size),
			    (void *)at, size);
	}
	munmap(copy, len);
}

/* --- reporting */

/* In order of address.  false: there is one that begins at the same address. */
static bool insert(struct found *found, int nr, struct found new)
{
	for (; nr && found[nr - 1].off > new.off; nr--)
		found[nr] = found[nr - 1];
	found[nr] = new;

	return !nr || found[nr - 1].off != new.off;
}

/* The names that begin in a granule; -1: they have changed meanwhile. */
static int list_names(const struct codectl_region *region, uint64_t granule,
		      struct found *found)
{
	uint32_t unit = __atomic_load_n(&region->name_index[granule],
					__ATOMIC_ACQUIRE);
	const struct codectl_name_record *record;
	uint32_t off, next;
	uint64_t id;
	int nr = 0;

	for (; unit; unit = next) {
		record = codectl_name_record(region, unit);
		id = __atomic_load_n(&record->id, __ATOMIC_ACQUIRE);
		off = __atomic_load_n(&record->off, __ATOMIC_RELAXED);
		next = __atomic_load_n(&record->next, __ATOMIC_RELAXED);
		/* A record that was linked again leads to names that were already found. */
		if (!is_same(record, id) || nr == CODECTL_NAME_GRANULE ||
		    off / CODECTL_NAME_GRANULE != granule ||
		    !insert(found, nr++, (struct found) { unit, off, id }))
			return -1;
	}

	return nr;
}

/* A record as it was when it had that number; false: it no longer has. */
static bool read_record(const struct codectl_region *region,
			const struct found *found, union buffer *to)
{
	const struct codectl_name_record *record =
		codectl_name_record(region, found->unit);
	const uint64_t *from = (const void *)record;
	const uint64_t *end = (const void *)(region->names +
					region->names_max * CODECTL_NAME_UNIT);
	size_t i = 0;

	/* If it changes, it may have no end. */
	do {
		to->words[i] = __atomic_load_n(from + i, __ATOMIC_RELAXED);
	} while (++i < CODECTL_NAME_UNIT / WORD ||
		 (i < NR_WORDS && from + i < end &&
		  !memchr(&to->words[i - 1], 0, WORD)));

	return is_same(record, found->id);
}

static int tell_granule(const struct codectl_region *region, uint64_t granule,
			uint64_t limit,
			int (*tell)(const struct codectl_name *name))
{
	struct found found[CODECTL_NAME_GRANULE];
	union buffer copy;
	unsigned int tries = MAX_TRIES;
	int nr, i, ret;

	do {
		nr = list_names(region, granule, found);
	} while (nr < 0 && --tries);

	for (i = 0; i < nr; i++) {
		if (found[i].id >= limit ||
		    !read_record(region, &found[i], &copy))
			continue;
		ret = tell(&(struct codectl_name) {
			.id = found[i].id,
			.start = region->text_start + copy.record.off,
			.len = copy.record.len,
			.text = copy.record.name,
		});
		if (ret)
			return ret;
	}

	return 0;
}

/* The number of the first name that its publisher will report itself. */
static uint64_t kept_before(const struct codectl_region *region)
{
	/* (c) of the above. */
	uint64_t id = __atomic_load_n(&region->next_id, __ATOMIC_ACQUIRE);
	uint32_t keeping = __atomic_load_n(&region->keeping, __ATOMIC_RELAXED);

	/* Whoever was keeping it has stayed in the parent. */
	return id + (keeping && keeping != codectl_forks);
}

static int replay_region(struct codectl_region *region,
			 enum codectl_listener listener,
			 int (*tell)(const struct codectl_name *name))
{
	uint64_t nr = codectl_name_granules(region->text_len), granule;
	int ret = 0;

	region->replayed[listener] = kept_before(region);
	for (granule = 0; region->names_max && granule < nr && !ret; granule++)
		if (__atomic_load_n(&region->name_index[granule],
				    __ATOMIC_RELAXED))
			ret = tell_granule(region, granule,
					   region->replayed[listener], tell);

	return ret;
}

/* Called under the lock, when the listener's bit is set. */
int codectl_names_replay(enum codectl_listener listener,
			 int (*tell)(const struct codectl_name *name))
{
	size_t i;
	int ret;

	/* (b) of the above. */
	syscall(__NR_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0,
		0);
	syscall(__NR_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);

	for (i = 0; i < codectl_list->nr; i++) {
		ret = replay_region(codectl_list->regions[i], listener, tell);
		if (ret)
			return ret;
	}

	return 0;
}

/* Has no replay reported it, and will none?  Replays report what is kept. */
static bool is_new(const struct codectl_region *region,
		   enum codectl_listener listener, uint32_t bit, uint64_t id,
		   bool kept)
{
	return (codectl_names_bits() & bit) &&
	       (!kept || id >= region->replayed[listener]);
}

/* Called by the writer of the region, which has just published the function. */
void codectl_names_added(const struct codectl_region *region,
			 const struct codectl_func *func)
{
	char text[CODECTL_NAME_LEN + 1];
	struct codectl_name name;

	codectl_lock();
	codectl_event_check();
	if (func->replaces)
		codectl_event_retire(region->text_start + func->off, func->len);
	if (!func->name)
		goto unlock;

	codectl_map_check();
	copy_name(text, func->name, name_len(func->name));
	name = (struct codectl_name) {
		.id = region->next_id - 1,
		.start = region->text_start + func->off,
		.len = func->len,
		.text = text,
	};
	if (is_new(region, CODECTL_MAP, CODECTL_NAMES_MAP, name.id,
		   func->kept))
		codectl_map_add(&name);
	if (is_new(region, CODECTL_EVENT, CODECTL_NAMES_EVENT, name.id,
		   func->kept))
		codectl_event_add(&name);
unlock:
	codectl_unlock();
}

/* Called by the writer of the region: what was there has just been retired. */
void codectl_names_retired(uint64_t start, uint64_t len)
{
	codectl_lock();
	codectl_event_retire(start, len);
	codectl_unlock();
}

void codectl_names_poll(void)
{
	if (!CODECTL_UNLIKELY(codectl_names_bits() & CODECTL_NAMES_POLL))
		return;

	codectl_lock();
	codectl_event_check();
	codectl_unlock();
}

uint32_t *codectl_names_word(void)
{
	return &codectl_names.word;
}

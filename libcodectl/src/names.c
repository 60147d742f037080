// SPDX-License-Identifier: MIT
/*
 * Names of functions: kept with the rows, and told to who asks for them.
 *
 * The writer of a region keeps names, before it publishes the row that they
 * belong to.  All else belongs to the lock.
 *
 *	publisher			who replays
 *	---------			-----------
 *	the function			bits of the word, set
 *	(a)				(b) membarrier(2)
 *	bits of the word		functions
 *
 * (a) orders for the compiler only, and (b) makes up for it in all threads:
 * either the publisher finds a bit, or who replays finds the function.  If both
 * do, codectl_region.replayed says so: numbers of names go up as functions of a
 * region are published, and a replay that has seen one has seen all before it.
 */
#include <linux/membarrier.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "internal.h"

/**
 * struct record - a name
 * @id: its number
 * @off: first byte of the function, from the start of the text
 * @len: its length
 * @name: its name, ended by a 0
 */
struct record {
	uint64_t id;
	uint32_t off;
	uint32_t len;
	char name[];
} __attribute__((__packed__, __aligned__(4)));

struct codectl_names codectl_names;

static size_t name_len(const char *name)
{
	return strnlen(name, CODECTL_NAME_LEN);
}

/* Names are parts of lines. */
static void copy_name(char *to, const char *name, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++)
		to[i] = (unsigned char)name[i] < ' ' ? ' ' : name[i];
	to[len] = '\0';
}

static size_t record_units(size_t len)
{
	return (sizeof(struct record) + len + 1 + sizeof(uint32_t) - 1) /
	       sizeof(uint32_t);
}

/* Where the name is kept, or 0. */
uint32_t codectl_name_keep(struct codectl_region *region,
			   const struct codectl_func *func)
{
	uint32_t pos = region->names_used;
	struct record *record;
	size_t len, units;
	uint64_t id;

	if (!func->name)
		return 0;

	region->has_names = true;
	id = region->next_id++;
	len = name_len(func->name);
	units = record_units(len);
	if (units > region->names_max - pos) {
		region->names_lost++;
		return 0;
	}

	record = (void *)(region->names + pos);
	record->id = id;
	record->off = func->off;
	record->len = func->len;
	copy_name(record->name, func->name, len);
	region->names_used = pos + units;

	return pos;
}

static const struct record *
record_of(const struct codectl_region *region, const struct codectl_cursor *pos)
{
	uint32_t unit = *codectl_row_name(region, pos);

	if (!unit || !codectl_row_size(pos))
		return NULL;

	return (void *)(region->names + unit);
}

/* Under the lock, by the writer of the region. */
void codectl_names_compact(struct codectl_region *region)
{
	size_t len = region->names_used * sizeof(uint32_t);
	struct codectl_cursor pos = { codectl_table(region, 0), 0 };
	const struct record *record;
	uint64_t used = 1;
	uint32_t *copy;
	size_t units;

	copy = mmap(NULL, len, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (copy == MAP_FAILED)
		return;

	for (; codectl_cursor_valid(&pos); codectl_cursor_next(&pos)) {
		record = record_of(region, &pos);
		if (!record)
			continue;
		units = record_units(strlen(record->name));
		if (units > region->names_used - used)
			break;
		memcpy(copy + used, record, units * sizeof(uint32_t));
		*codectl_row_name(region, &pos) = used;
		used += units;
	}
	memcpy(region->names, copy, used * sizeof(uint32_t));
	region->names_used = used;
	munmap(copy, len);
}

/* --- telling */

static int replay_region(struct codectl_region *region,
			 enum codectl_listener listener,
			 int (*tell)(const struct codectl_name *name))
{
	struct codectl_cursor pos = { codectl_table(region, 0), 0 };
	const struct record *record;
	struct codectl_name name;
	int ret;

	for (; codectl_cursor_valid(&pos); codectl_cursor_next(&pos)) {
		record = record_of(region, &pos);
		if (!record)
			continue;
		name = (struct codectl_name) {
			.id = record->id,
			.start = region->text_start + record->off,
			.len = record->len,
			.text = record->name,
		};
		if (region->replayed[listener] <= name.id)
			region->replayed[listener] = name.id + 1;
		ret = tell(&name);
		if (ret)
			return ret;
	}

	return 0;
}

/* Under the lock, when the listener's bit is set. */
int codectl_names_replay(enum codectl_listener listener,
			 int (*tell)(const struct codectl_name *name))
{
	struct codectl_region *region;
	int ret;

	/* (b) of the above. */
	syscall(__NR_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0,
		0);
	syscall(__NR_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);

	for (region = codectl_regions; region; region = region->next) {
		ret = replay_region(region, listener, tell);
		if (ret)
			return ret;
	}

	return 0;
}

static bool is_new(const struct codectl_region *region,
		   enum codectl_listener listener, uint32_t bit, uint64_t id)
{
	return (codectl_names_bits() & bit) && id >= region->replayed[listener];
}

/* By the writer of the region: it has just published the function. */
void codectl_names_added(const struct codectl_region *region,
			 const struct codectl_func *func)
{
	char text[CODECTL_NAME_LEN + 1];
	struct codectl_name name;

	codectl_lock();
	codectl_event_check();
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
	if (is_new(region, CODECTL_MAP, CODECTL_NAMES_MAP, name.id))
		codectl_map_add(&name);
	if (is_new(region, CODECTL_EVENT, CODECTL_NAMES_EVENT, name.id))
		codectl_event_add(&name);
unlock:
	codectl_unlock();
}

/* By the writer of the region: what was there has just been retired. */
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

// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "index.h"
#include "tool.h"

struct index_slot {
	uint32_t hash;
	uint32_t record;	/* its number plus 1; 0: the slot is free */
};

struct hash_key {
	uint64_t start, factor;
};

static const struct hash_key *hash_key(void)
{
	static struct hash_key key;

	if (!key.factor && getrandom(&key, sizeof(key), 0) != sizeof(key))
		die("no random numbers: %s", strerror(errno));
	/* Odd, so that no product is 0. */
	key.factor |= 1;
	return &key;
}

/* Folds both halves of the product: the factor spreads differences in the highest bits. */
static uint64_t fold(uint64_t hash, uint64_t factor)
{
	const unsigned __int128 product = (unsigned __int128)hash * factor;

	return product ^ product >> 64;
}

uint32_t index_hash(const void *data, size_t len)
{
	const struct hash_key *key = hash_key();
	uint64_t hash = key->start ^ len, word;
	const char *at = data;

	for (; len; at += word, len -= word) {
		uint64_t part = 0;

		word = len < sizeof(part) ? len : sizeof(part);
		memcpy(&part, at, word);
		hash = fold(hash ^ part, key->factor);
	}
	return fold(hash ^ key->start, key->factor);
}

uint32_t index_next(const struct index *index, uint32_t hash, uint32_t *at)
{
	if (!index->slots)
		return INDEX_NONE;
	for (;;) {
		const struct index_slot *slot = &index->slots[*at & index->mask];

		if (!slot->record)
			return INDEX_NONE;
		*at = (*at & index->mask) + 1;
		if (slot->hash == hash)
			return slot->record - 1;
	}
}

static void put(struct index *index, uint32_t hash, uint32_t record)
{
	uint32_t at = hash & index->mask;

	while (index->slots[at].record)
		at = (at + 1) & index->mask;
	index->slots[at] = (struct index_slot){ hash, record + 1 };
}

/* Keeps a quarter of the slots free, so that index_next() ends. */
static void grow(struct index *index)
{
	struct index_slot *old = index->slots;
	size_t size = old ? index->mask + 1ULL : 0;

	need_done(size > UINT32_MAX / 2);
	index->mask = size ? 2 * size - 1 : 63;
	index->slots = need(calloc(index->mask + 1ULL, sizeof(*index->slots)));
	for (size_t i = 0; i < size; i++)
		if (old[i].record)
			put(index, old[i].hash, old[i].record - 1);
	free(old);
}

void index_add(struct index *index, uint32_t hash, uint32_t record)
{
	if (!index->slots || index->nr >= index->mask / 4 * 3)
		grow(index);
	put(index, hash, record);
	index->nr++;
}

void index_free(struct index *index)
{
	free(index->slots);
}

uint32_t pool_intern(struct pool *pool, const void *record)
{
	uint32_t hash = index_hash(record, pool->key_size), at = hash, nr;

	while ((nr = index_next(&pool->index, hash, &at)) != INDEX_NONE)
		if (!memcmp(pool_at(pool, nr), record, pool->key_size))
			return nr;
	if (pool->nr == pool->room) {
		pool->room = pool->room ? pool->room + pool->room / 2 : 16;
		pool->records = need(reallocarray(pool->records, pool->room, pool->size));
	}
	memcpy(pool_at(pool, pool->nr), record, pool->size);
	index_add(&pool->index, hash, pool->nr);
	return pool->nr++;
}

void pool_free(struct pool *pool)
{
	index_free(&pool->index);
	free(pool->records);
}

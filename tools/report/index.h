/* SPDX-License-Identifier: MIT */
/*
 * Finds the records of an array by their contents.  Hashes are keyed by a random number
 * drawn at start, so that whoever makes up the records cannot make them collide.
 */
#ifndef INDEX_H
#define INDEX_H

#include <stddef.h>
#include <stdint.h>

#define INDEX_NONE	UINT32_MAX

struct index {
	struct index_slot *slots;
	uint32_t mask, nr;
};

uint32_t index_hash(const void *data, size_t len);

/*
 * The next candidate record, from *@at on, which is initially the hash; INDEX_NONE if
 * none is left.
 */
uint32_t index_next(const struct index *index, uint32_t hash, uint32_t *at);

void index_add(struct index *index, uint32_t hash, uint32_t record);
void index_free(struct index *index);

/* Records of @size bytes, each kept once; the first @key_size bytes distinguish them. */
struct pool {
	size_t size, key_size;
	char *records;
	uint32_t nr, room;
	struct index index;
};

/* The number of the record, which is copied if there was none like it. */
uint32_t pool_intern(struct pool *pool, const void *record);
void pool_free(struct pool *pool);

static inline void *pool_at(const struct pool *pool, uint32_t nr)
{
	return pool->records + nr * pool->size;
}

#endif

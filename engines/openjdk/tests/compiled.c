// SPDX-License-Identifier: MIT
#include <jvmti.h>
#include <jvmticmlr.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "../vm.h"
#include "walk.h"

#define GRANULE	16

/* One pointer for each granule; its target is never freed. */
static const struct compiled **granules;
static uint64_t low, high;

bool methods_open(uint64_t first, uint64_t end)
{
	uint64_t len = (end - first) / GRANULE * sizeof(*granules);
	void *map = mmap(NULL, len, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (map == MAP_FAILED)
		return false;
	low = first;
	high = end;
	granules = map;

	return true;
}

static void fill(uint64_t start, uint64_t end, const struct compiled *compiled)
{
	for (; start < end; start += GRANULE)
		__atomic_store_n(&granules[(start - low) / GRANULE], compiled,
				 __ATOMIC_RELEASE);
}

static void take_places(struct compiled *compiled, const PCStackInfo *info, jint nr)
{
	jint i, j;

	compiled->places = calloc(nr, sizeof(*compiled->places));
	for (i = 0; compiled->places && i < nr; i++) {
		struct place *place = &compiled->places[i];

		place->pc = (uintptr_t)info[i].pc;
		place->nr = info[i].numstackframes;
		place->methods = calloc(place->nr, sizeof(jmethodID));
		if (!place->methods)
			return;
		for (j = 0; j < info[i].numstackframes; j++)
			place->methods[j] = info[i].methods[j];
		compiled->nr_places = i + 1;
	}
}

void methods_load(jmethodID method, uint64_t start, uint64_t size, const void *inlining)
{
	struct compiled *compiled = calloc(1, sizeof(*compiled));
	const jvmtiCompiledMethodLoadRecordHeader *header = inlining;
	struct vm_blob blob;

	if (!granules || !compiled || !vm_blob_at(start, &blob))
		return;
	*compiled = (struct compiled){
		.start = start, .end = start + size, .blob_end = blob.end, .method = method,
		.id = blob.id,
	};
	for (; header; header = header->next) {
		const jvmtiCompiledMethodLoadInlineRecord *record = (const void *)header;

		if (header->kind == JVMTI_CMLR_INLINE_INFO && !compiled->places)
			take_places(compiled, record->pcinfo, record->numpcs);
	}
	fill(start, blob.end, compiled);
}

void methods_unload(uint64_t start)
{
	const struct compiled *compiled = methods_find(start);

	if (compiled)
		fill(compiled->start, compiled->blob_end, NULL);
}

const struct compiled *methods_find(uint64_t ip)
{
	if (!granules || ip < low || ip >= high)
		return NULL;

	return __atomic_load_n(&granules[(ip - low) / GRANULE], __ATOMIC_ACQUIRE);
}

const struct place *methods_place(const struct compiled *compiled, uint64_t ip, bool exact)
{
	uint32_t i;

	for (i = 0; i < compiled->nr_places; i++) {
		if (compiled->places[i].pc == ip)
			return &compiled->places[i];
		if (!exact && compiled->places[i].pc > ip)
			return &compiled->places[i];
	}

	return NULL;
}

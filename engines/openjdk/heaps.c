// SPDX-License-Identifier: MIT
#include <errno.h>
#include <search.h>
#include <stddef.h>
#include <stdlib.h>

#include "heaps.h"
#include "vm.h"

static struct {
	struct vm_heap heap;
	struct codectl_region *region;
} regions[MAX_HEAPS];

static unsigned int nr_regions;

/*
 * Published ranges, in a tree of tsearch(): the VM may reuse addresses before it reports that
 * the previous method was unloaded.
 */
struct published {
	uint64_t start;
	uint64_t end;
};

static void *all_published;

/* Ranges that overlap are equal. */
static int compare(const void *left, const void *right)
{
	const struct published *a = left, *b = right;

	if (a->end <= b->start)
		return -1;

	return a->start >= b->end;
}

bool heaps_opened(void)
{
	return nr_regions;
}

/* No two methods share a segment; stubs may. */
static unsigned int shift_of(const struct vm_heap *heap, bool stubs)
{
	if (stubs || heap->segment_shift < CODE_JIT_MIN_SHIFT)
		return CODE_JIT_MIN_SHIFT;

	return heap->segment_shift < CODE_JIT_MAX_SHIFT ? heap->segment_shift :
							  CODE_JIT_MAX_SHIFT;
}

int heaps_open(void)
{
	struct vm_heap heaps[MAX_HEAPS];
	unsigned int i, nr = vm_heaps(heaps);
	int ret;

	if (!nr)
		return -EAGAIN;
	for (i = 0; i < nr; i++) {
		struct codectl_region_attr attr = {
			.flags = CODECTL_REGION_GRANULES,
			.granule_shift = shift_of(&heaps[i], i == nr - 1),
		};

		ret = codectl_region_open((void *)(uintptr_t)heaps[i].start,
					  heaps[i].end - heaps[i].start, &attr,
					  &regions[i].region);
		if (ret)
			goto close;
		regions[i].heap = heaps[i];
	}
	nr_regions = nr;

	return 0;
close:
	while (i-- > 0)
		codectl_region_close(regions[i].region);

	return ret;
}

static struct codectl_region *region_of(uint64_t start)
{
	unsigned int i;

	for (i = 0; i < nr_regions; i++) {
		if (start >= regions[i].heap.start && start < regions[i].heap.end)
			return regions[i].region;
	}

	return NULL;
}

void heaps_retire(uint64_t start, uint64_t len)
{
	struct published range = { start, start + len }, *old, **found;

	for (;;) {
		found = tfind(&range, &all_published, compare);
		if (!found)
			return;
		old = *found;
		codectl_region_retire(region_of(old->start), old->start,
				      old->end - old->start);
		tdelete(old, &all_published, compare);
		free(old);
	}
}

int heaps_add(uint64_t start, uint64_t len, const struct code_jit_unwind_fre *fre,
	      unsigned int nr, const char *name)
{
	struct codectl_region *region = region_of(start);
	struct published *new;
	int ret;

	if (!region)
		return -EINVAL;
	heaps_retire(start, len);
	new = malloc(sizeof(*new));
	if (!new)
		return -ENOMEM;
	*new = (struct published){ start, start + len };
	ret = codectl_region_add(region, start, len, fre, nr, name);
	if (!ret && !tsearch(new, &all_published, compare)) {
		codectl_region_retire(region, start, len);
		ret = -ENOMEM;
	}
	if (ret)
		free(new);

	return ret;
}

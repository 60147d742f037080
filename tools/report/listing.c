// SPDX-License-Identifier: MIT
/*
 * Stacks as they are: functions, files and offsets.
 */
#include <stdlib.h>

#include "tool.h"
#include "writers.h"

/* A stack of an event. */
struct listed {
	uint32_t event, stack;
	uint64_t weight;	/* not part of the key */
};

static void put_place(const struct profile_frame *frame, FILE *to)
{
	if (frame->file) {
		fprintf(to, "%s%s+0x%llx", frame->file,
			frame->flags & PROFILE_CLAIMED ? " (claimed)" : "",
			(unsigned long long)frame->offset);
		return;
	}
	fprintf(to, "0x%llx", (unsigned long long)frame->offset);
	if (frame->id)
		fprintf(to, ", id 0x%llx", (unsigned long long)frame->id);
	if (frame->code)
		fprintf(to, ", code 0x%llx", (unsigned long long)frame->code);
}

static void put_frame(const struct profile_frame *frame, FILE *to)
{
	putc('\t', to);
	if (frame->flags & PROFILE_MARK) {
		fprintf(to, "%s\n", frame->function ?: "[unknown]");
		return;
	}
	if (frame->flags & PROFILE_INLINED) {
		/* Its place is that of the function that it is inlined in. */
		fprintf(to, "%s (inlined)", frame->function ?: "[unknown]");
	} else {
		if (frame->function)
			fprintf(to, "%s+0x%llx%s (", frame->function,
				(unsigned long long)frame->distance,
				frame->flags & PROFILE_KERNEL ? " [k]" : "");
		put_place(frame, to);
		if (frame->function)
			putc(')', to);
	}
	if (frame->source && frame->line)
		fprintf(to, " at %s:%u", frame->source, frame->line);
	putc('\n', to);
}

static void put_stack(const struct profile *profile, const struct listed *listed, FILE *to)
{
	fprintf(to, "%llu %s\n", (unsigned long long)listed->weight,
		profile_event_at(profile, listed->event).name);
	for (uint32_t stack = listed->stack; stack != PROFILE_NO_STACK;
	     stack = profile_stack_caller(profile, stack)) {
		struct profile_frame frame =
			profile_frame_at(profile, profile_stack_frame(profile, stack));

		put_frame(&frame, to);
	}
	putc('\n', to);
}

/* Equal ones stay in the order in which they came. */
static int by_weight(const void *one, const void *other)
{
	const struct listed *const *a = one, *const *b = other;

	if ((*a)->weight != (*b)->weight)
		return (*a)->weight > (*b)->weight ? -1 : 1;
	return *a < *b ? -1 : 1;
}

static struct pool count_stacks(const struct selection *selection, uint64_t *all)
{
	struct pool pool = {
		.size = sizeof(struct listed), .key_size = offsetof(struct listed, weight),
	};
	const uint32_t nr = profile_counts(selection->profile).samples;

	*all = 0;
	for (uint32_t i = 0; i < nr; i++) {
		const struct profile_sample *sample = profile_sample_at(selection->profile, i);
		struct listed key = { sample->event, sample->stack, 0 }, *listed;
		uint64_t weight = select_weight(selection, sample);

		if (sample->base || !select_takes(selection, sample))
			continue;
		listed = pool_at(&pool, pool_intern(&pool, &key));
		listed->weight += weight;
		*all += weight;
	}
	return pool;
}

size_t listing_write(const struct selection *selection, FILE *to)
{
	uint64_t all;
	struct pool pool = count_stacks(selection, &all);
	struct listed **sorted = need(calloc(pool.nr + 1, sizeof(*sorted)));
	const size_t nr = pool.nr;

	for (size_t i = 0; i < nr; i++)
		sorted[i] = pool_at(&pool, i);
	qsort(sorted, nr, sizeof(*sorted), by_weight);
	for (size_t i = 0; to && i < nr; i++)
		if (100.0 * sorted[i]->weight >= selection->min_share * all)
			put_stack(selection->profile, sorted[i], to);
	free(sorted);
	pool_free(&pool);
	return nr;
}

// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include <string.h>

#include "index.h"
#include "profile.h"
#include "text.h"
#include "tool.h"

/*
 * As in profile.h, with numbers for strings.  Pools compare all bytes: none has
 * padding.
 */
struct kept_frame {
	uint64_t offset, distance, id, code;
	uint32_t function, file, source, line, flags, zero;
};

struct kept_file {
	uint32_t path, build_id;
};

struct kept_task {
	uint32_t comm, cgroup;
	int32_t pid, tid;
};

struct kept_event {
	uint32_t name, timed;
};

struct kept_stack {
	uint32_t caller, frame;
	uint32_t depth;		/* not part of the key */
};

struct kept_note {
	uint32_t text, base;
	uint64_t count;
};

struct profile {
	char **strings;
	uint32_t nr_strings, room_strings;
	struct index index;	/* of strings */
	struct pool files, frames, stacks, tasks, events, samples, notes;
	struct profile_about about[2];
	uint64_t sum_events[2], sum_ns[2];
};

static struct pool pool_of(size_t size, size_t key_size)
{
	return (struct pool){ .size = size, .key_size = key_size };
}

/* The whole record is the key. */
#define POOL(type)	pool_of(sizeof(type), sizeof(type))

struct profile *profile_new(void)
{
	struct profile *profile = need(calloc(1, sizeof(*profile)));

	profile->files = POOL(struct kept_file);
	profile->frames = POOL(struct kept_frame);
	profile->stacks = pool_of(sizeof(struct kept_stack), offsetof(struct kept_stack, depth));
	profile->tasks = POOL(struct kept_task);
	profile->events = POOL(struct kept_event);
	profile->samples = pool_of(sizeof(struct profile_sample),
				   offsetof(struct profile_sample, events));
	profile->notes = POOL(struct kept_note);
	return profile;
}

void profile_free(struct profile *profile)
{
	struct pool *pools[] = {
		&profile->files, &profile->frames, &profile->stacks, &profile->tasks,
		&profile->events, &profile->samples, &profile->notes,
	};

	for (size_t i = 0; i < ARRAY_SIZE(pools); i++)
		pool_free(pools[i]);
	for (uint32_t i = 0; i < profile->nr_strings; i++)
		free(profile->strings[i]);
	free(profile->strings);
	index_free(&profile->index);
	free(profile);
}

struct profile_about *profile_about(struct profile *profile, bool base)
{
	return &profile->about[base];
}

/* ------------------------------------------------------------------ strings */

/* INDEX_NONE for NULL. */
static uint32_t keep_string(struct profile *profile, const char *text)
{
	uint32_t hash, at, nr;
	char *clean;

	if (!text)
		return INDEX_NONE;
	clean = text_clean(text);
	hash = index_hash(clean, strlen(clean));
	at = hash;
	while ((nr = index_next(&profile->index, hash, &at)) != INDEX_NONE) {
		if (!strcmp(profile->strings[nr], clean)) {
			free(clean);
			return nr;
		}
	}
	if (profile->nr_strings == profile->room_strings) {
		profile->room_strings = profile->room_strings ? 2 * profile->room_strings : 64;
		profile->strings = need(reallocarray(profile->strings, profile->room_strings,
						     sizeof(*profile->strings)));
	}
	profile->strings[profile->nr_strings] = clean;
	index_add(&profile->index, hash, profile->nr_strings);
	return profile->nr_strings++;
}

static const char *string_at(const struct profile *profile, uint32_t nr)
{
	return nr == INDEX_NONE ? NULL : profile->strings[nr];
}

const char *profile_string(struct profile *profile, const char *text)
{
	return string_at(profile, keep_string(profile, text));
}

/* ------------------------------------------------------------------ records */

void profile_note(struct profile *profile, const struct profile_note *note)
{
	const struct kept_note record = {
		keep_string(profile, note->text), note->base, note->count,
	};

	pool_intern(&profile->notes, &record);
}

uint32_t profile_event(struct profile *profile, const struct profile_event *event)
{
	const struct kept_event record = { keep_string(profile, event->name), event->timed };

	return pool_intern(&profile->events, &record);
}

uint32_t profile_task(struct profile *profile, const struct profile_task *task)
{
	const struct kept_task record = {
		keep_string(profile, task->comm), keep_string(profile, task->cgroup),
		task->pid, task->tid,
	};

	return pool_intern(&profile->tasks, &record);
}

uint32_t profile_frame(struct profile *profile, const struct profile_frame *frame)
{
	const struct kept_file file = {
		keep_string(profile, frame->file), keep_string(profile, frame->build_id),
	};
	const struct kept_frame record = {
		.offset		= frame->offset,
		.distance	= frame->distance,
		.id		= frame->id,
		.code		= frame->code,
		.function	= keep_string(profile, frame->function),
		.file		= pool_intern(&profile->files, &file),
		.source		= keep_string(profile, frame->source),
		.line		= frame->line,
		.flags		= frame->flags,
	};

	return pool_intern(&profile->frames, &record);
}

uint32_t profile_depth(const struct profile *profile, uint32_t stack)
{
	const struct kept_stack *record;

	if (stack == PROFILE_NO_STACK)
		return 0;
	record = pool_at(&profile->stacks, stack);
	return record->depth;
}

uint32_t profile_stack(struct profile *profile, uint32_t caller, uint32_t frame)
{
	const struct kept_stack record = {
		caller, frame, profile_depth(profile, caller) + 1,
	};

	if (record.depth > PROFILE_MAX_DEPTH)
		return caller;
	return pool_intern(&profile->stacks, &record);
}

bool profile_add(struct profile *profile, const struct profile_sample *sample)
{
	struct profile_sample key = *sample, *kept;
	uint64_t *events = &profile->sum_events[sample->base];
	uint64_t *ns = &profile->sum_ns[sample->base];

	if (sample->events > INT64_MAX - *events || sample->ns > INT64_MAX - *ns)
		return false;
	*events += sample->events;
	*ns += sample->ns;
	key.time -= key.time % PROFILE_TICK_NS;
	key.events = 0;
	key.ns = 0;
	kept = pool_at(&profile->samples, pool_intern(&profile->samples, &key));
	kept->events += sample->events;
	kept->ns += sample->ns;
	return true;
}

/* ------------------------------------------------------------------ reading */

struct profile_counts profile_counts(const struct profile *profile)
{
	return (struct profile_counts){
		.events = profile->events.nr, .tasks = profile->tasks.nr,
		.frames = profile->frames.nr, .stacks = profile->stacks.nr,
		.samples = profile->samples.nr, .notes = profile->notes.nr,
	};
}

struct profile_event profile_event_at(const struct profile *profile, uint32_t nr)
{
	const struct kept_event *record = pool_at(&profile->events, nr);

	return (struct profile_event){ string_at(profile, record->name), record->timed };
}

struct profile_task profile_task_at(const struct profile *profile, uint32_t nr)
{
	const struct kept_task *record = pool_at(&profile->tasks, nr);

	return (struct profile_task){
		string_at(profile, record->comm), string_at(profile, record->cgroup),
		record->pid, record->tid,
	};
}

struct profile_frame profile_frame_at(const struct profile *profile, uint32_t nr)
{
	const struct kept_frame *record = pool_at(&profile->frames, nr);
	const struct kept_file *file = pool_at(&profile->files, record->file);

	return (struct profile_frame){
		.function	= string_at(profile, record->function),
		.file		= string_at(profile, file->path),
		.build_id	= string_at(profile, file->build_id),
		.source		= string_at(profile, record->source),
		.line		= record->line,
		.flags		= record->flags,
		.offset		= record->offset,
		.distance	= record->distance,
		.id		= record->id,
		.code		= record->code,
	};
}

struct profile_note profile_note_at(const struct profile *profile, uint32_t nr)
{
	const struct kept_note *record = pool_at(&profile->notes, nr);

	return (struct profile_note){
		string_at(profile, record->text), record->count, record->base,
	};
}

const struct profile_sample *profile_sample_at(const struct profile *profile, uint32_t nr)
{
	return pool_at(&profile->samples, nr);
}

uint32_t profile_stack_caller(const struct profile *profile, uint32_t stack)
{
	const struct kept_stack *record = pool_at(&profile->stacks, stack);

	return record->caller;
}

uint32_t profile_stack_frame(const struct profile *profile, uint32_t stack)
{
	const struct kept_stack *record = pool_at(&profile->stacks, stack);

	return record->frame;
}

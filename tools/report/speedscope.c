// SPDX-License-Identifier: MIT
/*
 * The file format of speedscope: the samples of each group, in order of time.
 */
#include <jansson.h>
#include <stdlib.h>

#include "tool.h"
#include "writers.h"

/* A sample of a group, given as a node of a tree with all its groups. */
struct timed {
	uint32_t group, sample;
	uint64_t time;
};

struct groups {
	struct pool nodes;	/* of struct node */
	struct timed *list;
	size_t nr;
};

struct node {
	uint32_t parent, level;
	const char *name;
};

/* What is shown of a frame: not the place in it. */
struct shown {
	const char *name, *file;	/* of the profile, compared by address */
	uint64_t line;		/* 0 if none */
};

struct frames {
	struct pool shown;
	uint32_t *number;	/* for each frame of the profile */
};

/* By json_dumpf(), which takes only what it owns. */
static void put_json(json_t *value, FILE *to)
{
	json_dumpf(need(value), to, JSON_COMPACT | JSON_ENCODE_ANY);
	json_decref(value);
}

static uint32_t group_of_sample(struct groups *groups, const struct selection *selection,
				const struct profile_sample *sample)
{
	uint32_t parent = INDEX_NONE;

	for (size_t i = 0; i < selection->nr_groups; i++) {
		const struct node node = {
			parent, i, select_group(selection, selection->groups[i], sample),
		};

		parent = pool_intern(&groups->nodes, &node);
	}
	return parent;
}

static int by_time(const void *one, const void *other)
{
	const struct timed *a = one, *b = other;

	if (a->group != b->group)
		return a->group < b->group ? -1 : 1;
	if (a->time != b->time)
		return a->time < b->time ? -1 : 1;
	return a->sample < b->sample ? -1 : 1;
}

static struct groups find_groups(const struct selection *selection)
{
	const uint32_t nr = profile_counts(selection->profile).samples;
	struct groups groups = {
		.nodes = { .size = sizeof(struct node), .key_size = sizeof(struct node) },
		.list = need(calloc(nr + 1ULL, sizeof(*groups.list))),
	};

	for (uint32_t i = 0; i < nr; i++) {
		const struct profile_sample *sample = profile_sample_at(selection->profile, i);

		if (sample->base || !select_takes(selection, sample))
			continue;
		groups.list[groups.nr++] = (struct timed){
			group_of_sample(&groups, selection, sample), i, sample->time,
		};
	}
	qsort(groups.list, groups.nr, sizeof(*groups.list), by_time);
	return groups;
}

static void put_name(const struct groups *groups, uint32_t group, FILE *to)
{
	const struct node *node;

	if (group == INDEX_NONE)
		return;
	node = pool_at(&groups->nodes, group);
	put_name(groups, node->parent, to);
	fprintf(to, "%s%s", node->level ? ", " : "", node->name);
}

static json_t *name_of(const struct groups *groups, uint32_t group)
{
	size_t size;
	char *text;
	FILE *to = need(open_memstream(&text, &size));
	json_t *name;

	put_name(groups, group, to);
	need_done(fclose(to));
	name = json_string(size ? text : "all");
	free(text);
	return name;
}

/* Outermost first. */
static void put_stack(const struct profile *profile, const struct frames *shown,
		      uint32_t stack, FILE *to)
{
	uint32_t frames[PROFILE_MAX_DEPTH], nr = 0;

	for (; stack != PROFILE_NO_STACK; stack = profile_stack_caller(profile, stack))
		frames[nr++] = profile_stack_frame(profile, stack);
	putc('[', to);
	while (nr--)
		fprintf(to, "%u%s", shown->number[frames[nr]], nr ? "," : "");
	putc(']', to);
}

static void put_profile(const struct selection *selection, const struct groups *groups,
			const struct frames *frames, size_t first, size_t end, FILE *to)
{
	const struct profile *profile = selection->profile;
	uint64_t sum = 0;

	fputs("{\"type\":\"sampled\",\"name\":", to);
	put_json(name_of(groups, groups->list[first].group), to);
	fprintf(to, ",\"unit\":\"%s\",\"startValue\":0,\n\"samples\":[",
		selection->unit == UNIT_TIME ? "nanoseconds" : "none");
	for (size_t i = first; i < end; i++) {
		fputs(i == first ? "\n" : ",\n", to);
		put_stack(profile, frames,
			  profile_sample_at(profile, groups->list[i].sample)->stack, to);
	}
	fputs("],\n\"weights\":[", to);
	for (size_t i = first; i < end; i++) {
		uint64_t weight = select_weight(selection,
						profile_sample_at(profile, groups->list[i].sample));

		fprintf(to, "%s%llu", i == first ? "" : ",", (unsigned long long)weight);
		sum += weight;
	}
	fprintf(to, "],\n\"endValue\":%llu}", (unsigned long long)sum);
}

static struct frames find_frames(struct profile *profile)
{
	const uint32_t nr = profile_counts(profile).frames;
	struct frames frames = {
		.shown = { .size = sizeof(struct shown), .key_size = sizeof(struct shown) },
		.number = need(calloc(nr + 1ULL, sizeof(*frames.number))),
	};

	for (uint32_t i = 0; i < nr; i++) {
		const struct profile_frame frame = profile_frame_at(profile, i);
		const struct shown shown = {
			frame_name(profile, &frame), frame.source ?: frame.file,
			frame.source ? frame.line : 0,
		};

		frames.number[i] = pool_intern(&frames.shown, &shown);
	}
	return frames;
}

static void put_frames(const struct frames *frames, FILE *to)
{
	for (uint32_t i = 0; i < frames->shown.nr; i++) {
		const struct shown *shown = pool_at(&frames->shown, i);
		json_t *line = shown->line ? json_integer(shown->line) : NULL;

		fputs(i ? ",\n" : "\n", to);
		put_json(json_pack("{s:s, s:s*, s:o*}", "name", shown->name,
				   "file", shown->file, "line", line), to);
	}
}

void speedscope_write(const struct selection *selection, const char *name, FILE *to)
{
	struct groups groups = find_groups(selection);
	struct frames frames = find_frames(selection->profile);
	size_t end;

	fputs("{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\"", to);
	fputs(",\n\"name\":", to);
	put_json(json_string(profile_string(selection->profile, name)), to);
	fputs(",\"exporter\":\"codectl " VERSION "\",\"activeProfileIndex\":0,\n", to);
	fputs("\"shared\":{\"frames\":[", to);
	put_frames(&frames, to);
	fputs("]},\n\"profiles\":[", to);
	for (size_t first = 0; first < groups.nr; first = end) {
		for (end = first; end < groups.nr &&
		     groups.list[end].group == groups.list[first].group; end++)
			;
		fputs(first ? ",\n" : "\n", to);
		put_profile(selection, &groups, &frames, first, end, to);
	}
	fputs("]}\n", to);
	pool_free(&frames.shown);
	free(frames.number);
	pool_free(&groups.nodes);
	free(groups.list);
}

// SPDX-License-Identifier: MIT
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "profile.h"
#include "recording.h"
#include "span.h"
#include "tool.h"

/* Bytes, with the newline. */
#define LONGEST_LINE	(1 << 20)

static const char no_recording[] = "it is no recording of codectl";
static const char bad_member[] = "a member that is missing, or is not what it has to be";
static const char bad_number[] = "the number of something that no line before has";

/* What numbers in the file stand for. */
struct numbers {
	uint32_t *list, nr, room;
};

struct reader {
	struct profile *profile;
	bool base, begun, ended;
	struct numbers events, tasks, frames, stacks;
};

static void add_number(struct numbers *numbers, uint32_t value)
{
	if (numbers->nr == numbers->room) {
		numbers->room = numbers->room ? numbers->room + numbers->room / 2 : 64;
		numbers->list = need(reallocarray(numbers->list, numbers->room,
						  sizeof(*numbers->list)));
	}
	numbers->list[numbers->nr++] = value;
}

static bool get_number(const struct numbers *numbers, json_int_t nr, uint32_t *value)
{
	if (nr < 0 || nr >= numbers->nr)
		return false;
	*value = numbers->list[nr];
	return true;
}

/* 0 if there is no text. */
static bool get_hex(const char *text, uint64_t *value)
{
	*value = 0;
	return !text || span_hex((struct span){ text, strlen(text) }, value);
}

static const char *read_head(struct reader *reader, json_t *line)
{
	struct profile_about *about = profile_about(reader->profile, reader->base);
	json_int_t start = 0, duration = 0;
	int version;

	if (json_unpack(line, "{s:i}", "codectl-recording", &version))
		return no_recording;
	if (version != 1)
		return "a recording of another version than 1";
	if (json_unpack(line, "{s?I, s?I}", "start", &start, "duration", &duration) ||
	    start < 0 || duration < 0)
		return bad_member;
	about->start = start;
	about->duration = duration;
	reader->begun = true;
	return NULL;
}

static const char *read_event(struct reader *reader, json_t *body)
{
	struct profile_event event = { 0 };
	int timed = 0;

	if (json_unpack(body, "{s:s, s?b}", "name", &event.name, "timed", &timed))
		return bad_member;
	event.timed = timed;
	add_number(&reader->events, profile_event(reader->profile, &event));
	return NULL;
}

static const char *read_task(struct reader *reader, json_t *body)
{
	struct profile_task task = { 0 };
	json_int_t pid, tid;

	if (json_unpack(body, "{s?s, s:I, s:I, s?s}", "comm", &task.comm, "pid", &pid,
			"tid", &tid, "cgroup", &task.cgroup) ||
	    pid < 0 || pid > INT32_MAX || tid < 0 || tid > INT32_MAX)
		return bad_member;
	task.pid = pid;
	task.tid = tid;
	add_number(&reader->tasks, profile_task(reader->profile, &task));
	return NULL;
}

static bool read_flags(json_t *body, uint32_t *flags)
{
	int kernel = 0, inlined = 0, claimed = 0, mark = 0;

	if (json_unpack(body, "{s?b, s?b, s?b, s?b}", "kernel", &kernel, "inlined", &inlined,
			"claimed", &claimed, "mark", &mark))
		return false;
	*flags = (kernel ? PROFILE_KERNEL : 0) | (inlined ? PROFILE_INLINED : 0) |
		 (claimed ? PROFILE_CLAIMED : 0) | (mark ? PROFILE_MARK : 0);
	return true;
}

static const char *read_frame(struct reader *reader, json_t *body)
{
	const char *offset = NULL, *distance = NULL, *id = NULL, *code = NULL;
	struct profile_frame frame = { 0 };
	json_int_t line = 0;

	if (json_unpack(body, "{s?s, s?s, s?s, s?s, s?I}", "function", &frame.function,
			"file", &frame.file, "build-id", &frame.build_id,
			"source", &frame.source, "line", &line) ||
	    json_unpack(body, "{s?s, s?s, s?s, s?s}", "offset", &offset,
			"distance", &distance, "id", &id, "code", &code) ||
	    line < 0 || line > UINT32_MAX || !read_flags(body, &frame.flags) ||
	    !get_hex(offset, &frame.offset) || !get_hex(distance, &frame.distance) ||
	    !get_hex(id, &frame.id) || !get_hex(code, &frame.code))
		return bad_member;
	frame.line = line;
	add_number(&reader->frames, profile_frame(reader->profile, &frame));
	return NULL;
}

/* -1: there is no such member. */
static bool find_stack(const struct reader *reader, json_int_t nr, uint32_t *stack)
{
	*stack = PROFILE_NO_STACK;
	return nr == -1 || get_number(&reader->stacks, nr, stack);
}

static const char *read_stack(struct reader *reader, json_t *body)
{
	json_int_t caller = -1, frame;
	uint32_t stack, top;

	if (json_unpack(body, "{s?I, s:I}", "caller", &caller, "frame", &frame))
		return bad_member;
	if (!find_stack(reader, caller, &stack) || !get_number(&reader->frames, frame, &top))
		return bad_number;
	if (profile_depth(reader->profile, stack) == PROFILE_MAX_DEPTH)
		return "a stack of too many frames";
	add_number(&reader->stacks, profile_stack(reader->profile, stack, top));
	return NULL;
}

static const char *read_sample(struct reader *reader, json_t *body)
{
	struct profile_sample sample = { .base = reader->base };
	json_int_t stack = -1, task, event, time, events, ns = 0;

	if (json_unpack(body, "{s?I, s:I, s:I, s:I, s:I, s?I}", "stack", &stack, "task", &task,
			"event", &event, "time", &time, "events", &events, "ns", &ns) ||
	    time < 0 || events < 0 || ns < 0)
		return bad_member;
	if (!find_stack(reader, stack, &sample.stack) ||
	    !get_number(&reader->tasks, task, &sample.task) ||
	    !get_number(&reader->events, event, &sample.event))
		return bad_number;
	sample.time = time;
	sample.events = events;
	sample.ns = ns;
	return profile_add(reader->profile, &sample) ? NULL : "weights that are too large";
}

static const char *read_note(struct reader *reader, json_t *body)
{
	struct profile_note note = { .base = reader->base };
	json_int_t count;

	if (json_unpack(body, "{s:I, s:s}", "count", &count, "text", &note.text) || count < 0)
		return bad_member;
	note.count = count;
	profile_note(reader->profile, &note);
	return NULL;
}

static const char *read_end(struct reader *reader, json_t *body)
{
	(void)body;
	reader->ended = true;
	return NULL;
}

static const char *read_object(struct reader *reader, json_t *line)
{
	static const struct {
		const char *name;
		const char *(*read)(struct reader *reader, json_t *body);
	} kinds[] = {
		{ "sample", read_sample }, { "stack", read_stack }, { "frame", read_frame },
		{ "task", read_task }, { "event", read_event }, { "note", read_note },
		{ "end", read_end },
	};

	if (!reader->begun)
		return read_head(reader, line);
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		json_t *body = json_object_get(line, kinds[i].name);

		if (body)
			return kinds[i].read(reader, body);
	}
	/* From a later writer, which says that it can be skipped. */
	return NULL;
}

static const char *read_line(struct reader *reader, const char *text, size_t len)
{
	json_t *line = json_loadb(text, len, JSON_REJECT_DUPLICATES, NULL);
	const char *wrong;

	if (!line)
		return reader->begun ? "it is not JSON" : no_recording;
	wrong = read_object(reader, line);
	json_decref(line);
	return wrong;
}

/* A line that is too long, or contains a NUL, does not end in a newline as a string. */
static const char *read_lines(struct reader *reader, FILE *from, char *text, unsigned long *nr)
{
	while (!reader->ended) {
		const char *wrong;
		size_t len;

		++*nr;
		if (!fgets(text, LONGEST_LINE, from))
			return ferror(from) ? "it cannot be read" : "it ends early";
		len = strlen(text);
		if (!len || text[len - 1] != '\n')
			return reader->begun ? "it is cut off, too long, or no text" : no_recording;
		wrong = read_line(reader, text, len);
		if (wrong)
			return wrong;
	}
	return NULL;
}

const char *recording_read(struct profile *profile, FILE *from, bool base,
			   unsigned long *line)
{
	struct reader reader = { .profile = profile, .base = base };
	char *text = need(malloc(LONGEST_LINE));
	const char *wrong;

	*line = 0;
	wrong = read_lines(&reader, from, text, line);
	free(text);
	free(reader.events.list);
	free(reader.tasks.list);
	free(reader.frames.list);
	free(reader.stacks.list);
	return wrong;
}

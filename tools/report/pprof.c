// SPDX-License-Identifier: MIT
/*
 * The profile.proto of pprof, compressed by gzip.  Field numbers are those of its
 * messages Profile, ValueType, Sample, Label, Mapping, Location, Line and Function.
 */
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "tool.h"
#include "writers.h"

enum {
	PROFILE_SAMPLE_TYPE = 1, PROFILE_SAMPLE = 2, PROFILE_MAPPING = 3,
	PROFILE_LOCATION = 4, PROFILE_FUNCTION = 5, PROFILE_STRING = 6,
	PROFILE_TIME_NANOS = 9, PROFILE_DURATION_NANOS = 10, PROFILE_DEFAULT_TYPE = 14,
	TYPE_TYPE = 1, TYPE_UNIT = 2,
	SAMPLE_LOCATION = 1, SAMPLE_VALUE = 2, SAMPLE_LABEL = 3,
	LABEL_KEY = 1, LABEL_STR = 2, LABEL_NUM = 3,
	MAPPING_ID = 1, MAPPING_LIMIT = 3, MAPPING_FILENAME = 5, MAPPING_BUILD_ID = 6,
	MAPPING_HAS_FUNCTIONS = 7,
	LOCATION_ID = 1, LOCATION_MAPPING = 2, LOCATION_ADDRESS = 3, LOCATION_LINE = 4,
	LINE_FUNCTION = 1, LINE_LINE = 2,
	FUNCTION_ID = 1, FUNCTION_NAME = 2, FUNCTION_SYSTEM_NAME = 3, FUNCTION_FILENAME = 4,
};

/* A message, or a packed field, being written. */
struct message {
	FILE *to;
	char *data;
	size_t size;
};

struct file {
	const char *path, *build_id;
};

struct function {
	const char *name, *file;
};

/* A frame, and the location of what is inlined there, plus 1. */
struct location {
	uint32_t inlined, frame;
	bool used;		/* by samples; not part of the key */
};

struct pprof {
	const struct selection *selection;
	struct profile *profile;
	struct message out;
	struct pool strings, files, functions, locations;
};

/* -------------------------------------------------------------- wire format */

static void message_open(struct message *message)
{
	message->to = need(open_memstream(&message->data, &message->size));
}

static void message_close(struct message *message)
{
	need_done(fclose(message->to));
}

static void put_varint(struct message *message, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		putc((value & 0x7f) | 0x80, message->to);
	putc(value, message->to);
}

/* 0 is the default of a missing number. */
static void put_number(struct message *message, unsigned int field, uint64_t value)
{
	if (!value)
		return;
	put_varint(message, field << 3);
	put_varint(message, value);
}

static void put_bytes(struct message *message, unsigned int field, const char *data, size_t len)
{
	put_varint(message, field << 3 | 2);
	put_varint(message, len);
	fwrite(data, len, 1, message->to);
}

/* Ends @part, which is a field of @message. */
static void put_message(struct message *message, unsigned int field, struct message *part)
{
	message_close(part);
	put_bytes(message, field, part->data, part->size);
	free(part->data);
}

/* ----------------------------------------------------------------- messages */

/* Strings of the profile are compared by address; 0: the empty one. */
static uint64_t string_nr(struct pprof *pprof, const char *text)
{
	const char *kept = text && *text ? profile_string(pprof->profile, text) : NULL;

	return pool_intern(&pprof->strings, &kept);
}

/* Locations in files have offsets as addresses. */
static uint64_t file_nr(struct pprof *pprof, const struct profile_frame *frame)
{
	const struct file file = { frame->file, frame->build_id };

	return frame->file ? pool_intern(&pprof->files, &file) + 1 : 0;
}

static uint64_t function_nr(struct pprof *pprof, const struct profile_frame *frame)
{
	const struct function function = { frame->function, frame->source };

	return pool_intern(&pprof->functions, &function) + 1;
}

static void put_type(struct pprof *pprof, const char *type, const char *unit)
{
	struct message part;

	message_open(&part);
	put_number(&part, TYPE_TYPE, string_nr(pprof, type));
	put_number(&part, TYPE_UNIT, string_nr(pprof, unit));
	put_message(&pprof->out, PROFILE_SAMPLE_TYPE, &part);
}

static void put_label(struct pprof *pprof, struct message *sample, const char *key,
		      const char *text, uint64_t number)
{
	struct message part;

	if (!text && !number)
		return;
	message_open(&part);
	put_number(&part, LABEL_KEY, string_nr(pprof, key));
	put_number(&part, LABEL_STR, string_nr(pprof, text));
	put_number(&part, LABEL_NUM, number);
	put_message(sample, SAMPLE_LABEL, &part);
}

/* Inlined functions are lines of the location that contains them, the innermost first. */
static void put_locations(struct pprof *pprof, struct message *sample, uint32_t stack)
{
	struct message part;
	struct location location = { 0 };

	message_open(&part);
	for (; stack != PROFILE_NO_STACK; stack = profile_stack_caller(pprof->profile, stack)) {
		uint32_t nr;

		location.frame = profile_stack_frame(pprof->profile, stack);
		nr = pool_intern(&pprof->locations, &location) + 1;
		location.inlined = nr;
		if (profile_frame_at(pprof->profile, location.frame).flags & PROFILE_INLINED &&
		    profile_stack_caller(pprof->profile, stack) != PROFILE_NO_STACK)
			continue;
		put_varint(&part, nr);
		((struct location *)pool_at(&pprof->locations, nr - 1))->used = true;
		location.inlined = 0;
	}
	put_message(sample, SAMPLE_LOCATION, &part);
}

static void put_sample(struct pprof *pprof, const struct profile_sample *sample)
{
	struct profile_task task = profile_task_at(pprof->profile, sample->task);
	struct profile_event event = profile_event_at(pprof->profile, sample->event);
	struct message part, values;

	message_open(&part);
	message_open(&values);
	put_locations(pprof, &part, sample->stack);
	put_varint(&values, sample->events);
	if (pprof->selection->unit == UNIT_TIME)
		put_varint(&values, sample->ns);
	put_message(&part, SAMPLE_VALUE, &values);
	put_label(pprof, &part, "event", event.name, 0);
	put_label(pprof, &part, "comm", task.comm, 0);
	put_label(pprof, &part, "cgroup", task.cgroup, 0);
	put_label(pprof, &part, "pid", NULL, task.pid);
	put_label(pprof, &part, "tid", NULL, task.tid);
	put_message(&pprof->out, PROFILE_SAMPLE, &part);
}

static void put_samples(struct pprof *pprof)
{
	const uint32_t nr = profile_counts(pprof->profile).samples;

	for (uint32_t i = 0; i < nr; i++) {
		const struct profile_sample *sample = profile_sample_at(pprof->profile, i);

		if (!sample->base && select_takes(pprof->selection, sample))
			put_sample(pprof, sample);
	}
}

static void put_line(struct pprof *pprof, struct message *location,
		     const struct profile_frame *frame)
{
	struct message part;

	if (!frame->function)
		return;
	message_open(&part);
	put_number(&part, LINE_FUNCTION, function_nr(pprof, frame));
	put_number(&part, LINE_LINE, frame->line);
	put_message(location, LOCATION_LINE, &part);
}

/* Lines of inlined functions, the innermost first. */
static void put_lines(struct pprof *pprof, struct message *location, uint32_t nr)
{
	uint32_t list[PROFILE_MAX_DEPTH], depth = 0;

	for (; nr; depth++) {
		const struct location *at = pool_at(&pprof->locations, nr - 1);

		list[depth] = at->frame;
		nr = at->inlined;
	}
	while (depth--) {
		struct profile_frame frame = profile_frame_at(pprof->profile, list[depth]);

		put_line(pprof, location, &frame);
	}
}

static void put_location_list(struct pprof *pprof)
{
	for (uint32_t i = 0; i < pprof->locations.nr; i++) {
		const struct location *location = pool_at(&pprof->locations, i);
		struct profile_frame frame = profile_frame_at(pprof->profile, location->frame);
		struct message part;

		if (!location->used)
			continue;
		message_open(&part);
		put_number(&part, LOCATION_ID, i + 1);
		put_number(&part, LOCATION_MAPPING, file_nr(pprof, &frame));
		put_number(&part, LOCATION_ADDRESS, frame.offset);
		put_lines(pprof, &part, i + 1);
		put_message(&pprof->out, PROFILE_LOCATION, &part);
	}
}

static void put_functions(struct pprof *pprof)
{
	for (uint32_t i = 0; i < pprof->functions.nr; i++) {
		const struct function *function = pool_at(&pprof->functions, i);
		struct message part;

		message_open(&part);
		put_number(&part, FUNCTION_ID, i + 1);
		put_number(&part, FUNCTION_NAME, string_nr(pprof, function->name));
		put_number(&part, FUNCTION_SYSTEM_NAME, string_nr(pprof, function->name));
		put_number(&part, FUNCTION_FILENAME, string_nr(pprof, function->file));
		put_message(&pprof->out, PROFILE_FUNCTION, &part);
	}
}

static void put_mappings(struct pprof *pprof)
{
	for (uint32_t i = 0; i < pprof->files.nr; i++) {
		const struct file *file = pool_at(&pprof->files, i);
		struct message part;

		message_open(&part);
		put_number(&part, MAPPING_ID, i + 1);
		put_number(&part, MAPPING_LIMIT, UINT64_MAX);
		put_number(&part, MAPPING_FILENAME, string_nr(pprof, file->path));
		put_number(&part, MAPPING_BUILD_ID, string_nr(pprof, file->build_id));
		put_number(&part, MAPPING_HAS_FUNCTIONS, 1);
		put_message(&pprof->out, PROFILE_MAPPING, &part);
	}
}

static void put_profile(struct pprof *pprof)
{
	const struct profile_about *about = profile_about(pprof->profile, false);
	bool timed = pprof->selection->unit == UNIT_TIME;

	string_nr(pprof, NULL);
	put_type(pprof, "events", "count");
	if (timed)
		put_type(pprof, "time", "nanoseconds");
	put_samples(pprof);
	put_location_list(pprof);
	put_functions(pprof);
	put_mappings(pprof);
	put_number(&pprof->out, PROFILE_TIME_NANOS, about->start);
	put_number(&pprof->out, PROFILE_DURATION_NANOS, about->duration);
	put_number(&pprof->out, PROFILE_DEFAULT_TYPE,
		   string_nr(pprof, timed ? "time" : "events"));
	for (uint32_t i = 0; i < pprof->strings.nr; i++) {
		const char *text = *(const char **)pool_at(&pprof->strings, i) ?: "";

		put_bytes(&pprof->out, PROFILE_STRING, text, strlen(text));
	}
}

/* 16: with the header of gzip. */
static void put_compressed(struct message *message, FILE *to)
{
	z_stream stream = {
		.next_in = (Bytef *)message->data, .avail_in = 0,
	};
	size_t left = message->size;
	char out[4096];
	int status;

	need_done(deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 16 + MAX_WBITS, 8,
			       Z_DEFAULT_STRATEGY));
	do {
		uInt part = left < UINT32_MAX ? left : UINT32_MAX;

		if (!stream.avail_in) {
			stream.avail_in = part;
			left -= part;
		}
		stream.next_out = (Bytef *)out;
		stream.avail_out = sizeof(out);
		status = deflate(&stream, left ? Z_NO_FLUSH : Z_FINISH);
		fwrite(out, sizeof(out) - stream.avail_out, 1, to);
	} while (status != Z_STREAM_END);
	deflateEnd(&stream);
}

void pprof_write(const struct selection *selection, FILE *to)
{
	struct pprof pprof = {
		.selection = selection, .profile = selection->profile,
	};
	struct pool *pools[] = {
		&pprof.strings, &pprof.files, &pprof.functions, &pprof.locations,
	};
	static const size_t sizes[] = {
		sizeof(char *), sizeof(struct file), sizeof(struct function),
		sizeof(struct location),
	};

	for (size_t i = 0; i < ARRAY_SIZE(pools); i++) {
		pools[i]->size = sizes[i];
		pools[i]->key_size = sizes[i];
	}
	pprof.locations.key_size = offsetof(struct location, used);
	message_open(&pprof.out);
	put_profile(&pprof);
	message_close(&pprof.out);
	put_compressed(&pprof.out, to);
	free(pprof.out.data);
	for (size_t i = 0; i < ARRAY_SIZE(pools); i++)
		pool_free(pools[i]);
}

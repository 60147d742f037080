// SPDX-License-Identifier: MIT
/*
 * Reports that other programs read: for speedscope and pprof, and as JSON.
 */
#include <jansson.h>
#include <zlib.h>

#include "profiles.h"

static json_t *speedscope_of(const struct selection *selection)
{
	size_t size;
	char *text;
	FILE *to = open_memstream(&text, &size);
	json_t *root;

	speedscope_write(selection, "a \"name\"", to);
	fclose(to);
	root = json_loads(text, 0, NULL);
	free(text);
	return root;
}

static bool speedscope_has(json_t *root, size_t nr, const char *name, json_int_t sum,
			   const char *samples)
{
	json_t *profile = json_array_get(json_object_get(root, "profiles"), nr);
	char *text = json_dumps(json_object_get(profile, "samples"), JSON_COMPACT);
	bool good = profile && text &&
		    !strcmp(json_string_value(json_object_get(profile, "name")), name) &&
		    json_integer_value(json_object_get(profile, "endValue")) == sum &&
		    !strcmp(text, samples);

	if (!good)
		printf("# %s\n", text);
	free(text);
	return good;
}

static void speedscope(void)
{
	struct profile *profile = make_mixed();
	struct selection selection = select_all(profile);
	json_t *root;

	select_unit(&selection);
	root = speedscope_of(&selection);
	CHECK(json_array_size(json_object_get(root, "profiles")) == 3);
	CHECK(speedscope_has(root, 0, "a:x", 9, "[[0,1],[0,2]]"));
	CHECK(speedscope_has(root, 1, "a:y", 2, "[[0,2]]"));
	CHECK(speedscope_has(root, 2, "b:x", 4, "[[0,1]]"));
	CHECK(!strcmp(json_string_value(json_object_get(root, "name")), "a \"name\""));
	json_decref(root);
	selection.nr_groups = 0;
	root = speedscope_of(&selection);
	CHECK(speedscope_has(root, 0, "all", 15, "[[0,1],[0,2],[0,1],[0,2]]"));
	json_decref(root);
	profile_free(profile);
}

/* Is there a row, or a node, with that name and these figures? */
static bool json_has(json_t *root, const char *list, const char *name, json_int_t self,
		     json_int_t total, double share)
{
	json_t *row;
	size_t i;

	json_array_foreach(json_object_get(root, list), i, row)
		if (!strcmp(json_string_value(json_object_get(row, "name")), name) &&
		    json_integer_value(json_object_get(row, "self")) == self &&
		    json_integer_value(json_object_get(row, "total")) == total &&
		    json_real_value(json_object_get(row, "total_share")) == share)
			return true;
	return false;
}

static void json(void)
{
	struct profile *profile = make_mixed();
	struct selection selection = select_all(profile);
	const struct profile_note note = { .text = "lost", .count = 7 };
	const struct profile_frame frame = { .offset = 16, .id = 0x2a, .code = 0x1f };
	uint32_t nr = profile_frame(profile, &frame);
	size_t size;
	char *text;
	FILE *to = open_memstream(&text, &size);
	json_t *root, *notes, *frames;

	profile_note(profile, &note);
	selection.groups[0] = GROUP_COMM;
	selection.min_share = 50;
	select_unit(&selection);
	json_write(&selection, false, to);
	fclose(to);
	root = json_loads(text, 0, NULL);
	free(text);
	CHECK(root);
	CHECK(json_has(root, "functions", "g", 8, 8, 53.333333));
	CHECK(json_array_size(json_object_get(root, "functions")) == 2);
	CHECK(json_has(root, "nodes", "all", 0, 15, 100));
	CHECK(json_has(root, "nodes", "one", 0, 3, 20));
	CHECK(json_array_size(json_object_get(root, "samples")) == 4);
	frames = json_object_get(root, "frames");
	CHECK(!json_object_get(json_array_get(frames, 0), "id"));
	frames = json_array_get(frames, nr);
	CHECK(frames && !strcmp(json_string_value(json_object_get(frames, "id")), "0x2a"));
	CHECK(frames && !strcmp(json_string_value(json_object_get(frames, "code")), "0x1f"));
	notes = json_object_get(root, "notes");
	CHECK(json_integer_value(json_object_get(json_array_get(notes, 0), "count")) == 7);
	json_decref(root);
	profile_free(profile);
}

/* Neither the base nor unselected events count as part of the recording. */
static void json_of_differences(void)
{
	struct profile *profile = make_mixed();
	struct selection selection = select_all(profile);
	const char *events[] = { "x", NULL };
	size_t size;
	char *text;
	FILE *to = open_memstream(&text, &size);
	json_t *root, *node;

	ADD(profile, "main;h", "a:x", "one", 1, 0, 1, 270, true, true);
	selection.events = events;
	select_unit(&selection);
	json_write(&selection, true, to);
	fclose(to);
	root = json_loads(text, 0, NULL);
	free(text);
	CHECK(!strcmp(json_string_value(json_object_get(root, "unit")), "ns"));
	CHECK(json_array_size(json_object_get(root, "samples")) == 4);
	CHECK(json_array_size(json_object_get(root, "recordings")) == 2);
	CHECK(json_has(root, "nodes", "all", 0, 90, 100));
	CHECK(json_has(root, "functions", "h", 0, 0, 0));
	node = json_array_get(json_object_get(root, "nodes"), 0);
	CHECK(json_integer_value(json_object_get(node, "total_before")) == 270);
	json_decref(root);
	profile_free(profile);
}

/* Different instructions of one line are the same frame. */
static void speedscope_of_addresses(void)
{
	struct profile *profile = profile_new();
	struct selection selection = select_all(profile);
	const struct profile_event event = { "e", false };
	json_t *root;

	for (uint64_t offset = 0; offset < 8; offset++) {
		const struct profile_frame frame = {
			.function = "f", .source = "f.c", .line = 1 + offset / 4,
			.offset = offset, .distance = offset,
		};
		const struct profile_sample sample = {
			.stack = profile_stack(profile, PROFILE_NO_STACK,
					       profile_frame(profile, &frame)),
			.task = profile_task(profile, &(struct profile_task){ 0 }),
			.event = profile_event(profile, &event), .events = 1,
		};

		CHECK(profile_add(profile, &sample));
	}
	selection.nr_groups = 0;
	select_unit(&selection);
	root = speedscope_of(&selection);
	CHECK(json_array_size(json_object_get(json_object_get(root, "shared"), "frames")) == 2);
	CHECK(speedscope_has(root, 0, "all", 8, "[[0],[0],[0],[0],[1],[1],[1],[1]]"));
	json_decref(root);
	profile_free(profile);
}

static void speedscope_of_differences(void)
{
	struct profile *profile = make_mixed();
	struct selection selection = select_all(profile);
	const char *events[] = { "x", NULL };
	json_t *root;

	ADD(profile, .functions = "h", .event = "a:x", .events = 1, .ns = 3, .base = true,
	    .timed = true);
	ADD(profile, "main", "a:x", "one", 1, 0, 1, 7, false, true);
	selection.events = events;
	selection.groups[1] = GROUP_PID;
	selection.nr_groups = 2;
	select_unit(&selection);
	root = speedscope_of(&selection);
	CHECK(json_array_size(json_object_get(root, "profiles")) == 3);
	CHECK(speedscope_has(root, 0, "a:x, pid 1", 17, "[[0,1],[0]]"));
	json_decref(root);
	profile_free(profile);
}

static uint64_t take_varint(const unsigned char **at, const unsigned char *end)
{
	uint64_t value = 0;

	for (unsigned int shift = 0; *at < end && shift < 64; shift += 7) {
		unsigned char byte = *(*at)++;

		value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return value;
	}
	CHECK(!"a number that does not end");
	return 0;
}

/* Counts the fields of a message; each byte has to belong to one. */
static void count_fields(const unsigned char *data, size_t len, unsigned int counts[16])
{
	const unsigned char *at = data, *end = data + len;

	while (at < end) {
		uint64_t key = take_varint(&at, end), value = take_varint(&at, end);

		CHECK(key >> 3 < 16 && ((key & 7) == 0 || (key & 7) == 2));
		counts[key >> 3 & 15]++;
		if ((key & 7) == 2) {
			CHECK(value <= (uint64_t)(end - at));
			at += value <= (uint64_t)(end - at) ? value : (uint64_t)(end - at);
		}
	}
}

/* A field of a message. */
struct field {
	unsigned int number;
	const unsigned char *at, *end;	/* for a number, the value after the key */
};

/* The next one; false at the end. */
static bool take_field(const unsigned char **at, const unsigned char *end, struct field *field)
{
	uint64_t key, len;

	if (*at >= end)
		return false;
	key = take_varint(at, end);
	field->number = key >> 3;
	field->at = *at;
	len = take_varint(at, end);
	if ((key & 7) == 2) {
		field->at = *at;
		*at += len < (uint64_t)(end - *at) ? len : (uint64_t)(end - *at);
	}
	field->end = *at;
	return true;
}

/* The sums of all samples in both units. */
static void sum_values(const unsigned char *data, size_t len, uint64_t sums[2])
{
	const unsigned char *end = data + len;
	struct field sample, values;

	while (take_field(&data, end, &sample)) {
		while (sample.number == 2 && take_field(&sample.at, sample.end, &values)) {
			if (values.number != 2)
				continue;
			sums[0] += take_varint(&values.at, values.end);
			sums[1] += take_varint(&values.at, values.end);
			CHECK(values.at == values.end);
		}
	}
}

/* Frames in main, outermost, and in memory without a name. */
static void add_inlined(struct profile *profile)
{
	static const struct profile_frame inlined = {
		.function = "inlined", .file = "/bin/a", .flags = PROFILE_INLINED,
	};
	static const struct profile_frame unnamed = { .offset = 7 };
	struct profile_sample sample = *profile_sample_at(profile, 0);
	uint32_t stack = profile_stack(profile, PROFILE_NO_STACK,
				       profile_frame(profile, &unnamed));

	stack = profile_stack(profile, stack, profile_frame(profile, &inlined));
	stack = profile_stack(profile, stack, profile_frame(profile, &unnamed));
	sample.stack = stack;
	CHECK(profile_add(profile, &sample));
	sample.base = true;
	CHECK(profile_add(profile, &sample));
}

static void pprof(void)
{
	static unsigned char plain[4096];
	unsigned int counts[16] = { 0 };
	uint64_t sums[2] = { 0 };
	struct profile *profile = make_mixed();
	struct selection selection = select_all(profile);
	const char *events[] = { "x", NULL };
	z_stream stream = { .next_out = plain, .avail_out = sizeof(plain) };
	size_t size;
	char *text;
	FILE *to = open_memstream(&text, &size);

	add_inlined(profile);
	/* The smallest number that takes two bytes. */
	ADD(profile, "main;f", "a:x", "one", 1, 0, 127, 0, false, true);
	selection.events = events;
	select_unit(&selection);
	pprof_write(&selection, to);
	fclose(to);
	stream.next_in = (unsigned char *)text;
	stream.avail_in = size;
	CHECK(inflateInit2(&stream, 16 + MAX_WBITS) == Z_OK);
	CHECK(inflate(&stream, Z_FINISH) == Z_STREAM_END && !stream.avail_in);
	count_fields(plain, stream.total_out, counts);
	sum_values(plain, stream.total_out, sums);
	inflateEnd(&stream);
	/* Types, samples, mappings; an inlined function has no location of its own. */
	CHECK(counts[1] == 2 && counts[2] == 4 && counts[3] == 1);
	CHECK(counts[4] == 5 && counts[5] == 4);
	CHECK(sums[0] == 128 + 4 + 8 + 1 && sums[1] == 10 + 30 + 50 + 10);
	free(text);
	profile_free(profile);
}

int main(void)
{
	RUN(speedscope);
	RUN(speedscope_of_addresses);
	RUN(speedscope_of_differences);
	RUN(json);
	RUN(json_of_differences);
	RUN(pprof);
	return check_end();
}

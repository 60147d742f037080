// SPDX-License-Identifier: MIT
/*
 * The parsers, with input as the kernel and programs write it, and with malformed input.
 */
#include <unistd.h>

#include "check.h"
#include "mapping.h"
#include "perf_map.h"
#include "proc_line.h"
#include "samples.h"
#include "tool.h"
#include "trace_record.h"

#define MUTATIONS	20000

static bool parse_line(struct proc_line *line, const char *text)
{
	size_t len = strlen(text);
	char *copy = exact_copy(text, len);
	bool good = proc_line_parse(line, copy, len);

	free(copy);
	return good;
}

static void lines_of_the_kernel(void)
{
	struct proc_line line;

	CHECK(proc_line_parse(&line, lines[0], strlen(lines[0])));
	CHECK(!line.jit && line.text_start == 0x55ff0425b000 &&
	      line.text_end == 0x55ff04260809);
	CHECK(line.elf_start == 0x55ff04259000 && line.elf_end == 0x55ff04269000);
	CHECK(line.sframe_start == 0x55ff04262be0 &&
	      line.sframe_end == 0x55ff042642ee);
	CHECK(line.id == 0xa && line.file == 0x14 && line.offset == 0x2000);
	CHECK(span_is(line.names, "verified"));
	CHECK(span_is(line.build_id, "99c85acc15a6c6c7d3318416cde231053ca0b27e"));
	CHECK(span_is(line.path, "/usr/lib/codectl/jit-demo/jit-demo"));

	CHECK(proc_line_parse(&line, lines[1], strlen(lines[1])));
	CHECK(line.jit && line.head == 0x7fbd5fb91000 && !line.flags);
	CHECK(span_is(line.names, "none") && span_is(line.path, ""));

	CHECK(proc_line_parse(&line, lines[2], strlen(lines[2])));
	CHECK(line.id == UINT64_MAX && span_is(line.names, "claimed"));
	CHECK(span_is(line.path, "/a b\\012=c path=/d"));
}

static void lines_that_are_none(void)
{
	static const char * const bad[] = {
		"", " ", "1000", "1000-", "-2000 elf", "1000-2000",
		"1000-2000 elf", "1000-2000 elf path=/a",
		"2000-1000 elf id=0x1 names=none build_id=- path=",
		"1000-2000 efl id=0x1 names=none build_id=- path=",
		"1000-2000 elf id=0x0 names=none build_id=- path=",
		"1000-2000 elf id=0x1 names= build_id=- path=",
		"1000-2000 elf id=0x1 names=none build_id=-",
		"1000-2000 elf id=0x1 names=none build_id=- path=a\nb",
		"1000-2000 elf id=0x1 elf=1 names=none build_id=- path=",
		"1000-2000 elf word id=0x1 names=none build_id=- path=",
		"1000-10000000000000000 elf id=0x1 names=none build_id=- path=",
		"1000-2000 elf id=0x12345678123456789 names=none build_id=- path=",
	};
	static const char attached[] =
		"1000-2000 attached rows=1 bytes=9 id=0x1 names=verified build_id=- path=";
	struct proc_line line;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		CHECK(!parse_line(&line, bad[i]));
	CHECK(parse_line(&line, "1000-2000 elf new=1 id=0x1 names=none build_id=- path="));
	CHECK(!line.attached);
	CHECK(parse_line(&line, attached));
	CHECK(line.attached && !line.jit && line.id == 1);
}

static void lines_cut_and_mutated(void)
{
	struct proc_line line;

	for (size_t len = 0; len < strlen(lines[0]); len++) {
		char *cut = exact_copy(lines[0], len);

		proc_line_parse(&line, cut, len);
		free(cut);
	}
	for (int i = 0; i < MUTATIONS; i++) {
		const char *text = lines[check_random(3)];
		size_t len = strlen(text);
		char *copy = exact_copy(text, len);

		mutate(copy, len);
		if (proc_line_parse(&line, copy, len))
			CHECK(line.text_start < line.text_end &&
			      line.path.at + line.path.len == copy + len);
		free(copy);
	}
}

static bool is_named(const struct perf_map *map, uint64_t address,
		     const char *name)
{
	const struct perf_name *found = perf_map_find(map, address);

	return name ? found && span_is(found->name, name) : !found;
}

static bool parse_mapping(struct mapping *mapping, const char *text)
{
	size_t len = strlen(text);
	char *copy = exact_copy(text, len);
	bool good = mapping_parse(mapping, copy, len);

	free(copy);
	return good;
}

static void lines_of_mappings(void)
{
	static const char file[] =
		"7f1200400000-7f1200600000 r-xp 0001F000 fd:01 1234    /usr/a b (deleted)\n";
	static const char * const good[] = {
		"1000-2000 rw-p 00000000 00:00 0\n",
		"1000-2000 rw-p 00000000 00:00 0 ",
		"1000-ffffffffff601000 --xp 00000000 00:00 0   [vsyscall]\n",
		"1000-2000 rw-p 0 0:0",
	};
	static const char * const bad[] = {
		"", "\n", "1000", "1000-", "-2000 r--p 0 00:00 0", "1000-2000",
		"1000-2000 r--p", "1000-2000 r--p ", "1000-2000 r--p 1g 00:00 0",
		"1000-20x0 r--p 0 00:00 0", "1G00-2000 r--p 0 00:00 0",
		"2000-1000 r--p 0 00:00 0", "1000-1000 r--p 0 00:00 0",
		"1000-10000000000000000 r--p 0 00:00 0", "1000-2000 rw-p 0",
		"1000-2000 rw-p 0 00", "1000-2000 rw-p 0 0g:00 0", "1000-2000 rw-p 0 00: 0",
	};
	struct mapping mapping;

	CHECK(mapping_parse(&mapping, file, strlen(file)));
	CHECK(mapping.start == 0x7f1200400000 && mapping.end == 0x7f1200600000);
	CHECK(mapping.offset == 0x1f000);
	CHECK(mapping.major == 0xfd && mapping.minor == 1 && mapping.inode == 1234);
	CHECK(span_is(mapping.path, "/usr/a b (deleted)"));
	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		CHECK(parse_mapping(&mapping, good[i]));
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		CHECK(!parse_mapping(&mapping, bad[i]));
}

static void names_of_a_perf_map(void)
{
	size_t len = strlen(perf_text);
	char *text = exact_copy(perf_text, len);
	struct perf_map map;

	CHECK(perf_map_parse(&map, text, len));
	CHECK(map.nr == 6);
	CHECK(is_named(&map, 0xfff, NULL));
	CHECK(is_named(&map, 0x1000, "first"));
	CHECK(is_named(&map, 0x107f, "first"));
	CHECK(is_named(&map, 0x1080, "inner"));
	CHECK(is_named(&map, 0x1090, "first"));
	CHECK(is_named(&map, 0x10ff, "first"));
	CHECK(is_named(&map, 0x1100, NULL));
	CHECK(is_named(&map, 0x2000, "again"));
	CHECK(is_named(&map, 0x2010, "second with blanks"));
	CHECK(is_named(&map, 0x2020, NULL));
	CHECK(is_named(&map, 0x300f, "third"));
	CHECK(is_named(&map, 0x500f, "last"));
	CHECK(is_named(&map, UINT64_MAX, NULL));
	perf_map_free(&map);
	free(text);

	CHECK(perf_map_parse(&map, "", 0));
	CHECK(is_named(&map, 0, NULL));
	perf_map_free(&map);
}

/* A name is cut at the limit, whatever follows. */
static void many_names_of_a_perf_map(void)
{
	static char text[300 * 32];
	struct perf_map map;
	size_t len = 0;

	for (unsigned int i = 0; i < 300; i++)
		len += sprintf(text + len, "%x000 1000 name%u\n",
			       1 + i * 77 % 300, i * 77 % 300);
	CHECK(perf_map_parse(&map, text, len) && map.nr == 300);
	for (unsigned int i = 0; i < 300; i++) {
		const struct perf_name *found;
		char name[32];

		sprintf(name, "name%u", i);
		found = perf_map_find(&map, (i + 1) * 0x1000 + 0xfff);
		CHECK(found && span_is(found->name, name));
	}
	perf_map_free(&map);
}

static void long_names_of_a_perf_map(void)
{
	size_t len = PERF_MAP_MAX_NAME + 200;
	char *text = malloc(len);
	struct perf_map map;

	memset(text, 'n', len);
	memcpy(text, "ABC0 1aB ", 9);
	CHECK(perf_map_parse(&map, text, len));
	CHECK(map.nr == 1 && map.names[0].name.len == PERF_MAP_MAX_NAME);
	CHECK(map.names[0].start == 0xabc0 && map.names[0].end == 0xad6b);
	perf_map_free(&map);
	free(text);
}

static void perf_maps_mutated(void)
{
	for (int i = 0; i < MUTATIONS; i++) {
		size_t len = check_random(sizeof(perf_text));
		char *text = exact_copy(perf_text, len);
		struct perf_map map;

		mutate(text, len);
		CHECK(perf_map_parse(&map, text, len));
		for (size_t n = 0; n < map.nr; n++) {
			const struct perf_name *name;

			name = perf_map_find(&map, map.names[n].start);
			CHECK(name && name->start <= map.names[n].start &&
			      name->end > map.names[n].start);
		}
		perf_map_free(&map);
		free(text);
	}
}

/* ------------------------------------------------------ records of the trace */

static const char *formats;
static struct record_layout layout;

static void layouts_of_the_formats(void)
{
	struct tep_handle *tep = tep_alloc();

	CHECK(add_format(tep, formats, "user_unwind"));
	CHECK(add_format(tep, formats, "user_unwind_stack"));
	CHECK(!record_layout_read(&layout, tep));
	CHECK(layout.file_type == -1);
	CHECK(add_format(tep, formats, "file_map"));
	CHECK(record_layout_read(&layout, tep));
	CHECK(layout.cookie.event.offset == 16);
	CHECK(layout.stack.exact.offset == 32 &&
	      layout.stack.codes.offset == 40 &&
	      layout.stack.frames.offset == 48);
	CHECK(layout.file.path.offset == 64);
	tep_free(tep);
}

/* As a kernel with another format of the record reports it. */
static bool read_changed(const char *name, const char *from, const char *to)
{
	static const char * const names[] = {
		"user_unwind", "user_unwind_stack", "file_map",
	};
	struct tep_handle *tep = tep_alloc();
	struct record_layout found;
	bool good;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (strcmp(name, names[i]))
			CHECK(add_format(tep, formats, names[i]));
		else
			CHECK(add_changed(tep, formats, names[i], from, to));
	}
	good = record_layout_read(&found, tep);
	tep_free(tep);
	return good;
}

static void layouts_of_another_kernel(void)
{
	CHECK(read_changed("file_map", "inode", "inode"));
	CHECK(!read_changed("user_unwind", "cookie", "cooky"));
	CHECK(!read_changed("user_unwind", "offset:16;	size:4", "offset:16;	size:2"));
	CHECK(!read_changed("user_unwind_stack", "stop", "end"));
	CHECK(!read_changed("user_unwind_stack", "exact", "precise"));
	CHECK(!read_changed("user_unwind_stack", "codes", "functions"));
	CHECK(!read_changed("file_map", "names", "whose"));
	CHECK(!read_changed("file_map", "unit", "kind"));
	CHECK(!read_changed("file_map", "offset:16", "offset:4294967288"));
	CHECK(!read_changed("file_map", "offset:16;	size:8",
			    "offset:16;	size:4294967288"));
	CHECK(read_changed("user_unwind", "offset:16", "offset:20"));
}

static bool parse_stack(struct stack_record *record, struct raw_stack raw,
			size_t len)
{
	void *copy = exact_copy(&raw, len);
	bool good = stack_record_parse(record, &layout, copy, len);

	free(copy);
	return good;
}

/* With one field temporarily changed. */
static bool parse_with(struct raw_stack *raw, uint32_t *field, uint32_t value)
{
	static struct stack_record record;
	uint32_t before = *field;
	bool good;

	*field = value;
	good = parse_stack(&record, *raw, sizeof(*raw));
	*field = before;
	return good;
}

static void stacks_of_the_trace(void)
{
	struct raw_stack raw = {
		.cookie = 0x123456789, .nr = 70, .first = 64, .stop = 2, .count = 2,
		.exact = 2, .codes = 1,
		.frames = { { 0x1000, 7 }, { 0x2000, 8 } }, .code = { { 65, 99 } },
	};
	static struct stack_record record;

	CHECK(parse_stack(&record, raw, sizeof(raw)));
	CHECK(record.cookie == 0x123456789 && record.nr == 70 &&
	      record.first == 64 && record.stop == 2 && record.count == 2);
	CHECK(record.frames[1].offset == 0x2000 && record.frames[1].id == 8);
	CHECK(!record.frames[0].exact && record.frames[1].exact == 1);
	CHECK(!record.frames[0].code_id && record.frames[1].code_id == 99);
	for (size_t len = 0; len < sizeof(raw); len++)
		CHECK(!parse_stack(&record, raw, len));
	CHECK(!parse_with(&raw, &raw.count, 3));
	CHECK(!parse_with(&raw, &raw.count, UINT32_MAX));
	CHECK(!parse_with(&raw, &raw.first, 69));
	CHECK(!parse_with(&raw, &raw.first, UINT32_MAX));
	CHECK(!parse_with(&raw, &raw.nr, STACK_MAX_FRAMES + 1));
	CHECK(parse_with(&raw, &raw.count, 2));
	CHECK(parse_with(&raw, &raw.codes, 0));
	CHECK(!parse_with(&raw, &raw.codes, 3));
	CHECK(!parse_with(&raw, &raw.codes, UINT32_MAX));
	raw.code[0][0] = 66;
	CHECK(!parse_stack(&record, raw, sizeof(raw)));
	raw.code[0][0] = 63;
	CHECK(!parse_stack(&record, raw, sizeof(raw)));
	raw.codes = 0;
	CHECK(parse_stack(&record, raw, sizeof(raw)));
	CHECK(!parse_with(&raw, &raw.first, 69));
	CHECK(!parse_with(&raw, &raw.first, UINT32_MAX));
	CHECK(!strcmp(stop_name(2), "no-rule"));
	CHECK(stop_name(UINT32_MAX) && stop_name(STOP_MAX));
}

static void stacks_in_a_larger_record(void)
{
	size_t len = sizeof(struct raw_stack) + RECORD_MAX_FRAMES * 16;
	struct raw_stack *raw = calloc(1, len);
	static struct stack_record record;

	raw->nr = 100;
	raw->count = RECORD_MAX_FRAMES;
	raw->exact = 1ULL << (RECORD_MAX_FRAMES - 1);
	CHECK(stack_record_parse(&record, &layout, raw, len));
	CHECK(record.frames[RECORD_MAX_FRAMES - 1].exact == 1);
	raw->count++;
	CHECK(!stack_record_parse(&record, &layout, raw, len));
	free(raw);
}

static bool parse_file(struct file_record *record, const struct raw_file *raw,
		       size_t len)
{
	void *copy = exact_copy(raw, len);
	bool good = file_record_parse(record, &layout, copy, len);

	free(copy);
	return good;
}

static void files_of_the_trace(void)
{
	size_t start = offsetof(struct raw_file, path);
	static struct raw_file raw = {
		.id = 5, .inode = 12, .dev_major = 0xfe, .names = 1,
		.unit = UNIT_FILE,
		.build_id_len = 20, .build_id = { 1, 2 }, .path = "/a/b",
	};
	static struct file_record record;

	CHECK(parse_file(&record, &raw, start + 8));
	CHECK(record.id == 5 && record.inode == 12 && record.dev_major == 0xfe);
	CHECK(record.verified && !record.claimed && record.build_id_len == 20);
	CHECK(record.unit == UNIT_FILE);
	CHECK(record.build_id[1] == 2 && !strcmp(record.path, "/a/b"));
	CHECK(parse_file(&record, &raw, start + 2));
	CHECK(!strcmp(record.path, "/a"));
	for (size_t len = 0; len < start; len++)
		CHECK(!parse_file(&record, &raw, len));
	layout.file.path.offset++;
	CHECK(!parse_file(&record, &raw, start));
	layout.file.path.offset--;
	raw.names = 2;
	CHECK(parse_file(&record, &raw, start + 8));
	CHECK(!record.verified && record.claimed);
	raw.names = 7;
	raw.unit = UINT32_MAX;
	CHECK(parse_file(&record, &raw, start + 8));
	CHECK(!record.verified && !record.claimed);
	CHECK(record.unit == UINT32_MAX);
	raw.build_id_len = 21;
	CHECK(!parse_file(&record, &raw, start + 8));
	raw.build_id_len = 0;
	memset(raw.path, 'x', sizeof(raw.path));
	CHECK(!parse_file(&record, &raw, start + 2049));
	CHECK(parse_file(&record, &raw, start + 2048));
	CHECK(strlen(record.path) == 2048);
	raw.id = 0;
	CHECK(!parse_file(&record, &raw, start + 8));
}

static void cookies_of_the_trace(void)
{
	struct raw_cookie raw = { .cookie = 9, .event = 3 };
	struct cookie_record record;

	for (size_t len = 0; len <= sizeof(raw); len++) {
		void *copy = exact_copy(&raw, len);

		CHECK(cookie_record_parse(&record, &layout, copy, len) ==
		      (len == sizeof(raw)));
		free(copy);
	}
	CHECK(record.cookie == 9 && record.event == 3);
}

static struct name_layout names;

static bool read_name_layout(const char *from, const char *to)
{
	struct tep_handle *tep = tep_alloc();
	struct name_layout found;
	bool good;

	CHECK(add_changed(tep, formats, "codectl_name", from, to));
	good = name_layout_read(&found, tep);
	if (good)
		names = found;
	tep_free(tep);
	return good;
}

static void layouts_of_names(void)
{
	struct tep_handle *tep = tep_alloc();

	CHECK(!name_layout_read(&names, tep));
	tep_free(tep);
	CHECK(!read_name_layout("field:u64 copy", "field:u64 instance"));
	CHECK(!read_name_layout("offset:44;	size:4", "offset:44;	size:2"));
	CHECK(!read_name_layout("offset:48;	size:4", "offset:48;	size:2"));
	CHECK(read_name_layout("", ""));
	CHECK(names.type == 24 && names.action.offset == 44);
}

static bool parse_name(struct name_record *record, const struct raw_name *raw, size_t len)
{
	void *copy = exact_copy(raw, len);
	bool good = name_record_parse(record, &names, copy, len);

	free(copy);
	return good;
}

static void names_of_the_trace(void)
{
	struct raw_name raw = {
		.copy = 1, .id = 2, .start = 3, .len = 4, .pid = 5, .action = NAME_RETIRE,
		.text_len = 4, .text = "fib",
	};
	const size_t start = offsetof(struct raw_name, text);
	struct name_record record;

	for (size_t len = 0; len < start + 4; len++)
		CHECK(!parse_name(&record, &raw, len));
	CHECK(parse_name(&record, &raw, start + 4));
	CHECK(record.copy == 1 && record.id == 2 && record.start == 3 && record.len == 4);
	CHECK(record.pid == 5 && record.action == NAME_RETIRE && !strcmp(record.name, "fib"));
	/* The name at another offset, and unterminated. */
	raw.distance = 1;
	raw.text_len = 2;
	CHECK(parse_name(&record, &raw, start + 3) && !strcmp(record.name, "ib"));
	raw.text_len = 0;
	CHECK(parse_name(&record, &raw, start + 1) && !*record.name);
	raw.text_len = UINT16_MAX;
	raw.distance = UINT16_MAX;
	CHECK(!parse_name(&record, &raw, sizeof(raw)));
	raw.distance = 0;
	memset(raw.text, 'x', sizeof(raw.text));
	raw.text_len = NAME_MAX_LEN;
	CHECK(parse_name(&record, &raw, sizeof(raw)) && strlen(record.name) == NAME_MAX_LEN);
	raw.text_len = NAME_MAX_LEN + 1;
	CHECK(!parse_name(&record, &raw, sizeof(raw)));
}

/* ------------------------------------------------------------- text for people */

static bool escapes_to(const char *text, size_t len, const char *also,
		       const char *wanted)
{
	char *escaped = escape(text, len, also);
	bool same = !strcmp(escaped, wanted);

	free(escaped);
	return same;
}

static void what_a_terminal_would_obey(void)
{
	CHECK(escapes_to("plain \\ \303\244", 10, "", "plain \\ \303\244"));
	CHECK(escapes_to("a\033[1m\177", 6, "", "a\\033[1m\\177"));
	CHECK(escapes_to("a\0b", 3, ";", "a\\000b"));
	CHECK(escapes_to("\302\23331m\302\240\302", 8, "", "\\302\\23331m\302\240\302"));
	CHECK(escapes_to("a;b c", 5, "; ", "a\\073b\\040c"));
	CHECK(escapes_to("", 0, "", ""));
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	formats = argv[1];
	RUN(lines_of_the_kernel);
	RUN(lines_that_are_none);
	RUN(lines_cut_and_mutated);
	RUN(lines_of_mappings);
	RUN(names_of_a_perf_map);
	RUN(long_names_of_a_perf_map);
	RUN(many_names_of_a_perf_map);
	RUN(perf_maps_mutated);
	RUN(layouts_of_the_formats);
	RUN(layouts_of_another_kernel);
	RUN(cookies_of_the_trace);
	RUN(stacks_of_the_trace);
	RUN(stacks_in_a_larger_record);
	RUN(files_of_the_trace);
	RUN(layouts_of_names);
	RUN(names_of_the_trace);
	RUN(what_a_terminal_would_obey);
	return check_end();
}

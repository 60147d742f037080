// SPDX-License-Identifier: MIT
/*
 * Writes seeds for the fuzzers, made from the data of the tests: DIR/answer, DIR/line,
 * DIR/mapping, DIR/perf_map, DIR/record, DIR/recording, DIR/sframe_rows.
 */
#include <stdlib.h>
#include <sys/stat.h>

#include "answer.h"
#include "perf_records.h"
#include "samples.h"
#include "sframe/rows.h"
#include "tool.h"

static const char *dir;

static FILE *open_seed(const char *target, size_t nr)
{
	char *path = format("%s/%s", dir, target);
	FILE *file;

	mkdir(path, 0755);
	free(path);
	path = format("%s/%s/%zu", dir, target, nr);
	file = fopen(path, "w");
	if (!file)
		die("cannot write %s", path);
	free(path);
	return file;
}

static void write_seed(const char *target, size_t nr, const char *text)
{
	FILE *file = open_seed(target, nr);

	fputs(text, file);
	fclose(file);
}

/* The mappings of this process. */
static void write_mappings(void)
{
	FILE *file = fopen("/proc/self/maps", "r");
	char line[4096];

	for (size_t nr = 0; file && fgets(line, sizeof(line), file); nr++)
		write_seed("mapping", nr, line);
	if (file)
		fclose(file);
}

static void write_answers(void)
{
	struct function inlined[] = { { "one", "file.c", 1 }, { "two", NULL, 2 } };
	struct symbol symbol = { "outer", 5, "file.h", 7, inlined, ARRAY_SIZE(inlined) };
	FILE *file = open_seed("answer", 0);

	answer_write_build_id("an id", 5, file);
	answer_write(&symbol, file);
	symbol.nr_inlined = 0;
	answer_write(&symbol, file);
	fclose(file);
}

/* A record of task 7 on CPU 1, in the format of record_fuzz.c. */
static void put_record(FILE *file, uint8_t kind, const void *data, size_t len)
{
	const uint8_t head[4] = { kind, 1, 7, (len + 7) / 8 };

	fwrite(head, 1, sizeof(head), file);
	fwrite(data, 1, len, file);
	fwrite("\0\0\0\0\0\0\0", 1, -len % 8, file);
}

/* An event, its cookie, the stack in @parts records, and one of its files. */
static void write_trace(size_t nr, uint32_t parts)
{
	struct raw_cookie cookie = { .cookie = 9, .event = 0 };
	struct raw_stack stack = {
		.cookie = 9, .nr = 2 * parts, .count = 2, .exact = 1,
		.frames = { { 0x1000, 7 }, { 0x2000, 8 } },
		.codes = 1,
	};
	struct raw_file explained = {
		.id = 7, .inode = 12, .dev_major = 0xfe, .names = 1, .unit = 1,
		.build_id_len = 20, .build_id = { 1, 2 }, .path = "/a/b",
	};
	FILE *file = open_seed("record", nr);

	put_record(file, 0, NULL, 0);
	put_record(file, 1, &cookie, sizeof(cookie));
	put_record(file, 3, &explained,
		   offsetof(struct raw_file, path) + strlen(explained.path) + 1);
	for (uint32_t i = 0; i < parts; i++) {
		stack.first = 2 * i;
		stack.code[0][0] = stack.first;
		stack.code[0][1] = 1ULL << 40;
		put_record(file, 2, &stack, sizeof(stack));
	}
	put_record(file, 5, NULL, 0);
	put_record(file, 5, NULL, 0);
	fclose(file);
}

/* A function that is added and removed, and the end of its program's names. */
static void write_names(size_t nr)
{
	struct raw_name name = {
		.copy = 1, .id = 1, .start = 0x1ff0, .len = 32, .text_len = 4, .text = "fib",
	};
	FILE *file = open_seed("record", nr);

	for (name.action = NAME_ADD; name.action <= NAME_END; name.action++)
		put_record(file, 7, &name, offsetof(struct raw_name, text) + 4);
	fclose(file);
}

/* A wait, its cookie, and its stack. */
static void write_wait(size_t nr)
{
	struct raw_wait wait = { .ns = 1000, .nr = 202, .arg0 = 0x1000, .state = 'S' };
	struct raw_cookie cookie = { .cookie = 9, .event = 8 };
	struct raw_stack stack = { .cookie = 9, .nr = 1, .count = 1, .frames = { { 0x1000, 7 } } };
	FILE *file = open_seed("record", nr);

	put_record(file, 8, &wait, offsetof(struct raw_wait, compat) + 1);
	put_record(file, 1, &cookie, sizeof(cookie));
	put_record(file, 2, &stack, sizeof(stack));
	fclose(file);
}

static void write_perf(void)
{
	struct bytes bytes = { 0 };
	FILE *file = open_seed("perf_data", 0);

	put_all(&bytes);
	fwrite(bytes.data, bytes.len, 1, file);
	fclose(file);
	write_seed("kernel_names", 0,
		   "ffffffff81000000 T first\nffffffff81000200 t local\n"
		   "0000000000000000 A zero\nffffffffc0000000 t in_module\t[some]\n");
}

/* One seed for each kind of line. */
static void write_recordings(void)
{
	write_seed("recording", 0,
		   "{\"codectl-recording\":1,\"start\":1,\"duration\":2}\n"
		   "{\"event\":{\"name\":\"a:b\",\"timed\":true}}\n"
		   "{\"task\":{\"comm\":\"c\",\"pid\":1,\"tid\":2,\"cgroup\":\"/d\"}}\n"
		   "{\"frame\":{\"function\":\"f\",\"distance\":\"0x1\",\"file\":\"/e\",\"build-id\":\"00\",\"offset\":\"0x2\",\"source\":\"g.c\",\"line\":3,\"inlined\":true}}\n"
		   "{\"frame\":{\"function\":\"\\u001b;&<\",\"kernel\":true,\"id\":\"0x1\",\"code\":\"0x2\"}}\n"
		   "{\"frame\":{\"claimed\":true,\"mark\":true}}\n"
		   "{\"stack\":{\"frame\":2}}\n{\"stack\":{\"caller\":0,\"frame\":1}}\n"
		   "{\"stack\":{\"caller\":1,\"frame\":0}}\n"
		   "{\"sample\":{\"stack\":2,\"task\":0,\"event\":0,\"time\":7,\"events\":2,\"ns\":9}}\n"
		   "{\"sample\":{\"task\":0,\"event\":0,\"time\":100000000,\"events\":1}}\n"
		   "{\"note\":{\"count\":1,\"text\":\"lost\"}}\n{\"new\":[]}\n{\"end\":{}}\n");
}

/* Rows of each kind, one after the other; the fuzzer moves those that start below 0x1000. */
static void write_rows(void)
{
	const struct loc ra = { LOC_WORD, BASE_CFA, 0, -8 };
	const struct loc fp = { LOC_WORD, BASE_CFA, 0, -16 }, same = { LOC_SAME };
	const struct loc sp = { LOC_VALUE, REG_SP, 0, 8 }, word = { LOC_WORD, REG_FP, 0, -8 };
	const struct row rows[] = {
		{ 0, 4, 0, 0, 0, sp, ra, same },
		{ 0, 4, 0, 0, 0, { LOC_VALUE, REG_FP, 0, 0x10000 }, ra, fp },
		{ 0, 8, ROW_OUTERMOST, 0, 0, same, same, same },
		{ 0, 16, 0, 0, 0, word, { LOC_VALUE, 1, 0, 0 }, word },
		{ 0, 16, ROW_SIGNAL, 0, 0, word, word, word },
		{ 0, 160, 0, 11, 0, sp, ra, same },
		{ 8, 24, 0, 10, 0, sp, ra, same },
	};
	FILE *file = open_seed("sframe_rows", 0);

	fwrite(rows, sizeof(rows), 1, file);
	fclose(file);
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return EXIT_USAGE;
	dir = argv[1];
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		write_seed("line", i, lines[i]);
	write_answers();
	write_mappings();
	write_seed("perf_map", 0, perf_text);
	for (uint32_t parts = 1; parts < 4; parts++)
		write_trace(parts, parts);
	write_names(4);
	write_wait(5);
	write_recordings();
	write_perf();
	write_rows();
	return 0;
}

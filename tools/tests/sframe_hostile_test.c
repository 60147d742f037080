// SPDX-License-Identifier: MIT
/*
 * A compromised reader of a file can send arbitrary objects and rows: only valid tables may result.
 */
#include <elf.h>
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include "attach/converter.h"
#include "check.h"
#include "sframe/convert.h"
#include "sframe/frames.h"
#include "sframe/object.h"
#include "sframe/work.h"
#include "tool.h"

/* The messages of the process: the object twice, and the rows. */
static struct object first, second;
static struct row rows[2];

static bool can_write_to_others;

/* Called in each child before it is confined. */
static void look_for_shared_memory(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char permissions[5];

	can_write_to_others = !maps;
	while (maps && fscanf(maps, "%*s %4s%*[^\n]", permissions) == 1)
		can_write_to_others |= permissions[1] == 'w' && permissions[3] == 's';
	if (maps)
		fclose(maps);
}

/* Runs in the confined process instead of the reader. */
struct Elf *object_open(void *image, size_t size, struct object *object)
{
	(void)size;
	*object = first;
	if (can_write_to_others)
		object->error = OBJECT_TOO_LARGE;
	return can_write_to_others ? NULL : image;
}

struct row *frames_rows(struct Elf *elf, struct object *object)
{
	(void)elf;
	*object = second;
	return second.error ? NULL : rows;
}

static void start_well(void)
{
	static const struct row row = {
		0x1000, 16, 0, 0, 0, { LOC_VALUE, REG_SP, 0, 8 },
		{ LOC_WORD, BASE_CFA, 0, -8 }, { LOC_SAME, 0, 0, 0 },
	};

	first = (struct object){
		.type = ET_DYN, .nr_segments = 1, .table_addr = 0x2000,
		.segments = { { 0x1000, 0x100, 0x1000 } },
	};
	second = first;
	second.nr_rows = 2;
	rows[0] = row;
	rows[1] = row;
	rows[1].start += 16;
}

/* Was the last error blamed on the file? */
static bool lasting;

static const char *convert(void)
{
	struct conversion conversion;
	char image[64] = "";
	const char *wrong = convert_start(&conversion, image, sizeof(image), CONVERT_SECONDS);

	if (!wrong)
		wrong = convert_finish(&conversion);
	if (!wrong)
		table_free(&conversion.table);
	lasting = conversion.lasting;
	return wrong;
}

/* Sends any message: the process may end because nobody reads any more. */
static bool is_refused(void)
{
	const char *wrong = convert();

	start_well();
	return wrong;
}

static void what_is_sound_is_taken(void)
{
	start_well();
	CHECK(!convert());
	first.type = ET_EXEC;
	second.type = ET_EXEC;
	CHECK(!convert());
}

static void objects_are_checked(void)
{
	start_well();
	first.type = ET_REL;
	CHECK(is_refused());
	second.type = ET_CORE;
	CHECK(is_refused());
	second.build_id_len = MAX_BUILD_ID + 1;
	CHECK(is_refused());
	second.nr_segments = 0;
	CHECK(is_refused());
	second.nr_segments = MAX_SEGMENTS + 1;
	CHECK(is_refused());
	second.table_addr = MAX_ADDRESS + 1;
	CHECK(is_refused());
	second.nr_rows = MAX_ROWS + 1;
	CHECK(is_refused());
	second.segments[0].len = MAX_ADDRESS + 1;
	CHECK(is_refused());
	second.segments[0].vaddr = MAX_ADDRESS + 1;
	CHECK(is_refused());
	second.error = NR_OBJECT_ERRORS;
	CHECK(is_refused());
}

static void rows_are_checked(void)
{
	start_well();
	second.nr_rows = 0;
	CHECK(is_refused() && lasting);
	rows[0].flags = ROW_FLAGS + 1;
	CHECK(is_refused());
	/* Not in order, outside the segment, and across its end. */
	rows[1].start = rows[0].start;
	CHECK(is_refused());
	rows[0].start = 0xff0;
	CHECK(is_refused());
	rows[1].start = 0x1100;
	CHECK(is_refused());
	rows[1].size = 0xf1;
	CHECK(is_refused());
}

static void large_tables_are_refused(void)
{
	size_t most = convert_max_table;

	start_well();
	convert_max_table = 10;
	CHECK(is_refused() && lasting);
	convert_max_table = most;
	CHECK(!convert());
}

static void what_is_short_is_refused(void)
{
	start_well();
	second.nr_rows = 1 << 20;
	CHECK(is_refused());
}

static void what_it_says_is_wrong_is_shown(void)
{
	const char *wrong;

	start_well();
	second.error = OBJECT_NO_MEMORY;
	wrong = convert();
	CHECK(wrong && !strcmp(wrong, convert_error(OBJECT_NO_MEMORY)) && lasting);
}

static void no_memory_of_others_is_left_to_it(void)
{
	char out[] = "/tmp/codectl-hostile-XXXXXX", *path = "/proc/self/exe";
	const struct work work = { .paths = &path, .nr = 1, .output = out, .jobs = 1 };

	start_well();
	close(mkstemp(out));
	CHECK(work_run(&work).converted == 1);
	unlink(out);
}

static char *convert_beside(int store)
{
	struct file file = {
		.fd = open("/proc/self/exe", O_RDONLY), .attached = -1, .pending = true,
	};
	struct files files = { .file = &file, .nr = 1 };
	struct converter converter;
	bool lasting;
	char *wrong;

	fflush(stdout);
	converter_start(&converter, &files, store);
	CHECK(!convert());
	while (!converter_has_ended(&converter))
		usleep(1000);
	wrong = converter_wrong(&converter, &file, &lasting);
	converter_free(&converter);
	close(file.fd);
	return wrong;
}

static void nor_of_who_waits_for_tables(void)
{
	char folder[] = "/tmp/codectl-hostile-XXXXXX";
	int store = store_open(mkdtemp(folder));
	char *command = format("rm -r %s", folder), *wrong;

	start_well();
	wrong = convert_beside(store);
	CHECK(!wrong);
	free(wrong);
	CHECK(!system(command));
	free(command);
	close(store);
}

static void what_it_is_told_is_cut_and_printable(void)
{
	struct wrong wrong = { false, "" };
	struct converter converter = { .nr = 1, .wrong = &wrong };
	const struct file file = { .job = 0 };
	bool lasting;
	char *text;

	CHECK(!converter_wrong(&converter, &file, &lasting));
	memset(wrong.text, 'x', sizeof(wrong.text));
	wrong.text[0] = '\033';
	wrong.lasting = true;
	text = converter_wrong(&converter, &file, &lasting);
	CHECK(lasting && text && !strncmp(text, "\\033x", 5) && strlen(text) == WRONG_SIZE + 3);
	free(text);
}

int main(void)
{
	pthread_atfork(NULL, NULL, look_for_shared_memory);
	RUN(what_is_sound_is_taken);
	RUN(objects_are_checked);
	RUN(rows_are_checked);
	RUN(large_tables_are_refused);
	RUN(what_is_short_is_refused);
	RUN(what_it_says_is_wrong_is_shown);
	RUN(no_memory_of_others_is_left_to_it);
	RUN(nor_of_who_waits_for_tables);
	RUN(what_it_is_told_is_cut_and_printable);
	return check_end();
}

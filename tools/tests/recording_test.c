// SPDX-License-Identifier: MIT
/*
 * Recordings: a written one is read as the same, and an invalid one is refused, with the number of
 * the line.
 */
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "profiles.h"
#include "report/output.h"
#include "tool.h"

#define HEAD	"{\"codectl-recording\":1}\n"
#define EVENT	"{\"event\":{\"name\":\"e\"}}\n"
#define TASK	"{\"task\":{\"pid\":1,\"tid\":2}}\n"
#define FRAME	"{\"frame\":{\"function\":\"f\"}}\n"
#define STACK	"{\"stack\":{\"frame\":0}}\n"
#define SAMPLE	"{\"sample\":{\"stack\":0,\"task\":0,\"event\":0,\"time\":0,\"events\":1}}\n"
#define END	"{\"end\":{}}\n"

static struct profile *make_all(void)
{
	const struct profile_frame odd = {
		.function = "f\n<\xff>", .file = "/a b", .build_id = "00ff", .source = "s.c",
		.line = 7, .offset = UINT64_MAX, .distance = 1, .id = 2, .code = 3,
		.flags = PROFILE_FLAGS,
	};
	const struct profile_note note = { .text = "lost", .count = 3 };
	struct profile *profile = profile_new();
	struct profile_sample bare = { .stack = PROFILE_NO_STACK, .events = 1 };

	*profile_about(profile, false) = (struct profile_about){ 5, 6 };
	ADD(profile, .functions = "main;f", .comm = "c", .pid = 3, .time = 5 * PROFILE_TICK_NS,
	    .events = 2, .ns = 9, .timed = true);
	ADD(profile, .functions = "main", .event = "x", .events = 1);
	profile_stack(profile, PROFILE_NO_STACK, profile_frame(profile, &odd));
	for (uint32_t flag = 1; flag < PROFILE_FLAGS; flag <<= 1)
		profile_frame(profile, &(struct profile_frame){ .flags = flag });
	CHECK(profile_add(profile, &bare));
	profile_note(profile, &note);
	return profile;
}

static void what_is_written_is_read(void)
{
	struct profile *profile = make_all(), *again = profile_new();
	char *text = written_recording(profile), *twice;
	const char *wrong;
	unsigned long line;

	wrong = read_recording(again, text, strlen(text), &line);
	CHECK(!wrong);
	twice = written_recording(again);
	CHECK(!strcmp(text, twice));
	CHECK(profile_about(again, false)->start == 5);
	CHECK(profile_about(again, false)->duration == 6);
	CHECK(profile_frame_at(again, 2).flags == PROFILE_FLAGS);
	for (uint32_t i = 0; i < 4; i++)
		CHECK(profile_frame_at(again, 3 + i).flags == 1U << i);
	CHECK(profile_frame_at(again, 2).offset == UINT64_MAX);
	CHECK(!strcmp(profile_frame_at(again, 2).function, "f\\012<\\377>"));
	CHECK(profile_note_at(again, 0).count == 3);
	CHECK(profile_sample_at(again, 0)->ns == 9);
	free(text);
	free(twice);
	profile_free(profile);
	profile_free(again);
}

/* Is it refused at @line for @why?  NULL: it must be accepted. */
static bool reads(const char *text, const char *why, unsigned long line)
{
	struct profile *profile = profile_new();
	unsigned long at;
	const char *wrong = read_recording(profile, text, strlen(text), &at);
	bool good = why ? wrong && strstr(wrong, why) && at == line : !wrong;

	if (!good)
		printf("# line %lu: %s\n", at, wrong ?: "all is well");
	profile_free(profile);
	return good;
}

static void what_is_accepted(void)
{
	CHECK(reads(HEAD END, NULL, 0));
	CHECK(reads(HEAD EVENT TASK FRAME STACK SAMPLE END, NULL, 0));
	/* Additions of later versions, and data after the end. */
	CHECK(reads("{\"codectl-recording\":1,\"new\":[1]}\n{\"new\":{}}\n" END "rest", NULL, 0));
	CHECK(reads(HEAD "{\"event\":{\"name\":\"e\",\"new\":{}}}\n" END, NULL, 0));
}

static void what_is_no_recording(void)
{
	CHECK(reads("", "ends early", 1));
	CHECK(reads("\177ELF\n", "no recording", 1));
	CHECK(reads("{}\n", "no recording", 1));
	CHECK(reads("[1]\n", "no recording", 1));
	CHECK(reads("{\"codectl-recording\":2}\n", "version", 1));
	CHECK(reads("{\"codectl-recording\":1,\"start\":-1}\n", "member", 1));
	CHECK(reads("{\"codectl-recording\":1,\"duration\":\"1\"}\n", "member", 1));
	CHECK(reads(HEAD, "ends early", 2));
	CHECK(reads(HEAD EVENT, "ends early", 3));
	CHECK(reads(HEAD "{\"end\":{}}", "cut off", 2));
	CHECK(reads(HEAD "{\"event\":\n", "not JSON", 2));
	CHECK(reads(HEAD "{} {}\n", "not JSON", 2));
	CHECK(reads(HEAD "{\"event\":{\"name\":\"e\",\"name\":\"f\"}}\n", "not JSON", 2));
	CHECK(reads(HEAD "{\"event\":{\"name\":\"\xff\"}}\n", "not JSON", 2));
	CHECK(reads(HEAD "{\"event\":{\"name\":\"a\\u0000\"}}\n", "not JSON", 2));
}

static void members_that_are_wrong(void)
{
	static const char *const lines[] = {
		"{\"event\":[]}", "{\"event\":{}}", "{\"event\":{\"name\":1}}",
		"{\"event\":{\"name\":\"e\",\"timed\":1}}", "{\"task\":{\"pid\":1}}",
		"{\"task\":{\"pid\":-1,\"tid\":1}}", "{\"task\":{\"pid\":1,\"tid\":-1}}",
		"{\"task\":{\"pid\":2147483648,\"tid\":1}}",
		"{\"task\":{\"pid\":1,\"tid\":2147483648}}",
		"{\"task\":{\"pid\":1,\"tid\":1,\"comm\":null}}",
		"{\"frame\":{\"line\":-1}}", "{\"frame\":{\"line\":4294967296}}",
		"{\"frame\":{\"offset\":1}}", "{\"frame\":{\"offset\":\"x\"}}",
		"{\"frame\":{\"distance\":\"\"}}", "{\"frame\":{\"id\":\"0x10000000000000000\"}}",
		"{\"frame\":{\"code\":\"-1\"}}", "{\"frame\":{\"kernel\":0}}",
		"{\"frame\":{\"function\":7}}", "{\"stack\":{}}", "{\"stack\":{\"frame\":\"0\"}}",
		"{\"sample\":{\"stack\":0}}", "{\"note\":{\"count\":1}}",
		"{\"note\":{\"count\":-1,\"text\":\"t\"}}",
		"{\"sample\":{\"task\":0,\"event\":0,\"time\":-1,\"events\":1}}",
		"{\"sample\":{\"task\":0,\"event\":0,\"time\":0,\"events\":-1}}",
		"{\"sample\":{\"task\":0,\"event\":0,\"time\":0,\"events\":1,\"ns\":-1}}",
		"{\"sample\":{\"task\":0,\"event\":0,\"time\":0,\"events\":1.5}}",
	};

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		char *text = format(HEAD "%s\n" END, lines[i]);

		CHECK(reads(text, "member", 2));
		free(text);
	}
}

static void numbers_of_nothing(void)
{
	CHECK(reads(HEAD STACK END, "number", 2));
	CHECK(reads(HEAD FRAME "{\"stack\":{\"caller\":0,\"frame\":0}}\n" END, "number", 3));
	CHECK(reads(HEAD FRAME "{\"stack\":{\"frame\":1}}\n" END, "number", 3));
	CHECK(reads(HEAD FRAME "{\"stack\":{\"frame\":-1}}\n" END, "number", 3));
	CHECK(reads(HEAD FRAME "{\"stack\":{\"frame\":4294967296}}\n" END, "number", 3));
	CHECK(reads(HEAD EVENT FRAME STACK SAMPLE END, "number", 5));
	CHECK(reads(HEAD TASK FRAME STACK SAMPLE END, "number", 5));
	CHECK(reads(HEAD EVENT TASK SAMPLE END, "number", 4));
}

static void what_is_too_much(void)
{
	char *text = format(HEAD EVENT TASK FRAME STACK "%s" SAMPLE END,
			    "{\"sample\":{\"task\":0,\"event\":0,\"time\":0,\"events\":9223372036854775807}}\n");
	char *blanks = need(malloc((1 << 20) + 1)), *deep;
	size_t size;
	FILE *to = open_memstream(&deep, &size);

	CHECK(reads(text, "too large", 7));
	free(text);
	memset(blanks, ' ', 1 << 20);
	blanks[1 << 20] = '\0';
	text = format(HEAD "{}%s\n" END, blanks);
	CHECK(reads(text, "too long", 2));
	free(text);
	free(blanks);
	fputs(HEAD FRAME STACK, to);
	for (int i = 0; i < PROFILE_MAX_DEPTH; i++)
		fprintf(to, "{\"stack\":{\"caller\":%d,\"frame\":0}}\n", i);
	fclose(to);
	CHECK(reads(deep, "too many frames", 3 + PROFILE_MAX_DEPTH));
	free(deep);
}

static void a_byte_of_zero(void)
{
	static const char text[] = HEAD "{\"x\":\0}\n" END;
	struct profile *profile = profile_new();
	unsigned long line;
	const char *wrong = read_recording(profile, text, sizeof(text) - 1, &line);

	CHECK(wrong && strstr(wrong, "no text") && line == 2);
	profile_free(profile);
}

static void each_byte_that_is_cut(void)
{
	struct profile *profile = make_all();
	char *text = written_recording(profile);
	unsigned long line;

	for (size_t len = 0; len < strlen(text); len++) {
		struct profile *part = profile_new();

		CHECK(read_recording(part, text, len, &line));
		profile_free(part);
	}
	free(text);
	profile_free(profile);
}

/* Inputs of the kind that recording_fuzz.c makes, so that check covers some of them. */
static void bytes_that_are_changed(void)
{
	struct profile *profile = make_all();
	char *text = written_recording(profile);
	size_t len = strlen(text);
	unsigned long line;

	for (int i = 0; i < 3000; i++) {
		struct profile *changed = profile_new();
		char *copy = exact_copy(text, len);

		mutate(copy, len);
		if (!read_recording(changed, copy, len, &line))
			free(written_recording(changed));
		free(copy);
		profile_free(changed);
	}
	free(text);
	profile_free(profile);
}

static void two_recordings(void)
{
	static const char first[] = HEAD EVENT TASK FRAME STACK SAMPLE END;
	static const char other[] =
		"{\"codectl-recording\":1,\"start\":9}\n" TASK EVENT
		"{\"frame\":{\"function\":\"g\"}}\n" FRAME
		"{\"stack\":{\"frame\":1}}\n" SAMPLE
		"{\"note\":{\"count\":1,\"text\":\"t\"}}\n" END;
	struct profile *profile = profile_new();
	FILE *from = fmemopen((char *)other, strlen(other), "r");
	unsigned long line;

	CHECK(!read_recording(profile, first, strlen(first), &line));
	CHECK(!recording_read(profile, from, true, &line));
	fclose(from);
	CHECK(profile_counts(profile).samples == 2 && profile_counts(profile).stacks == 1);
	CHECK(!profile_sample_at(profile, 0)->base && profile_sample_at(profile, 1)->base);
	CHECK(!profile_about(profile, false)->start && profile_about(profile, true)->start == 9);
	CHECK(profile_note_at(profile, 0).base);
	profile_free(profile);
}

static void a_full_disk(void)
{
	FILE *full = fopen("/dev/full", "w");
	struct profile *profile = make_all();

	if (!full)
		abort();
	CHECK(recording_write(profile, full) == ENOSPC);
	fclose(full);
	profile_free(profile);
}

/* Only its user may read it, whoever could read the file before. */
static void a_private_file_that_was_there(void)
{
	char path[] = "/tmp/report-XXXXXX";
	int fd = mkstemp(path);
	struct stat st;
	FILE *to;

	CHECK(!fchmod(fd, 0644));
	to = output_open_private(path);
	CHECK(!fstat(fd, &st) && (st.st_mode & 07777) == 0600);
	output_close(to, path);
	CHECK(!fchmod(fd, 0644));
	to = output_open(path);
	CHECK(!fstat(fd, &st) && (st.st_mode & 07777) == 0644);
	output_close(to, path);
	to = output_open_private("/dev/null");
	CHECK(!stat("/dev/null", &st) && (st.st_mode & 0777) == 0666);
	output_close(to, "/dev/null");
	close(fd);
	unlink(path);
}

int main(void)
{
	RUN(what_is_written_is_read);
	RUN(what_is_accepted);
	RUN(what_is_no_recording);
	RUN(members_that_are_wrong);
	RUN(numbers_of_nothing);
	RUN(what_is_too_much);
	RUN(a_byte_of_zero);
	RUN(each_byte_that_is_cut);
	RUN(bytes_that_are_changed);
	RUN(two_recordings);
	RUN(a_full_disk);
	RUN(a_private_file_that_was_there);
	return check_end();
}

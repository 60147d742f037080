// SPDX-License-Identifier: MIT
/*
 * libFuzzer target for the lines of /proc/PID/codectl: an accepted line is within the input, and
 * is the same after it was written and read again.
 */
#include "fuzz.h"
#include "proc_line.h"
#include "tool.h"

static bool is_within(struct span span, const char *text, size_t len)
{
	return !span.len || (span.at >= text && span.at + span.len <= text + len);
}

static bool is_same(struct span one, struct span other)
{
	return one.len == other.len && !memcmp(one.at, other.at, one.len);
}

static char *write_again(const struct proc_line *line)
{
	char *numbers = format("%llx-%llx %s elf=%llx-%llx sframe=%llx-%llx head=%llx flags=%llx",
			       (long long)line->text_start, (long long)line->text_end,
			       line->jit ? "jit" : "elf", (long long)line->elf_start,
			       (long long)line->elf_end, (long long)line->sframe_start,
			       (long long)line->sframe_end, (long long)line->head,
			       (long long)line->flags);
	char *text;

	text = format("%s id=%llx file=%llx offset=%llx names=%.*s build_id=%.*s path=%.*s",
		      numbers, (long long)line->id,
		      (long long)line->file, (long long)line->offset,
		      (int)line->names.len, line->names.at,
		      (int)line->build_id.len, line->build_id.at,
		      (int)line->path.len, line->path.at);
	free(numbers);
	return text;
}

static void check_again(const struct proc_line *line)
{
	char *text = write_again(line);
	struct proc_line again;

	require(proc_line_parse(&again, text, strlen(text)));
	require(is_same(line->names, again.names));
	require(is_same(line->build_id, again.build_id));
	require(is_same(line->path, again.path));
	again.names = line->names;
	again.build_id = line->build_id;
	again.path = line->path;
	require(!memcmp(line, &again, sizeof(again)));
	free(text);
}

/* A terminal gets no control character. */
static void check_escaped(struct span path)
{
	char *text = escape(path.at, path.len, ";");

	for (const char *c = text; *c; c++)
		require((unsigned char)*c >= ' ' && *c != 127 && *c != ';');
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = exact_copy(data, size);
	struct proc_line line;

	memset(&line, 0, sizeof(line));
	if (proc_line_parse(&line, text, size)) {
		require(line.text_start < line.text_end && line.id);
		require(is_within(line.names, text, size));
		require(is_within(line.build_id, text, size));
		require(is_within(line.path, text, size));
		require(!memchr(line.path.at, '\n', line.path.len));
		check_again(&line);
		check_escaped(line.path);
	}
	free(text);
	return 0;
}

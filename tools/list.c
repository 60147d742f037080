// SPDX-License-Identifier: MIT
/*
 * codectl list: /proc/PID/codectl in readable form.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "proc_line.h"
#include "tool.h"

struct widths {
	int range, id, build_id;
};

static char *range_text(const struct proc_line *line)
{
	return format("%llx-%llx", (unsigned long long)line->text_start,
		      (unsigned long long)line->text_end);
}

static void print_line(const struct proc_line *line, const struct widths *widths)
{
	char *range = range_text(line);
	char *path = escape(line->path.at, line->path.len, "");

	printf("%-*s  %-8s  0x%-*llx  %-8.*s  %-*.*s  %s\n", widths->range, range,
	       line->attached ? "attached" : line->jit ? "jit" : "elf", widths->id,
	       (unsigned long long)line->id, (int)line->names.len,
	       line->names.at, widths->build_id, (int)line->build_id.len,
	       line->build_id.at, path);
	free(range);
	free(path);
}

static void grow_widths(struct widths *widths, const struct proc_line *line)
{
	int range = snprintf(NULL, 0, "%llx-%llx",
			     (unsigned long long)line->text_start,
			     (unsigned long long)line->text_end);
	int id = snprintf(NULL, 0, "%llx", (unsigned long long)line->id);

	if (widths->range < range)
		widths->range = range;
	if (widths->id < id)
		widths->id = id;
	if (widths->build_id < (int)line->build_id.len)
		widths->build_id = line->build_id.len;
}

struct lines {
	char **text;
	size_t nr;
};

static struct lines read_lines(pid_t pid)
{
	FILE *file = need(fdopen(open_proc(pid, "codectl"), "r"));
	struct lines lines = { 0 };
	char *text = NULL;
	size_t room = 0;
	ssize_t len;

	errno = 0;
	while ((len = getline(&text, &room, file)) > 0) {
		if (text[len - 1] == '\n')
			text[len - 1] = '\0';
		lines.text = need(reallocarray(lines.text, lines.nr + 1,
					       sizeof(*lines.text)));
		lines.text[lines.nr++] = need(strdup(text));
	}
	if (ferror(file))
		die_proc(pid, "codectl", errno);
	free(text);
	fclose(file);
	return lines;
}

static void print_table(const struct lines *lines)
{
	struct widths widths = { strlen("TEXT"), strlen("ID") - 2,
				 strlen("BUILD-ID") };
	struct proc_line *parsed;

	parsed = need(calloc(lines->nr + 1, sizeof(*parsed)));
	for (size_t i = 0; i < lines->nr; i++) {
		const char *text = lines->text[i];

		if (!proc_line_parse(&parsed[i], text, strlen(text)))
			die("cannot make out a line of the kernel: %s", text);
		grow_widths(&widths, &parsed[i]);
	}
	printf("%-*s  %-8s  %-*s  %-8s  %-*s  %s\n", widths.range, "TEXT", "KIND",
	       widths.id + 2, "ID", "NAMES", widths.build_id, "BUILD-ID", "PATH");
	for (size_t i = 0; i < lines->nr; i++)
		print_line(&parsed[i], &widths);
	free(parsed);
}

int cmd_list(int argc, char **argv)
{
	bool raw = false;
	struct lines lines;
	pid_t pid;

	if (argc > 1 && !strcmp(argv[1], "--raw")) {
		raw = true;
		argv++;
		argc--;
	}
	if (argc != 2 || argv[1][0] == '-')
		die_usage("list takes the id of one process");
	pid = need_pid(argv[1]);
	need_codectl();
	lines = read_lines(pid);
	if (!raw)
		print_table(&lines);
	for (size_t i = 0; i < lines.nr; i++) {
		if (raw)
			puts(lines.text[i]);
		free(lines.text[i]);
	}
	free(lines.text);
	return finish_output();
}

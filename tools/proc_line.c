// SPDX-License-Identifier: MIT
#include "proc_line.h"

static bool parse_value(struct proc_line *line, struct span key, struct span value)
{
	if (span_is(key, "elf"))
		return span_range(value, &line->elf_start, &line->elf_end);
	if (span_is(key, "sframe"))
		return span_range(value, &line->sframe_start, &line->sframe_end);
	if (span_is(key, "head"))
		return span_hex(value, &line->head);
	if (span_is(key, "flags"))
		return span_hex(value, &line->flags);
	if (span_is(key, "id"))
		return span_hex(value, &line->id);
	if (span_is(key, "file"))
		return span_hex(value, &line->file);
	if (span_is(key, "offset"))
		return span_hex(value, &line->offset);
	if (span_is(key, "names"))
		line->names = value;
	else if (span_is(key, "build_id"))
		line->build_id = value;
	return true;
}

bool proc_line_parse(struct proc_line *line, const char *text, size_t len)
{
	struct span rest = { text, len }, kind, word;
	bool has_path = false;

	*line = (struct proc_line){ 0 };
	if (memchr(text, '\n', len) || memchr(text, '\0', len))
		return false;
	if (!span_range(span_take(&rest, ' '), &line->text_start, &line->text_end))
		return false;
	kind = span_take(&rest, ' ');
	line->jit = span_is(kind, "jit");
	line->attached = span_is(kind, "attached");
	if (!line->jit && !line->attached && !span_is(kind, "elf"))
		return false;
	while (rest.len && !has_path) {
		if (span_skip(&rest, "path=")) {
			line->path = rest;
			has_path = true;
			break;
		}
		word = span_take(&rest, ' ');
		if (!memchr(word.at, '=', word.len) ||
		    !parse_value(line, span_take(&word, '='), word))
			return false;
	}
	return has_path && line->id && line->names.len && line->build_id.len &&
	       line->text_start < line->text_end;
}

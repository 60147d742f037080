/* SPDX-License-Identifier: MIT */
#ifndef PROC_LINE_H
#define PROC_LINE_H

#include "span.h"

/**
 * struct proc_line - a registration, from a line of /proc/PID/codectl
 * @jit: compiled code
 * @attached: not a registration, but text whose file has a table; if neither, an ELF
 *	object
 * @elf_start, @elf_end, @sframe_start, @sframe_end: ELF only
 * @head, @flags: compiled code only
 * @file: 0 without a file
 * @names: "none", "verified" or "claimed"
 * @build_id: hexadecimal digits, "-" for none
 * @path: escaped, may be empty
 *
 * The spans point into the line.
 */
struct proc_line {
	bool jit, attached;
	uint64_t text_start, text_end;
	uint64_t elf_start, elf_end;
	uint64_t sframe_start, sframe_end;
	uint64_t head, flags;
	uint64_t id, file, offset;
	struct span names, build_id, path;
};

/* False if the @len bytes at @text are no such line; skips unknown keys. */
bool proc_line_parse(struct proc_line *line, const char *text, size_t len);

#endif

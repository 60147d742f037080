/* SPDX-License-Identifier: MIT */
/*
 * Output of the kernel and of programs, for the tests of the parsers and as seeds for fuzzers.
 */
#ifndef SAMPLES_H
#define SAMPLES_H

#include <event-parse.h>
#include <stdio.h>
#include <string.h>

#include "trace_record.h"

/* Lines of a real kernel; the last one is a claim with everything unusual. */
static const char * const lines[] = {
	"55ff0425b000-55ff04260809 elf format=0 elf=55ff04259000-55ff04269000 sframe=55ff04262be0-55ff042642ee id=0xa file=0x14 dev=00:13 inode=295 offset=0x2000 names=verified build_id=99c85acc15a6c6c7d3318416cde231053ca0b27e debug_link=- debug_link_crc=0x0 path=/usr/lib/codectl/jit-demo/jit-demo",
	"7fbd5ffc7000-7fbd60007000 jit fre_size=24 flags=0x0 head=7fbd5fb91000 seq=7fbd5fb90100 rule=0,0,0,0x0 id=0x12 file=0x0 dev=00:00 inode=0 offset=0x0 names=none build_id=- path=",
	"00001000-00002000 elf format=0 elf=1000-3000 sframe=0-0 id=0xffffffffffffffff file=0x0 dev=00:00 inode=0 offset=0x0 names=claimed build_id=00 debug_link=a\\040b debug_link_crc=0x12 path=/a b\\012=c path=/d",
};

static const char perf_text[] =
	"1000 100 first\n"
	"2000 20 second with blanks\n"
	"0x3000 0x10 third\n"
	"not a line\n"
	"4000 0 empty\n"
	"ffffffffffffff00 200 wraps\n"
	"1080 10 inner\n"
	"2000 10 again\n"
	"5000 10 last";

/* ------------------------------------------------------ records of the trace */

/* Replaces the first @from by @to. */
static inline bool add_changed(struct tep_handle *tep, const char *formats,
			       const char *name, const char *from, const char *to)
{
	char path[4096], text[8192], *found;
	size_t len;
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", formats, name);
	file = fopen(path, "r");
	if (!file)
		return false;
	len = fread(text, 1, sizeof(text) / 2, file);
	fclose(file);
	text[len] = '\0';
	found = strstr(text, from);
	if (!found)
		return false;
	memmove(found + strlen(to), found + strlen(from),
		strlen(found + strlen(from)) + 1);
	memcpy(found, to, strlen(to));
	return !tep_parse_event(tep, text, strlen(text),
				!strcmp(name, "codectl_name") ? "user_events" :
				!strncmp(name, "task_", 5) ? "codectl" : "ftrace");
}

static inline bool add_format(struct tep_handle *tep, const char *formats,
			      const char *name)
{
	return add_changed(tep, formats, name, "", "");
}

/* Laid out as in the formats. */
struct raw_stack {
	char common[8];
	uint64_t cookie;
	uint32_t nr, first, stop, count;
	uint64_t exact;
	uint32_t codes, unused;
	uint64_t frames[2][2], code[1][2];
};

struct raw_file {
	char common[8];
	uint64_t id, inode;
	uint32_t dev_major, dev_minor, names, unit, build_id_len;
	uint8_t build_id[20];
	char path[3000];
};

/* The text has @text_len bytes, at @distance after that field. */
struct raw_name {
	char common[8];
	uint64_t copy, id, start, len;
	uint32_t pid, action;
	uint16_t distance, text_len;
	char text[1100];
};

struct raw_wait {
	char common[8];
	uint64_t ns;
	int64_t nr;
	uint64_t arg0, arg1;
	int32_t pid;
	char state;
	uint8_t compat;
};

struct raw_kernel {
	char common[8];
	uint32_t size;
	uint64_t caller[513];
};

struct raw_cookie {
	char common[8];
	uint64_t cookie;
	uint32_t event;
} __attribute__((packed));

#endif

// SPDX-License-Identifier: MIT
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "frames.h"
#include "names.h"
#include "span.h"
#include "symbol.h"
#include "tool.h"

/* What separates the frames of a folded stack. */
#define FOLD	";"

struct file {
	uint64_t id;		/* first, for by_id() */
	struct file_record *record;
	struct symbol_file *symbols;	/* NULL: of another build-id, or none */
};

struct process {
	uint64_t pid;		/* first, for by_id() */
	struct names *names;
};

struct frames {
	void *files, *processes;	/* trees by id */
	const struct code_names *names;
};

struct frames *frames_new(const struct code_names *names)
{
	struct frames *frames = need(calloc(1, sizeof(*frames)));

	frames->names = names;
	return frames;
}

static void free_file(void *node)
{
	struct file *file = node;

	if (file->symbols)
		symbol_file_close(file->symbols);
	free(file->record);
	free(file);
}

static void free_process(void *node)
{
	struct process *process = node;

	names_close(process->names);
	free(process);
}

void frames_free(struct frames *frames)
{
	tdestroy(frames->files, free_file);
	tdestroy(frames->processes, free_process);
	free(frames);
}

static int by_id(const void *one, const void *other)
{
	const uint64_t *a = one, *b = other;

	return *a < *b ? -1 : *a > *b;
}

/* -------------------------------------------------------------------- files */

static struct file *find_id(const struct frames *frames, uint64_t id)
{
	struct file **found = tfind(&id, (void *const *)&frames->files, by_id);

	return found ? *found : NULL;
}

/* NULL where an offset is an address, as in compiled code. */
static struct file *find_file(const struct frames *frames, uint64_t id)
{
	struct file *file = find_id(frames, id);

	return file && file->record->unit != UNIT_ADDRESS ? file : NULL;
}

bool frames_knows(const struct frames *frames, uint64_t id)
{
	return find_id(frames, id);
}

/* The path with its \ooo made bytes again. */
static char *unescape(const char *text)
{
	char *path = need(strdup(text)), *to = path;

	while (*text) {
		if (text[0] == '\\' && text[1] >= '0' && text[1] <= '3' &&
		    text[2] >= '0' && text[2] <= '7' &&
		    text[3] >= '0' && text[3] <= '7') {
			*to++ = (text[1] - '0') << 6 | (text[2] - '0') << 3 |
				(text[3] - '0');
			text += 4;
		} else {
			*to++ = *text++;
		}
	}
	*to = '\0';
	return path;
}

static struct symbol_file *open_symbols(const struct file_record *record)
{
	bool vdso = !strcmp(record->path, "[vdso]");
	struct symbol_file *symbols;
	char *path;

	if (!record->build_id_len)
		return NULL;
	path = vdso ? symbol_vdso_path() : unescape(record->path);
	symbols = symbol_file_open(path, record->build_id, record->build_id_len);
	free(path);
	return symbols;
}

/* Opened at once: by the end of the trace another file may be there. */
void frames_add_file(struct frames *frames, const struct file_record *record)
{
	struct file *file;

	if (frames_knows(frames, record->id))
		return;
	file = need(calloc(1, sizeof(*file)));
	file->id = record->id;
	file->record = need(malloc(sizeof(*record)));
	*file->record = *record;
	file->symbols = open_symbols(record);
	need(tsearch(file, &frames->files, by_id));
}

/* A return address belongs to the call before it. */
static uint64_t address_of(const struct frame *frame)
{
	return frame->offset - !frame->exact;
}

static struct symbol name_in_file(struct file *file, struct frame frame)
{
	uint64_t offset = address_of(&frame);
	struct symbol symbol = { 0 };

	if (!file->symbols)
		return symbol;
	if (file->record->unit == UNIT_FILE)
		symbol = symbol_at_offset(file->symbols, offset);
	else if (file->record->unit == UNIT_OBJECT)
		symbol = symbol_from_start(file->symbols, offset);
	symbol.offset += !frame.exact;
	return symbol;
}

/* ------------------------------------------------------------ compiled code */

static const struct names *names_of(struct frames *frames, pid_t pid)
{
	uint64_t key = pid;
	struct process **found = tfind(&key, &frames->processes, by_id);
	struct process *process;

	if (found)
		return (*found)->names;
	process = need(calloc(1, sizeof(*process)));
	process->pid = key;
	process->names = names_open(pid);
	need(tsearch(process, &frames->processes, by_id));
	return process->names;
}

void frames_number(struct frames *frames, struct frame *frame, size_t nr, pid_t pid,
		   uint64_t time)
{
	if (!frames->names)
		return;
	for (; nr--; frame++) {
		const struct file *file = find_id(frames, frame->id);

		if (!frame->code_id && (!frame->id || (file && file->record->unit == UNIT_ADDRESS)))
			frame->code_id = code_names_id(frames->names, pid, address_of(frame), time);
	}
}

/* As the program has told, or as its perf map has it now. */
static struct symbol name_in_memory(struct frames *frames, pid_t pid,
				    struct frame frame)
{
	struct symbol symbol = { 0 };

	if (frames->names && frame.code_id)
		symbol = code_names_find(frames->names, pid, frame.code_id, address_of(&frame));
	if (!symbol.name)
		symbol = names_find(names_of(frames, pid), address_of(&frame));
	symbol.offset += !frame.exact;
	return symbol;
}

/* ------------------------------------------------------------------ as text */

static struct symbol name_frame(struct frames *frames, struct frame frame,
				pid_t pid)
{
	struct file *file = find_file(frames, frame.id);

	return file ? name_in_file(file, frame) :
		      name_in_memory(frames, pid, frame);
}

static char *show_place(const struct file *file, struct frame frame)
{
	unsigned long long offset = frame.offset;

	if (file && *file->record->path)
		return format("%s%s+0x%llx", file->record->path,
			      file->record->claimed ? " (claimed)" : "", offset);
	if (!frame.id && !frame.code_id)
		return format("0x%llx", offset);
	if (!frame.code_id)
		return format("0x%llx, id 0x%llx", offset, (unsigned long long)frame.id);
	if (!frame.id)
		return format("0x%llx, code 0x%llx", offset, (unsigned long long)frame.code_id);
	return format("0x%llx, id 0x%llx, code 0x%llx", offset, (unsigned long long)frame.id,
		      (unsigned long long)frame.code_id);
}

char *frames_show(struct frames *frames, struct frame frame, pid_t pid)
{
	struct symbol symbol = name_frame(frames, frame, pid);
	char *place = show_place(find_file(frames, frame.id), frame), *text;

	if (!symbol.name)
		return place;
	text = format("%s+0x%llx (%s)", symbol.name,
		      (unsigned long long)symbol.offset, place);
	free(symbol.name);
	free(place);
	return text;
}

char *frames_fold(struct frames *frames, struct frame frame, pid_t pid)
{
	struct symbol symbol = name_frame(frames, frame, pid);
	struct file *file = find_file(frames, frame.id);
	char *text, *folded;

	if (symbol.name)
		text = symbol.name;
	else if (file && *file->record->path)
		text = format("[%s]", basename(file->record->path));
	else
		text = format("[unknown]");
	folded = escape(text, strlen(text), FOLD);
	free(text);
	return folded;
}

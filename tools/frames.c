// SPDX-License-Identifier: MIT
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "frames.h"
#include "looker.h"
#include "owner.h"
#include "process.h"
#include "symbol.h"
#include "tool.h"

struct file {
	uint64_t id;		/* first, for by_id() */
	struct file_record *record;
	struct symbol_file *symbols;	/* NULL: unknown which file it is */
};

/* One process of those with its number. */
struct life {
	struct life *earlier;
	uint64_t nr;
	struct symbol_file *map;
};

struct process {
	uint64_t pid;		/* first, for by_id() */
	struct life *latest;
};

struct frames {
	void *files, *processes;	/* trees by id */
	struct symbols *symbols;
	const struct code_names *names;
	struct symbol told;		/* last result of frames_symbol() */
};

struct frames *frames_new(const struct code_names *names)
{
	struct frames *frames = need(calloc(1, sizeof(*frames)));

	frames->names = names;
	frames->symbols = symbols_new();
	return frames;
}

static void free_file(void *node)
{
	struct file *file = node;

	free(file->record);
	free(file);
}

static void free_process(void *node)
{
	struct process *process = node;
	struct life *life, *earlier;

	for (life = process->latest; life; life = earlier) {
		earlier = life->earlier;
		free(life);
	}
	free(process);
}

void frames_free(struct frames *frames)
{
	symbol_free(&frames->told);
	tdestroy(frames->files, free_file);
	tdestroy(frames->processes, free_process);
	symbols_free(frames->symbols);
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

/* NULL if the offset is an address, as in compiled code. */
static struct file *find_file(const struct frames *frames, uint64_t id)
{
	struct file *file = find_id(frames, id);

	return file && file->record->unit != UNIT_ADDRESS ? file : NULL;
}

bool frames_knows(const struct frames *frames, uint64_t id)
{
	return find_id(frames, id);
}

/* Opened at once: at the end of the trace another file may be there. */
void frames_add_file(struct frames *frames, const struct file_record *record, pid_t pid)
{
	struct file *file;

	if (frames_knows(frames, record->id))
		return;
	file = need(calloc(1, sizeof(*file)));
	file->id = record->id;
	file->record = need(malloc(sizeof(*record)));
	*file->record = *record;
	if ((record->build_id_len || record->by_inode) &&
	    (record->unit == UNIT_FILE || record->unit == UNIT_OBJECT))
		file->symbols = symbols_add_file(frames->symbols, pid, record);
	need(tsearch(file, &frames->files, by_id));
}

/* A return address belongs to the call before it. */
static uint64_t address_of(const struct frame *frame)
{
	return frame->offset - !frame->exact;
}

/* ------------------------------------------------------------ compiled code */

static struct process *get_process(struct frames *frames, pid_t pid)
{
	uint64_t key = pid;
	struct process **found = tfind(&key, &frames->processes, by_id);
	struct process *process;

	if (found)
		return *found;
	process = need(calloc(1, sizeof(*process)));
	process->pid = key;
	need(tsearch(process, &frames->processes, by_id));
	return process;
}

static bool ask_start(pid_t pid, uint64_t *start)
{
	*start = process_start(pid);
	return true;
}

/*
 * If the new one has ended, too, or does not let itself be looked at, nothing tells which
 * of them has written the map.
 */
static void end_latest(const struct process *process)
{
	uint64_t start;
	uid_t user;

	if (!owner_effective(process->pid, &user) ||
	    !looker_ask(ask_start, process->pid, user, &start))
		start = 0;
	symbols_end_map(process->latest->map, start ? process_start_time(start) : 1);
}

static struct symbol_file *map_of(struct frames *frames, struct process_id id)
{
	struct process *process = get_process(frames, id.pid);
	struct life *life = process->latest;

	while (life && life->nr != id.life)
		life = life->earlier;
	if (life)
		return life->map;
	if (process->latest)
		end_latest(process);
	life = need(calloc(1, sizeof(*life)));
	*life = (struct life){ process->latest, id.life, symbols_add_map(frames->symbols, id.pid) };
	process->latest = life;
	return life->map;
}

/* Is the offset an address in memory without a known file? */
static bool is_compiled(const struct frames *frames, const struct frame *frame)
{
	const struct file *file = find_id(frames, frame->id);

	return !frame->id || (file && file->record->unit == UNIT_ADDRESS);
}

void frames_note_process(struct frames *frames, struct process_id process)
{
	map_of(frames, process);
}

void frames_note(struct frames *frames, const struct frame *frame, size_t nr,
		 struct process_id process)
{
	for (; nr--; frame++)
		if (is_compiled(frames, frame))
			map_of(frames, process);
}

void frames_number(struct frames *frames, struct frame *frame, size_t nr,
		   struct process_id process, uint64_t time)
{
	if (!frames->names)
		return;
	for (; nr--; frame++)
		if (!frame->code_id && is_compiled(frames, frame))
			frame->code_id = code_names_id(frames->names, process, address_of(frame),
						       time);
}

/* -------------------------------------------------------------------- names */

/* Where to look for its name; NULL: nowhere. */
static struct symbol_file *symbols_of(struct frames *frames, const struct frame *frame,
				      struct process_id process)
{
	const struct file *file = find_file(frames, frame->id);

	return file ? file->symbols : map_of(frames, process);
}

void frames_want(struct frames *frames, const struct frame *frame, size_t nr,
		 struct process_id process)
{
	for (; nr--; frame++) {
		struct symbol_file *symbols = symbols_of(frames, frame, process);

		if (symbols)
			symbol_want(symbols, address_of(frame));
	}
}

static bool name_as_told(struct frames *frames, struct frame frame, struct process_id process)
{
	if (!frames->names || !frame.code_id || find_file(frames, frame.id))
		return false;
	symbol_free(&frames->told);
	frames->told = code_names_find(frames->names, process, frame.code_id,
				       address_of(&frame));
	return frames->told.name;
}

/* As reported by the program, or as in its file or perf map. */
const struct symbol *frames_symbol(struct frames *frames, struct frame frame,
				   struct process_id process)
{
	static const struct symbol nothing;
	struct symbol_file *symbols;

	if (name_as_told(frames, frame, process))
		return &frames->told;
	symbols = symbols_of(frames, &frame, process);
	return symbols ? symbol_find(symbols, address_of(&frame)) : &nothing;
}

unsigned long frames_lost(const struct frames *frames)
{
	return symbols_lost(frames->symbols);
}

/* ----------------------------------------------------------------- profiles */

static void push_inlined(struct profile *profile, uint32_t *stack,
			 const struct profile_frame *caller, const struct function *function)
{
	struct profile_frame inlined = *caller;

	inlined.function = function->name;
	inlined.source = function->source;
	inlined.line = function->line;
	inlined.distance = 0;
	inlined.flags |= PROFILE_INLINED;
	*stack = profile_stack(profile, *stack, profile_frame(profile, &inlined));
}

/* As the recorder has it, or as it was read along with names. */
static char *build_id_of(const struct file *file)
{
	const uint8_t *bits = file->record->build_id;
	size_t len = file->record->build_id_len;

	if (!len && file->symbols)
		len = symbol_build_id(file->symbols, &bits);
	return hex_build_id(bits, len);
}

uint32_t frames_push(struct frames *frames, struct profile *profile, uint32_t caller,
		     struct frame frame, struct process_id process)
{
	const struct symbol *symbol = frames_symbol(frames, frame, process);
	const struct file *file = find_file(frames, frame.id);
	struct profile_frame described = {
		.function = symbol->name, .offset = frame.offset,
		.distance = symbol->name ? symbol->offset + !frame.exact : 0,
		.source = symbol->source, .line = symbol->line,
	};
	char *build_id = NULL;

	if (file && *file->record->path) {
		described.file = file->record->path;
		described.flags = file->record->claimed ? PROFILE_CLAIMED : 0;
		build_id = build_id_of(file);
		described.build_id = *build_id ? build_id : NULL;
	} else {
		described.id = frame.id;
		described.code = frame.code_id;
	}
	caller = profile_stack(profile, caller, profile_frame(profile, &described));
	for (size_t i = symbol->nr_inlined; i--;)
		push_inlined(profile, &caller, &described, &symbol->inlined[i]);
	free(build_id);
	return caller;
}

// SPDX-License-Identifier: MIT
#include <event-parse.h>
#include <string.h>

#include "trace_record.h"

static const char * const stop_names[STOP_MAX] = {
	[STOP_COMPLETE]		= "complete",
	[STOP_FP_END]		= "fp-end",
	[STOP_NO_RULE]		= "no-rule",
	[STOP_BAD_TABLE]	= "bad-table",
	[STOP_FAULT]		= "fault",
	[STOP_BAD_FRAME]	= "bad-frame",
	[STOP_CHANGED]		= "changed",
	[STOP_KILLED]		= "killed",
	[STOP_LIMIT]		= "limit",
	[STOP_NO_MEMORY]	= "no-memory",
	[STOP_BUDGET]		= "budget",
};

const char *stop_name(uint32_t stop)
{
	return stop < STOP_MAX ? stop_names[stop] : "unknown reason";
}

/* ------------------------------------------------------------- the layout */

struct wanted {
	const char *name;
	struct record_field *field;
	uint32_t size;		/* 0: extends to the end of the record */
};

static bool read_fields(struct tep_event *event, const struct wanted *wanted)
{
	for (; wanted->name; wanted++) {
		struct tep_format_field *field;

		field = tep_find_field(event, wanted->name);
		if (!field || field->offset < 0 || field->size < 0 ||
		    (uint32_t)field->size < wanted->size)
			return false;
		wanted->field->offset = field->offset;
		wanted->field->size = wanted->size;
	}
	return true;
}

static bool read_record(struct tep_handle *tep, const char *system, const char *name,
			int *type, const struct wanted *wanted)
{
	struct tep_event *event = tep_find_event_by_name(tep, system, name);

	*type = event ? event->id : -1;
	return event && read_fields(event, wanted);
}

bool record_layout_read(struct record_layout *layout, struct tep_handle *tep)
{
	const struct wanted cookie[] = {
		{ "cookie", &layout->cookie.cookie, 8 },
		{ "event", &layout->cookie.event, 4 },
		{ }
	};
	const struct wanted stack[] = {
		{ "cookie", &layout->stack.cookie, 8 },
		{ "nr", &layout->stack.nr, 4 },
		{ "first", &layout->stack.first, 4 },
		{ "stop", &layout->stack.stop, 4 },
		{ "count", &layout->stack.count, 4 },
		{ "exact", &layout->stack.exact, 8 },
		{ "codes", &layout->stack.codes, 4 },
		{ "frames", &layout->stack.frames, 0 },
		{ }
	};
	const struct wanted file[] = {
		{ "id", &layout->file.id, 8 },
		{ "inode", &layout->file.inode, 8 },
		{ "dev_major", &layout->file.dev_major, 4 },
		{ "dev_minor", &layout->file.dev_minor, 4 },
		{ "names", &layout->file.names, 4 },
		{ "unit", &layout->file.unit, 4 },
		{ "build_id_len", &layout->file.build_id_len, 4 },
		{ "build_id", &layout->file.build_id, BUILD_ID_MAX },
		{ "path", &layout->file.path, 0 },
		{ }
	};

	*layout = (struct record_layout){ 0 };
	return read_record(tep, "ftrace", "user_unwind", &layout->cookie_type, cookie) &&
	       read_record(tep, "ftrace", "user_unwind_stack", &layout->stack_type, stack) &&
	       read_record(tep, "ftrace", "file_map", &layout->file_type, file);
}

bool name_layout_read(struct name_layout *layout, struct tep_handle *tep)
{
	const struct wanted name[] = {
		{ "copy", &layout->copy, 8 },
		{ "id", &layout->id, 8 },
		{ "start", &layout->start, 8 },
		{ "len", &layout->len, 8 },
		{ "pid", &layout->pid, 4 },
		{ "action", &layout->action, 4 },
		{ "name", &layout->name, 4 },
		{ }
	};

	return read_record(tep, "user_events", "codectl_name", &layout->type, name);
}

bool wait_layout_read(struct wait_layout *layout, struct tep_handle *tep, const char *event)
{
	const struct wanted wait[] = {
		{ "ns", &layout->ns, 8 },
		{ "nr", &layout->nr, 8 },
		{ "arg0", &layout->arg0, 8 },
		{ "arg1", &layout->arg1, 8 },
		{ "pid", &layout->pid, 4 },
		{ "state", &layout->state, 1 },
		{ "compat", &layout->compat, 1 },
		{ }
	};

	return read_record(tep, "codectl", event, &layout->type, wait);
}

bool kernel_layout_read(struct kernel_layout *layout, struct tep_handle *tep)
{
	const struct wanted kernel[] = {
		{ "size", &layout->size, 4 },
		{ "caller", &layout->caller, 0 },
		{ }
	};

	return read_record(tep, "ftrace", "kernel_stack", &layout->type, kernel);
}

/* ------------------------------------------------------------ the records */

struct record {
	const char *data;
	size_t len;
};

static bool copy_field(const struct record *record, struct record_field field,
		       void *to, size_t size)
{
	if (field.offset > record->len || size > record->len - field.offset)
		return false;
	memcpy(to, record->data + field.offset, size);
	return true;
}

static bool get_u32(const struct record *record, struct record_field field,
		    uint32_t *value)
{
	return copy_field(record, field, value, sizeof(*value));
}

static bool get_u64(const struct record *record, struct record_field field,
		    uint64_t *value)
{
	return copy_field(record, field, value, sizeof(*value));
}

bool cookie_record_parse(struct cookie_record *to,
			 const struct record_layout *layout,
			 const void *data, size_t len)
{
	struct record record = { data, len };

	return get_u64(&record, layout->cookie.cookie, &to->cookie) &&
	       get_u32(&record, layout->cookie.event, &to->event);
}

/* Each belongs to one of the frames. */
static bool set_codes(struct stack_record *to, const uint64_t code[][2],
		      uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++) {
		if (code[i][0] - to->first >= to->count)
			return false;
		to->frames[code[i][0] - to->first].code_id = code[i][1];
	}
	return true;
}

static bool get_frames(const struct record *record,
		       const struct record_layout *layout,
		       struct stack_record *to)
{
	uint64_t raw[2 * RECORD_MAX_FRAMES][2], exact;
	uint32_t codes;

	if (!get_u32(record, layout->stack.codes, &codes) ||
	    to->count > RECORD_MAX_FRAMES || codes > to->count ||
	    !get_u64(record, layout->stack.exact, &exact) ||
	    !copy_field(record, layout->stack.frames, raw,
			(to->count + codes) * sizeof(raw[0])))
		return false;
	for (uint32_t i = 0; i < to->count; i++)
		to->frames[i] = (struct frame){
			.offset = raw[i][0], .id = raw[i][1],
			.exact = exact >> i & 1,
		};
	return set_codes(to, raw + to->count, codes);
}

bool stack_record_parse(struct stack_record *to,
			const struct record_layout *layout,
			const void *data, size_t len)
{
	struct record record = { data, len };

	if (!get_u64(&record, layout->stack.cookie, &to->cookie) ||
	    !get_u32(&record, layout->stack.nr, &to->nr) ||
	    !get_u32(&record, layout->stack.first, &to->first) ||
	    !get_u32(&record, layout->stack.stop, &to->stop) ||
	    !get_u32(&record, layout->stack.count, &to->count))
		return false;
	to->time = 0;
	return to->nr <= STACK_MAX_FRAMES && to->first <= to->nr &&
	       to->count <= to->nr - to->first &&
	       get_frames(&record, layout, to);
}

bool file_record_parse(struct file_record *to,
		       const struct record_layout *layout,
		       const void *data, size_t len)
{
	struct record record = { data, len };
	uint32_t path = layout->file.path.offset, names;
	size_t path_len;

	if (!get_u64(&record, layout->file.id, &to->id) ||
	    !get_u64(&record, layout->file.inode, &to->inode) ||
	    !get_u32(&record, layout->file.dev_major, &to->dev_major) ||
	    !get_u32(&record, layout->file.dev_minor, &to->dev_minor) ||
	    !get_u32(&record, layout->file.names, &names) ||
	    !get_u32(&record, layout->file.unit, &to->unit) ||
	    !get_u32(&record, layout->file.build_id_len, &to->build_id_len) ||
	    !copy_field(&record, layout->file.build_id, to->build_id,
			sizeof(to->build_id)) ||
	    to->build_id_len > BUILD_ID_MAX || path > len)
		return false;
	path_len = strnlen(record.data + path, len - path);
	if (path_len >= sizeof(to->path))
		return false;
	memcpy(to->path, record.data + path, path_len);
	to->path[path_len] = '\0';
	to->verified = names == 1;
	to->claimed = names == 2;
	return to->id != 0;
}

/* A word with the length and the distance from its own end: __rel_loc. */
static bool get_text(const struct record *record, struct record_field field, char *to,
		     size_t max)
{
	uint32_t word, at;
	size_t len;

	if (!get_u32(record, field, &word))
		return false;
	at = field.offset + sizeof(word) + (word & 0xffff);
	len = word >> 16;
	if (at > record->len || len > record->len - at)
		return false;
	len = strnlen(record->data + at, len);
	if (len > max)
		return false;
	memcpy(to, record->data + at, len);
	to[len] = '\0';
	return true;
}

bool name_record_parse(struct name_record *to, const struct name_layout *layout,
		       const void *data, size_t len)
{
	struct record record = { data, len };

	return get_u64(&record, layout->copy, &to->copy) &&
	       get_u64(&record, layout->id, &to->id) &&
	       get_u64(&record, layout->start, &to->start) &&
	       get_u64(&record, layout->len, &to->len) &&
	       get_u32(&record, layout->pid, &to->pid) &&
	       get_u32(&record, layout->action, &to->action) &&
	       get_text(&record, layout->name, to->name, NAME_MAX_LEN);
}

bool wait_record_parse(struct wait_record *to, const struct wait_layout *layout,
		       const void *data, size_t len)
{
	struct record record = { data, len };
	uint32_t pid;
	uint64_t nr;
	uint8_t compat;

	if (!get_u64(&record, layout->ns, &to->ns) || !get_u64(&record, layout->nr, &nr) ||
	    !get_u64(&record, layout->arg0, &to->arg0) ||
	    !get_u64(&record, layout->arg1, &to->arg1) ||
	    !get_u32(&record, layout->pid, &pid) ||
	    !copy_field(&record, layout->state, &to->state, sizeof(to->state)) ||
	    !copy_field(&record, layout->compat, &compat, sizeof(compat)))
		return false;
	to->tid = pid;
	to->nr = nr;
	to->compat = compat;
	return true;
}

bool kernel_record_parse(struct kernel_record *to, const struct kernel_layout *layout,
			 const void *data, size_t len)
{
	struct record record = { data, len };

	return get_u32(&record, layout->size, &to->nr) && to->nr <= KERNEL_MAX_FRAMES &&
	       copy_field(&record, layout->caller, to->address,
			  to->nr * sizeof(*to->address));
}

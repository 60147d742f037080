// SPDX-License-Identifier: MIT
#include <errno.h>
#include <jansson.h>

#include "profile.h"
#include "recording.h"
#include "tool.h"

/* Takes @line over; 0 or an errno. */
static int put_line(FILE *to, json_t *line)
{
	int failed;

	need(line);
	errno = 0;
	failed = json_dumpf(line, to, JSON_COMPACT) || putc('\n', to) == EOF;
	json_decref(line);
	return failed ? errno ?: EIO : 0;
}

static json_t *hex_unless_0(uint64_t value)
{
	char text[19];

	if (!value)
		return NULL;
	snprintf(text, sizeof(text), "0x%llx", (unsigned long long)value);
	return need(json_string(text));
}

static json_t *true_if(bool set)
{
	return set ? json_true() : NULL;
}

static json_t *number_unless_0(uint64_t value)
{
	return value ? need(json_integer(value)) : NULL;
}

static json_t *head_line(const struct profile_about *about)
{
	return json_pack("{s:i, s:o*, s:o*}", "codectl-recording", 1,
			 "start", number_unless_0(about->start),
			 "duration", number_unless_0(about->duration));
}

static json_t *event_line(struct profile_event event)
{
	return json_pack("{s:{s:s*, s:o*}}", "event", "name", event.name,
			 "timed", true_if(event.timed));
}

static json_t *task_line(struct profile_task task)
{
	return json_pack("{s:{s:s*, s:i, s:i, s:s*}}", "task", "comm", task.comm,
			 "pid", task.pid, "tid", task.tid, "cgroup", task.cgroup);
}

static json_t *frame_line(struct profile_frame frame)
{
	return json_pack("{s:{s:s*,s:o*,s:s*,s:s*,s:o*,s:s*,s:o*,s:o*,s:o*,s:o*,s:o*,s:o*,s:o*}}",
			 "frame",
			 "function", frame.function,
			 "distance", hex_unless_0(frame.distance),
			 "file", frame.file,
			 "build-id", frame.build_id,
			 "offset", hex_unless_0(frame.offset),
			 "source", frame.source,
			 "line", number_unless_0(frame.line),
			 "id", hex_unless_0(frame.id),
			 "code", hex_unless_0(frame.code),
			 "kernel", true_if(frame.flags & PROFILE_KERNEL),
			 "inlined", true_if(frame.flags & PROFILE_INLINED),
			 "claimed", true_if(frame.flags & PROFILE_CLAIMED),
			 "mark", true_if(frame.flags & PROFILE_MARK));
}

static json_t *stack_line(uint32_t caller, uint32_t frame)
{
	json_t *number = caller == PROFILE_NO_STACK ? NULL : need(json_integer(caller));

	return json_pack("{s:{s:o*, s:I}}", "stack", "caller", number,
			 "frame", (json_int_t)frame);
}

static json_t *sample_line(const struct profile_sample *sample)
{
	json_t *stack = sample->stack == PROFILE_NO_STACK ? NULL :
			need(json_integer(sample->stack));

	return json_pack("{s:{s:o*, s:I, s:I, s:I, s:I, s:o*}}", "sample", "stack", stack,
			 "task", (json_int_t)sample->task,
			 "event", (json_int_t)sample->event,
			 "time", (json_int_t)sample->time,
			 "events", (json_int_t)sample->events,
			 "ns", number_unless_0(sample->ns));
}

static json_t *note_line(struct profile_note note)
{
	return json_pack("{s:{s:I, s:s*}}", "note", "count", (json_int_t)note.count,
			 "text", note.text);
}

static int put_definitions(const struct profile *profile, FILE *to)
{
	const struct profile_counts counts = profile_counts(profile);
	uint32_t i;
	int error = 0;

	for (i = 0; i < counts.events && !error; i++)
		error = put_line(to, event_line(profile_event_at(profile, i)));
	for (i = 0; i < counts.tasks && !error; i++)
		error = put_line(to, task_line(profile_task_at(profile, i)));
	for (i = 0; i < counts.frames && !error; i++)
		error = put_line(to, frame_line(profile_frame_at(profile, i)));
	for (i = 0; i < counts.stacks && !error; i++)
		error = put_line(to, stack_line(profile_stack_caller(profile, i),
						profile_stack_frame(profile, i)));
	return error;
}

int recording_write(struct profile *profile, FILE *to)
{
	const struct profile_counts counts = profile_counts(profile);
	int error = put_line(to, head_line(profile_about(profile, false)));
	uint32_t i;

	if (!error)
		error = put_definitions(profile, to);
	for (i = 0; i < counts.samples && !error; i++)
		error = put_line(to, sample_line(profile_sample_at(profile, i)));
	for (i = 0; i < counts.notes && !error; i++)
		error = put_line(to, note_line(profile_note_at(profile, i)));
	if (!error)
		error = put_line(to, json_pack("{s:{}}", "end"));
	if (!error && fflush(to))
		error = errno;
	return error;
}

// SPDX-License-Identifier: MIT
/*
 * All figures of the other reports: codectl_recording(5) says which.
 */
#include <jansson.h>
#include <stdlib.h>

#include "tool.h"
#include "writers.h"

struct writer {
	const struct selection *selection;
	bool diff;
	FILE *to;
	bool any;		/* in the array being written */
};

/* json_dumpf() takes over nothing. */
static void put_element(struct writer *writer, json_t *element)
{
	fputs(writer->any ? ",\n" : "\n", writer->to);
	writer->any = true;
	json_dumpf(need(element), writer->to,
		   JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(8));
	json_decref(element);
}

static void begin_array(struct writer *writer, const char *name)
{
	fprintf(writer->to, ",\n\"%s\":[", name);
	writer->any = false;
}

static json_t *text_or_none(const char *text)
{
	return text ? need(json_string(text)) : NULL;
}

static json_t *number_unless_0(uint64_t number)
{
	return number ? need(json_integer(number)) : NULL;
}

/* Merges @more, which is freed, into @object. */
static json_t *with(json_t *object, json_t *more)
{
	need_done(json_object_update(need(object), need(more)));
	json_decref(more);
	return object;
}

static json_t *weights(const struct tree *tree, const uint64_t self[2], const uint64_t total[2],
		       bool base)
{
	static const char *const names[2][4] = {
		{ "self", "self_share", "total", "total_share" },
		{ "self_before", "self_share_before", "total_before", "total_share_before" },
	};

	return json_pack("{s:I, s:f, s:I, s:f}",
			 names[base][0], (json_int_t)self[base],
			 names[base][1], tree_share(tree, self[base], base),
			 names[base][2], (json_int_t)total[base],
			 names[base][3], tree_share(tree, total[base], base));
}

static json_t *with_weights(const struct writer *writer, json_t *object, const struct tree *tree,
			    const uint64_t self[2], const uint64_t total[2])
{
	object = with(object, weights(tree, self, total, false));
	return writer->diff ? with(object, weights(tree, self, total, true)) : object;
}

static json_t *flags_of(uint32_t flags)
{
	return json_pack("{s:b, s:b, s:b}", "kernel", !!(flags & PROFILE_KERNEL),
			 "inlined", !!(flags & PROFILE_INLINED),
			 "mark", !!(flags & PROFILE_MARK));
}

static json_t *label_of(const struct tree_label *label)
{
	return with(json_pack("{s:s, s:o*, s:o*}", "name", label->name,
			      "file", text_or_none(label->file),
			      "line", number_unless_0(label->line)),
		    flags_of(label->flags));
}

/* The names of the groups of the node, the outermost first. */
static json_t *group_names(const struct tree *tree, uint32_t node)
{
	json_t *names = need(json_array());

	for (; node != TREE_ROOT; node = tree_node(tree, node)->parent) {
		json_t *name = json_string(tree_label(tree, node)->name);

		need_done(json_array_insert_new(names, 0, name));
	}
	return names;
}

static void put_rows(struct writer *writer, const char *name, enum tree_kind kind)
{
	struct tree *tree = tree_new(writer->selection, kind);
	struct rows rows = rows_new(tree, writer->diff, BY_SELF);

	begin_array(writer, name);
	for (size_t i = 0; i < rows.nr; i++) {
		const struct row *row = &rows.list[i];
		json_t *object = label_of(pool_at(&tree->labels, row->label));

		need_done(json_object_set_new(object, "groups", group_names(tree, row->group)));
		put_element(writer, with_weights(writer, object, tree, row->self, row->total));
	}
	fputs("]", writer->to);
	free(rows.list);
	tree_free(tree);
}

/*
 * As a list, for readers that cannot handle deep trees.  Includes nodes that are too
 * small, so that each parent is there; numbers are positions in the list.
 */
static void put_nodes(struct writer *writer)
{
	struct tree *tree = tree_new(writer->selection, TREE_FUNCTIONS);

	begin_array(writer, "nodes");
	for (uint32_t i = 0; i < tree->nodes.nr; i++) {
		const struct tree_node *node = tree_node(tree, i);
		json_t *object = label_of(pool_at(&tree->labels, node->label));

		if (i && json_object_set_new(object, "parent", json_integer(node->parent)))
			need(NULL);
		put_element(writer, with_weights(writer, object, tree, node->self, node->total));
	}
	fputs("]", writer->to);
	tree_free(tree);
}

static json_t *hex(uint64_t value)
{
	char text[19];

	snprintf(text, sizeof(text), "0x%llx", (unsigned long long)value);
	return need(json_string(text));
}

static json_t *hex_unless_0(uint64_t number)
{
	return number ? hex(number) : NULL;
}

static void put_frames(struct writer *writer)
{
	const struct profile *profile = writer->selection->profile;
	const uint32_t nr = profile_counts(profile).frames;

	begin_array(writer, "frames");
	for (uint32_t i = 0; i < nr; i++) {
		const struct profile_frame frame = profile_frame_at(profile, i);
		json_t *object;

		object = json_pack("{s:s*, s:s*, s:s*, s:o, s:o, s:o*, s:o*, s:s*, s:o*, s:b}",
				   "function", frame.function, "file", frame.file,
				   "build-id", frame.build_id, "offset", hex(frame.offset),
				   "distance", hex(frame.distance),
				   "id", hex_unless_0(frame.id),
				   "code", hex_unless_0(frame.code), "source", frame.source,
				   "line", number_unless_0(frame.line),
				   "claimed", !!(frame.flags & PROFILE_CLAIMED));
		put_element(writer, with(object, flags_of(frame.flags)));
	}
	fputs("]", writer->to);
}

/* Numbers of frames, the innermost first. */
static json_t *frames_of(const struct profile *profile, uint32_t stack)
{
	json_t *list = need(json_array());

	for (; stack != PROFILE_NO_STACK; stack = profile_stack_caller(profile, stack)) {
		json_t *frame = json_integer(profile_stack_frame(profile, stack));

		need_done(json_array_append_new(list, frame));
	}
	return list;
}

static void put_samples(struct writer *writer)
{
	const struct profile *profile = writer->selection->profile;
	const uint32_t nr = profile_counts(profile).samples;

	begin_array(writer, "samples");
	for (uint32_t i = 0; i < nr; i++) {
		const struct profile_sample *sample = profile_sample_at(profile, i);
		struct profile_task task = profile_task_at(profile, sample->task);
		json_t *object;

		if (!select_takes(writer->selection, sample))
			continue;
		object = json_pack("{s:s, s:s*, s:i, s:i, s:s*, s:I, s:I, s:I, s:b, s:o}",
				   "event", profile_event_at(profile, sample->event).name,
				   "comm", task.comm, "pid", task.pid, "tid", task.tid,
				   "cgroup", task.cgroup, "time", (json_int_t)sample->time,
				   "events", (json_int_t)sample->events,
				   "ns", (json_int_t)sample->ns, "before", (int)sample->base,
				   "frames", frames_of(profile, sample->stack));
		put_element(writer, object);
	}
	fputs("]", writer->to);
}

static void put_notes(struct writer *writer)
{
	const struct profile *profile = writer->selection->profile;
	const uint32_t nr = profile_counts(profile).notes;

	begin_array(writer, "notes");
	for (uint32_t i = 0; i < nr; i++) {
		const struct profile_note note = profile_note_at(profile, i);

		put_element(writer, json_pack("{s:I, s:s, s:b}", "count", (json_int_t)note.count,
					      "text", note.text, "before", (int)note.base));
	}
	fputs("]", writer->to);
}

static void put_recordings(struct writer *writer)
{
	begin_array(writer, "recordings");
	for (int base = 0; base <= writer->diff; base++) {
		const struct profile_about *about =
			profile_about(writer->selection->profile, base);

		put_element(writer, json_pack("{s:I, s:I, s:b}",
					      "start", (json_int_t)about->start,
					      "duration", (json_int_t)about->duration,
					      "before", base));
	}
	fputs("]", writer->to);
}

static void put_group_kinds(struct writer *writer)
{
	begin_array(writer, "groups");
	for (size_t i = 0; i < writer->selection->nr_groups; i++)
		put_element(writer, json_string(group_name(writer->selection->groups[i])));
	fputs("]", writer->to);
}

void json_write(const struct selection *selection, bool diff, FILE *to)
{
	struct writer writer = { .selection = selection, .diff = diff, .to = to };

	fprintf(to, "{\"codectl-report\":1,\n\"unit\":\"%s\"", unit_name(selection));
	put_group_kinds(&writer);
	put_recordings(&writer);
	put_notes(&writer);
	put_rows(&writer, "functions", TREE_FILES);
	put_rows(&writer, "lines", TREE_LINES);
	put_nodes(&writer);
	put_frames(&writer);
	put_samples(&writer);
	fputs("}\n", to);
}

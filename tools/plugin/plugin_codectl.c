// SPDX-License-Identifier: MIT
/*
 * A plugin of libtraceevent: what trace-cmd and others print for the records of user
 * stacks.
 *
 * The files of a trace may be from another machine, or of programs that wanted root to
 * open them: they are opened and read as in symbol.h, and only the one with the
 * build-id of the trace has names.
 */
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include <event-parse.h>
#include <trace-seq.h>

#include "symbol.h"
#include "tool.h"
#include "trace_record.h"

#define PUBLIC	__attribute__((visibility("default")))

/* What an id stands for. */
struct explained {
	uint64_t id;		/* first, for by_id() */
	struct file_record *record;
	char *path;		/* of that, for display */
	struct symbol_file *file;	/* NULL: unknown which file it is */
};

struct plugin {
	struct plugin *next;
	struct tep_handle *tep;
	struct record_layout layout;
	bool is_read;		/* the layout, which comes after the plugin */
	void *ids;		/* tree by id */
	struct symbols *symbols;
};

static struct plugin *plugins;

PUBLIC struct tep_plugin_option TEP_PLUGIN_OPTIONS[] = {
	{
		.name = "functions",
		.plugin_alias = "codectl",
		.description = "Names of functions, by the files of this machine",
		.set = 1,
	},
	{ .name = NULL }
};

/* ---------------------------------------------------------------------- ids */

static int by_id(const void *one, const void *other)
{
	const uint64_t *a = one, *b = other;

	return *a < *b ? -1 : *a > *b;
}

static struct explained *find_id(struct plugin *plugin, uint64_t id)
{
	struct explained **found = tfind(&id, &plugin->ids, by_id);

	return found ? *found : NULL;
}

/* The kernel escapes paths, but the trace need not be the kernel's. */
static char *clean_path(const struct file_record *record)
{
	return escape(record->path, strlen(record->path), "");
}

/* By now nobody knows which processes there were: what is here counts. */
static void add_id(struct plugin *plugin, const struct file_record *record)
{
	struct explained *explained;

	if (find_id(plugin, record->id))
		return;
	explained = need(calloc(1, sizeof(*explained)));
	explained->id = record->id;
	explained->record = need(malloc(sizeof(*record)));
	*explained->record = *record;
	explained->path = clean_path(record);
	if (record->build_id_len && (record->unit == UNIT_FILE || record->unit == UNIT_OBJECT))
		explained->file = symbols_add_file(plugin->symbols, 0, record);
	need(tsearch(explained, &plugin->ids, by_id));
}

static void free_id(void *node)
{
	struct explained *explained = node;

	free(explained->record);
	free(explained->path);
	free(explained);
}

/* ------------------------------------------------------------------- frames */

/* A return address belongs to the call before it. */
static uint64_t address_of(const struct frame *frame)
{
	return frame->offset - !frame->exact;
}

static struct symbol_file *symbols_of(struct plugin *plugin, const struct frame *frame)
{
	const struct explained *explained = find_id(plugin, frame->id);

	return explained && TEP_PLUGIN_OPTIONS[0].set ? explained->file : NULL;
}

static void put_place(struct trace_seq *s, struct plugin *plugin, const struct frame *frame)
{
	const struct explained *explained = find_id(plugin, frame->id);

	if (explained && explained->record->unit != UNIT_ADDRESS && *explained->record->path) {
		trace_seq_printf(s, "%s%s+0x%llx", explained->path,
				 explained->record->claimed ? " (claimed)" : "",
				 (unsigned long long)frame->offset);
		return;
	}
	trace_seq_printf(s, "0x%llx", (unsigned long long)frame->offset);
	if (frame->id)
		trace_seq_printf(s, ", id 0x%llx", (unsigned long long)frame->id);
	if (frame->code_id)
		trace_seq_printf(s, ", code 0x%llx", (unsigned long long)frame->code_id);
}

static void put_line(struct trace_seq *s, const char *source, uint32_t line)
{
	if (source && line)
		trace_seq_printf(s, " at %s:%u", source, line);
}

static void put_frame(struct trace_seq *s, struct plugin *plugin, const struct frame *frame)
{
	static const struct symbol nothing;
	struct symbol_file *file = symbols_of(plugin, frame);
	const struct symbol *symbol = file ? symbol_find(file, address_of(frame)) : &nothing;

	for (size_t i = 0; i < symbol->nr_inlined; i++) {
		trace_seq_printf(s, "\n => %s (inlined)", symbol->inlined[i].name ?: "[unknown]");
		put_line(s, symbol->inlined[i].source, symbol->inlined[i].line);
	}
	trace_seq_puts(s, "\n => ");
	if (symbol->name)
		trace_seq_printf(s, "%s+0x%llx (", symbol->name,
				 (unsigned long long)symbol->offset + !frame->exact);
	put_place(s, plugin, frame);
	if (symbol->name)
		trace_seq_putc(s, ')');
	put_line(s, symbol->source, symbol->line);
}

static void put_stack(struct trace_seq *s, struct plugin *plugin,
		      const struct stack_record *stack)
{
	for (uint32_t i = 0; i < stack->count; i++) {
		struct symbol_file *file = symbols_of(plugin, &stack->frames[i]);

		if (file)
			symbol_want(file, address_of(&stack->frames[i]));
	}
	trace_seq_printf(s, "cookie=%llx", (unsigned long long)stack->cookie);
	if (stack->first)
		trace_seq_printf(s, ", from frame %u on", stack->first);
	for (uint32_t i = 0; i < stack->count; i++)
		put_frame(s, plugin, &stack->frames[i]);
	if (stack->stop != STOP_COMPLETE && stack->first + stack->count == stack->nr)
		trace_seq_printf(s, "\n => [truncated: %s]", stop_name(stack->stop));
}

/* ------------------------------------------------------------------ handlers */

/* Return values: whether to print the record by its format. */
enum { HANDLED, NOT_HANDLED };

static bool knows_layout(struct plugin *plugin)
{
	if (!plugin->is_read)
		plugin->is_read = record_layout_read(&plugin->layout, plugin->tep);
	return plugin->is_read;
}

static int on_cookie(struct trace_seq *s, struct tep_record *record, struct tep_event *event,
		     void *context)
{
	struct plugin *plugin = context;
	struct cookie_record cookie;
	struct tep_event *of;

	(void)event;
	if (!knows_layout(plugin) ||
	    !cookie_record_parse(&cookie, &plugin->layout, record->data, record->size))
		return NOT_HANDLED;
	trace_seq_printf(s, "cookie=%llx of ", (unsigned long long)cookie.cookie);
	of = tep_find_event(plugin->tep, cookie.event);
	if (of)
		trace_seq_puts(s, of->name);
	else
		trace_seq_printf(s, "event %u", cookie.event);
	return HANDLED;
}

static int on_stack(struct trace_seq *s, struct tep_record *record, struct tep_event *event,
		    void *context)
{
	struct plugin *plugin = context;
	struct stack_record stack;

	(void)event;
	if (!knows_layout(plugin) ||
	    !stack_record_parse(&stack, &plugin->layout, record->data, record->size))
		return NOT_HANDLED;
	put_stack(s, plugin, &stack);
	return HANDLED;
}

static int on_file(struct trace_seq *s, struct tep_record *record, struct tep_event *event,
		   void *context)
{
	struct plugin *plugin = context;
	struct file_record file;
	char *build_id, *path;

	(void)event;
	if (!knows_layout(plugin) ||
	    !file_record_parse(&file, &plugin->layout, record->data, record->size))
		return NOT_HANDLED;
	add_id(plugin, &file);
	build_id = hex_build_id(file.build_id, file.build_id_len);
	path = clean_path(&file);
	trace_seq_printf(s, "id=0x%llx %s%s", (unsigned long long)file.id,
			 *path ? path : "without a path",
			 file.claimed ? " (claimed)" : "");
	if (*build_id)
		trace_seq_printf(s, ", build-id %s", build_id);
	free(build_id);
	free(path);
	return HANDLED;
}

/* ------------------------------------------------------------------- loading */

static const struct {
	const char *event;
	tep_event_handler_func handle;
} handlers[] = {
	{ "user_unwind", on_cookie },
	{ "user_unwind_stack", on_stack },
	{ "file_map", on_file },
};

PUBLIC int TEP_PLUGIN_LOADER(struct tep_handle *tep)
{
	struct plugin *plugin = need(calloc(1, sizeof(*plugin)));

	plugin->tep = tep;
	plugin->symbols = symbols_new();
	plugin->next = plugins;
	plugins = plugin;
	for (size_t i = 0; i < ARRAY_SIZE(handlers); i++)
		tep_register_event_handler(tep, -1, "ftrace", handlers[i].event,
					   handlers[i].handle, plugin);
	return 0;
}

PUBLIC void TEP_PLUGIN_UNLOADER(struct tep_handle *tep)
{
	struct plugin **link = &plugins, *plugin;

	while (*link && (*link)->tep != tep)
		link = &(*link)->next;
	plugin = *link;
	if (!plugin)
		return;
	*link = plugin->next;
	for (size_t i = 0; i < ARRAY_SIZE(handlers); i++)
		tep_unregister_event_handler(tep, -1, "ftrace", handlers[i].event,
					     handlers[i].handle, plugin);
	symbols_free(plugin->symbols);
	tdestroy(plugin->ids, free_id);
	free(plugin);
}

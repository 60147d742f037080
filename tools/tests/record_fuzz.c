// SPDX-License-Identifier: MIT
/*
 * libFuzzer target for the parsers of trace records and the joiner.  The input is a trace: for each
 * record four bytes that describe it, and the record.  At the end, each event that asked for a
 * stack has been counted once.
 */
#include "code_names.h"
#include "fuzz.h"
#include "join.h"
#include "samples.h"
#include "tool.h"
#include "wait_kind.h"

static struct record_layout right;
static struct name_layout names_right;
static struct wait_layout waits_right;
static struct kernel_layout kernel_right;
static unsigned long told;

int LLVMFuzzerInitialize(int *argc, char ***argv);

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	struct tep_handle *tep = tep_alloc();

	(void)argc;
	(void)argv;
	require(add_format(tep, FORMATS, "user_unwind"));
	require(add_format(tep, FORMATS, "user_unwind_stack"));
	require(add_format(tep, FORMATS, "file_map"));
	require(add_format(tep, FORMATS, "codectl_name"));
	require(add_format(tep, FORMATS, "task_waited"));
	require(record_layout_read(&right, tep));
	require(wait_layout_read(&waits_right, tep, "task_waited"));
	require(add_format(tep, FORMATS, "kernel_stack"));
	require(kernel_layout_read(&kernel_right, tep));
	require(name_layout_read(&names_right, tep));
	tep_free(tep);
	return 0;
}

static void note(void *context, const struct traced_event *event, unsigned long count,
		 struct join_stack *stack)
{
	(void)context;
	require(stack->nr <= STACK_MAX_FRAMES);
	require(count && event->kind < 4);
	told += count;
}

/* Fields at arbitrary offsets, as in formats that no kernel has. */
static struct record_layout wrong_layout(const uint8_t *data, size_t len)
{
	struct record_layout layout = right;
	struct record_field *field[] = {
		&layout.cookie.cookie, &layout.cookie.event,
		&layout.stack.cookie, &layout.stack.nr, &layout.stack.first,
		&layout.stack.stop, &layout.stack.count, &layout.stack.exact,
		&layout.stack.codes, &layout.stack.frames,
		&layout.file.id, &layout.file.names, &layout.file.unit,
		&layout.file.build_id_len, &layout.file.build_id,
		&layout.file.path,
	};

	for (size_t i = 0; i < len && i < ARRAY_SIZE(field); i++)
		field[i]->offset = data[i] == 255 ? UINT32_MAX : data[i];
	return layout;
}

static void add_file(const struct record_layout *layout, const void *data,
		     size_t len)
{
	static struct file_record file;

	if (!file_record_parse(&file, layout, data, len))
		return;
	require(file.id && file.build_id_len <= BUILD_ID_MAX);
	require(memchr(file.path, '\0', sizeof(file.path)));
	require(!file.verified || !file.claimed);
}

/* Reported at the time in the head; a function that is found must cover the address then. */
static void add_name(struct code_names *names, const uint8_t *head, const void *data,
		     size_t len)
{
	const struct process_id process = { head[1] % 8, head[1] % 16 / 8 };
	uint64_t time = head[2], address, id;
	struct name_record name;
	struct symbol symbol;

	if (!name_record_parse(&name, &names_right, data, len))
		return;
	require(memchr(name.name, '\0', sizeof(name.name)));
	code_names_add(names, process, time, &name);
	address = name.start + name.len / 2;
	id = code_names_id(names, process, address, time);
	symbol = code_names_find(names, process, id, address);
	require(!id == !symbol.name);
	free(symbol.name);
	if (head[2] == 255)
		code_names_lost(names, time);
}

static void add_wait(struct join *join, const uint8_t *head, const void *data, size_t len)
{
	struct traced_event event = { .type = 8 };
	struct wait_record wait;

	if (!wait_record_parse(&wait, &waits_right, data, len))
		return;
	event.kind = wait_kind(&wait);
	event.ns = wait.ns;
	require(event.kind && event.kind < NR_WAIT_KINDS && wait_kind_name(event.kind));
	event.kind %= 4;
	event.woken = wait.tid % 4;
	join_event(join, head[1] % 8, head[2], 0, &event);
}

static void add_kernel(struct join *join, const uint8_t *head, const void *data, size_t len)
{
	static struct kernel_record kernel;

	if (kernel_record_parse(&kernel, &kernel_right, data, len))
		join_kernel(join, head[1] % 8, head[2], 0, kernel.nr);
}

static void add_record(struct join *join, const struct record_layout *layout,
		       const uint8_t *head, const void *data, size_t len)
{
	static struct stack_record stack;
	struct traced_event event = { .type = len, .kind = head[1] / 64, .ns = UINT64_MAX / 2 };
	struct cookie_record cookie;
	int cpu = head[1] % 8, tid = head[2];

	switch (head[0]) {
	case 0:
		join_event(join, cpu, tid, 0, &event);
		break;
	case 1:
		if (cookie_record_parse(&cookie, layout, data, len))
			join_cookie(join, cpu, tid, &cookie);
		break;
	case 2:
		if (stack_record_parse(&stack, layout, data, len))
			join_stack(join, tid, &stack);
		break;
	case 3:
		add_file(layout, data, len);
		break;
	case 4:
		join_lost(join, cpu);
		break;
	case 5:
		join_pass(join);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct record_layout layout = right;
	struct code_names *names = code_names_new();
	struct join *join = join_new(note, NULL);
	const struct join_counts *counts = join_counts(join);

	told = 0;
	while (size > 4) {
		const uint8_t *head = data;
		size_t len = 8 * head[3];
		void *copy;

		data += 4;
		size -= 4;
		if (len > size)
			len = size;
		copy = exact_copy(data, len);
		if (head[0] == 6)
			layout = wrong_layout(copy, len);
		else if (head[0] == 7)
			add_name(names, head, copy, len);
		else if (head[0] == 8)
			add_wait(join, head, copy, len);
		else if (head[0] == 9)
			add_kernel(join, head, copy, len);
		else
			add_record(join, &layout, head, copy, len);
		free(copy);
		data += len;
		size -= len;
	}
	join_finish(join);
	require(told == counts->joined && counts->truncated <= counts->joined);
	require(counts->asked ==
		counts->joined + counts->incomplete + counts->pending);
	join_free(join);
	code_names_free(names);
	return 0;
}

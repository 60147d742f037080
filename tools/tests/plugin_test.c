// SPDX-License-Identifier: MIT
/* What the plugin of libtraceevent prints of a trace that the kernel has not written. */
#include "plugin/plugin_codectl.c"

#include "check.h"
#include "samples.h"

static bool prints(tep_event_handler_func handle, const void *data, size_t size,
		   const char *wanted)
{
	void *copy = exact_copy(data, size);
	struct tep_record record = { .data = copy, .size = size };
	struct trace_seq text;
	bool same;

	trace_seq_init(&text);
	same = handle(&text, &record, NULL, plugins) == HANDLED;
	trace_seq_terminate(&text);
	same = same && !strcmp(text.buffer, wanted);
	if (!same)
		printf("# %s\n", text.buffer);
	trace_seq_destroy(&text);
	free(copy);
	return same;
}

/* A terminal would act on such a path. */
static void a_path_with_control_characters(void)
{
	static const char path[] = "/a\033]0;b\a\302\233c\nd\\012";
	struct raw_file file = { .id = 7, .unit = UNIT_FILE, .build_id_len = 1 };
	const struct raw_stack stack = {
		.cookie = 5, .nr = 1, .count = 1, .exact = 1, .frames = { { 0x10, 7 } },
	};

	memcpy(file.path, path, sizeof(path));
	CHECK(prints(on_file, &file, offsetof(struct raw_file, path) + sizeof(path),
		     "id=0x7 /a\\033]0;b\\007\\302\\233c\\012d\\012, build-id 00"));
	CHECK(prints(on_stack, &stack, sizeof(stack),
		     "cookie=5\n => /a\\033]0;b\\007\\302\\233c\\012d\\012+0x10"));
}

int main(int argc, char **argv)
{
	static const char *const names[] = { "user_unwind", "user_unwind_stack", "file_map" };
	struct tep_handle *tep = tep_alloc();

	if (argc != 2)
		return 2;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!add_format(tep, argv[1], names[i]))
			return 2;
	TEP_PLUGIN_LOADER(tep);
	RUN(a_path_with_control_characters);
	TEP_PLUGIN_UNLOADER(tep);
	tep_free(tep);
	return check_end();
}

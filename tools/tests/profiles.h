/* SPDX-License-Identifier: MIT */
/*
 * Profiles for tests, and their output.
 */
#ifndef PROFILES_H
#define PROFILES_H

#include "check.h"
#include "report/recording.h"
#include "report/writers.h"
#include "tool.h"

/* A stack of @functions, the outermost first, with ';' between them, all of /bin/a. */
static inline uint32_t push_functions(struct profile *profile, const char *functions,
				      uint32_t flags)
{
	char *copy = strdup(functions), *rest = copy, *name;
	uint32_t stack = PROFILE_NO_STACK;

	while ((name = strsep(&rest, ";"))) {
		const struct profile_frame frame = {
			.function = name, .file = "/bin/a", .flags = flags,
		};

		stack = profile_stack(profile, stack, profile_frame(profile, &frame));
	}
	free(copy);
	return stack;
}

struct added {
	const char *functions, *event, *comm;
	int32_t pid;
	uint64_t time, events, ns;
	bool base, timed;
};

static inline bool add_sample(struct profile *profile, struct added added)
{
	const struct profile_event event = { added.event ?: "e", added.timed };
	const struct profile_task task = { added.comm, "/c", added.pid, added.pid + 1 };
	const struct profile_sample sample = {
		.stack = push_functions(profile, added.functions, 0),
		.event = profile_event(profile, &event),
		.task = profile_task(profile, &task),
		.time = added.time, .events = added.events, .ns = added.ns,
		.base = added.base,
	};

	return profile_add(profile, &sample);
}

#define ADD(profile, ...)	CHECK(add_sample(profile, (struct added){ __VA_ARGS__ }))

/* A profile of several tasks and events. */
static inline struct profile *make_mixed(void)
{
	static const struct added samples[] = {
		{ "main;f", "a:x", "one", 1, 0, 1, 10, false, true },
		{ "main;g", "a:y", "one", 1, PROFILE_TICK_NS, 2, 0, false, false },
		{ "main;f", "b:x", "two", 2, 2 * PROFILE_TICK_NS, 4, 30, false, true },
		{ "main;g", "a:x", "two;3", 3, 3 * PROFILE_TICK_NS, 8, 50, false, true },
	};
	struct profile *profile = profile_new();

	for (size_t i = 0; i < ARRAY_SIZE(samples); i++)
		CHECK(add_sample(profile, samples[i]));
	return profile;
}

/* From folded stacks of event "e", such as "main;f 10\n". */
static inline void add_folded(struct profile *profile, const char *text, bool base)
{
	char *copy = strdup(text), *rest = copy, *line;

	while ((line = strsep(&rest, "\n"))) {
		char *blank = strrchr(line, ' ');

		if (!blank)
			continue;
		*blank = '\0';
		ADD(profile, .functions = line, .base = base,
		    .events = strtoul(blank + 1, NULL, 10));
	}
	free(copy);
}

static inline char *written_tree(const struct selection *selection, enum tree_kind kind, bool diff,
				 void (*write)(const struct tree *tree, bool diff, FILE *to))
{
	struct tree *tree = tree_new(selection, kind);
	size_t size;
	char *text;
	FILE *to = open_memstream(&text, &size);

	write(tree, diff, to);
	fclose(to);
	tree_free(tree);
	return text;
}

static inline char *listed(const struct selection *selection)
{
	size_t size;
	char *text;
	FILE *to = open_memstream(&text, &size);

	listing_write(selection, to);
	fclose(to);
	return text;
}

static inline char *written_recording(struct profile *profile)
{
	size_t size;
	char *text;
	FILE *to = open_memstream(&text, &size);

	if (recording_write(profile, to))
		abort();
	fclose(to);
	return text;
}

/* NULL, or an error message. */
static inline const char *read_recording(struct profile *profile, const char *text, size_t len,
					 unsigned long *line)
{
	FILE *from = fmemopen((void *)text, len ?: 1, "r");
	const char *wrong;

	if (!from)
		abort();
	if (!len)
		fseek(from, 0, SEEK_END);
	wrong = recording_read(profile, from, false, line);
	fclose(from);
	return wrong;
}

#endif

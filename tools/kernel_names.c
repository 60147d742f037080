// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include <string.h>

#include "kernel_names.h"
#include "span.h"
#include "tool.h"

/* More than a kernel with all its modules has. */
#define MAX_BYTES	(256UL << 20)
/* The upper half of the address space: what is below is not the kernel's. */
#define KERNEL_START	(1ULL << 63)

struct name {
	uint64_t start;
	uint32_t nr;		/* in the file, so that the first one at an address is found */
	char *function, *module;
};

struct kernel_names {
	struct name *list;
	size_t nr, room;
};

static void add(struct kernel_names *names, uint64_t start, struct span function,
		struct span module)
{
	if (names->nr == names->room) {
		names->room = names->room ? 2 * names->room : 1024;
		names->list = need(reallocarray(names->list, names->room,
						sizeof(*names->list)));
	}
	names->list[names->nr] = (struct name){
		.start = start, .nr = names->nr,
		.function = need(strndup(function.at, function.len)),
		.module = module.len ? need(strndup(module.at, module.len)) : NULL,
	};
	names->nr++;
}

/* ADDRESS TYPE NAME[\t[MODULE]] */
static void take_line(struct kernel_names *names, struct span line)
{
	uint64_t start;
	struct span type, function;

	/* As a string it would end there. */
	if (line.len && memchr(line.at, '\0', line.len))
		return;
	if (!span_hex(span_take(&line, ' '), &start) || start < KERNEL_START)
		return;
	type = span_take(&line, ' ');
	function = span_take(&line, '\t');
	if (type.len == 1 && strchr("tTwW", *type.at) && function.len)
		add(names, start, function, line);
}

static int by_start(const void *one, const void *other)
{
	const struct name *a = one, *b = other;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return a->nr < b->nr ? -1 : a->nr > b->nr;
}

struct kernel_names *kernel_names_parse(const char *text, size_t len)
{
	struct kernel_names *names = need(calloc(1, sizeof(*names)));
	struct span rest = { text, len };

	while (rest.len)
		take_line(names, span_take(&rest, '\n'));
	if (names->nr)
		qsort(names->list, names->nr, sizeof(*names->list), by_start);
	return names;
}

struct kernel_names *kernel_names_read(const char *path)
{
	FILE *file = fopen(path, "re");
	struct kernel_names *names;
	char *text = NULL;
	size_t len = 0, got, room = 0;

	do {
		if (len == room)
			room = room ? 2 * room : 1 << 20;
		text = need(realloc(text, room));
		got = file ? fread(text + len, 1, room - len, file) : 0;
		len += got;
	} while (got && len < MAX_BYTES);
	if (file)
		fclose(file);
	names = kernel_names_parse(text, len);
	free(text);
	return names;
}

void kernel_names_free(struct kernel_names *names)
{
	for (size_t i = 0; i < names->nr; i++) {
		free(names->list[i].function);
		free(names->list[i].module);
	}
	free(names->list);
	free(names);
}

bool kernel_names_find(const struct kernel_names *names, uint64_t address,
		       const char **function, const char **module, uint64_t *distance)
{
	size_t low = 0, high = names->nr;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (names->list[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return false;
	for (low--; low && names->list[low - 1].start == names->list[low].start;)
		low--;
	*function = names->list[low].function;
	*module = names->list[low].module;
	*distance = address - names->list[low].start;
	return true;
}

uint32_t kernel_names_push(const struct kernel_names *names, struct profile *profile,
			   uint32_t caller, uint64_t address, bool exact)
{
	struct profile_frame frame = { .flags = PROFILE_KERNEL, .offset = address };

	if (kernel_names_find(names, address - !exact, &frame.function, &frame.file,
			      &frame.distance))
		frame.distance += !exact;
	return profile_stack(profile, caller, profile_frame(profile, &frame));
}

// SPDX-License-Identifier: MIT
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "tally.h"
#include "tool.h"

struct tally {
	void *tree;
	struct tally_line **lines;
	size_t nr, room;
};

struct tally *tally_new(void)
{
	return need(calloc(1, sizeof(struct tally)));
}

static void keep_node(void *node)
{
	(void)node;
}

void tally_free(struct tally *tally)
{
	tdestroy(tally->tree, keep_node);
	for (size_t i = 0; i < tally->nr; i++) {
		free(tally->lines[i]->text);
		free(tally->lines[i]);
	}
	free(tally->lines);
	free(tally);
}

static int by_text(const void *one, const void *other)
{
	const struct tally_line *a = one, *b = other;

	return strcmp(a->text, b->text);
}

static struct tally_line *new_line(struct tally *tally, const char *text)
{
	struct tally_line *line = need(calloc(1, sizeof(*line)));

	line->text = need(strdup(text));
	line->order = tally->nr;
	if (tally->nr == tally->room) {
		tally->room = tally->room ? 2 * tally->room : 64;
		tally->lines = need(reallocarray(tally->lines, tally->room,
						 sizeof(*tally->lines)));
	}
	tally->lines[tally->nr++] = line;
	need(tsearch(line, &tally->tree, by_text));
	return line;
}

void tally_add(struct tally *tally, const char *text, unsigned long count)
{
	const struct tally_line key = { .text = (char *)text };
	struct tally_line **found = tfind(&key, &tally->tree, by_text);
	struct tally_line *line = found ? *found : new_line(tally, text);

	line->count += count;
}

static int by_count(const void *one, const void *other)
{
	const struct tally_line *a = *(struct tally_line **)one;
	const struct tally_line *b = *(struct tally_line **)other;

	if (a->count != b->count)
		return a->count > b->count ? -1 : 1;
	return a->order < b->order ? -1 : 1;
}

struct tally_line **tally_sorted(const struct tally *tally, size_t *nr)
{
	struct tally_line **sorted;

	sorted = need(calloc(tally->nr + 1, sizeof(*sorted)));
	*nr = tally->nr;
	if (tally->nr) {
		memcpy(sorted, tally->lines, tally->nr * sizeof(*sorted));
		qsort(sorted, tally->nr, sizeof(*sorted), by_count);
	}
	return sorted;
}

// SPDX-License-Identifier: MIT
/*
 * libFuzzer target for recordings: an accepted one is the same after it was written and read again,
 * and every report can be written from it, also with itself as the base.
 */
#include <jansson.h>

#include "fuzz.h"
#include "profiles.h"
#include "report/text.h"

static char *write_report(const struct selection *selection, int form)
{
	size_t size;
	char *text;
	FILE *to = open_memstream(&text, &size);

	if (form == 0)
		pprof_write(selection, to);
	else if (form == 1)
		speedscope_write(selection, "fuzz", to);
	else if (form == 2)
		json_write(selection, true, to);
	else
		listing_write(selection, to);
	fclose(to);
	if (form == 1 || form == 2) {
		json_t *root = json_loads(text, 0, NULL);

		require(root);
		json_decref(root);
	}
	return text;
}

static void print_table(const struct tree *tree, bool diff, FILE *to)
{
	table_print(tree, diff, BY_TOTAL, to);
}

/* A terminal gets only printable characters and newlines. */
static void check_text(char *text)
{
	size_t len = strlen(text), bytes;

	for (size_t i = 0; i < len; i += bytes) {
		bytes = text[i] == '\n' || text[i] == '\t' ? 1 : text_letter(text + i);
		require(bytes);
	}
	free(text);
}

static void check_reports(struct profile *profile)
{
	struct selection selection = select_all(profile);

	selection.groups[1] = GROUP_COMM;
	selection.nr_groups = 2;
	select_unit(&selection);
	for (int form = 0; form < 3; form++)
		free(write_report(&selection, form));
	check_text(write_report(&selection, 3));
	for (int diff = 0; diff < 2; diff++) {
		check_text(written_tree(&selection, TREE_FUNCTIONS, diff, folded_write));
		check_text(written_tree(&selection, TREE_FUNCTIONS, diff, flamegraph_write));
		check_text(written_tree(&selection, TREE_LINES, diff, print_table));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct profile *profile = profile_new(), *again = profile_new();
	char *copy = exact_copy(data, size), *text, *twice;
	unsigned long line;

	if (!read_recording(profile, copy, size, &line)) {
		text = written_recording(profile);
		require(!read_recording(again, text, strlen(text), &line));
		twice = written_recording(again);
		require(!strcmp(text, twice));
		free(text);
		free(twice);
		if (profile_counts(profile).samples < 100) {
			FILE *from = fmemopen(copy, size, "r");

			require(from);
			recording_read(profile, from, true, &line);
			fclose(from);
			check_reports(profile);
		}
	}
	free(copy);
	profile_free(profile);
	profile_free(again);
	return 0;
}

// SPDX-License-Identifier: MIT
#include <errno.h>
#include <signal.h>
#include <string.h>

#include "record_outputs.h"
#include "report/output.h"
#include "report/recording.h"
#include "report/writers.h"
#include "tool.h"

struct outputs outputs_open(const struct record_options *options)
{
	return (struct outputs){
		.folded = output_open(options->folded),
		.svg = output_open(options->svg),
		.recording = output_open_private(options->recording),
	};
}

size_t outputs_list(struct outputs *outputs, const struct selection *selection)
{
	size_t different;

	signal(SIGPIPE, SIG_IGN);
	different = listing_write(selection, outputs->recording ? NULL : stdout);
	errno = 0;
	if (fflush(stdout) || ferror(stdout))
		outputs->unlisted = errno ?: EIO;
	return different;
}

void outputs_note(struct profile *profile, unsigned long count, const char *what)
{
	const struct profile_note note = { .text = what, .count = count };

	if (!count)
		return;
	fprintf(stderr, "codectl: %lu %s\n", count, what);
	profile_note(profile, &note);
}

static void write_trees(const struct selection *selection, const struct outputs *outputs,
			const struct record_options *options)
{
	struct tree *tree = tree_new(selection, TREE_FUNCTIONS);

	if (outputs->folded)
		folded_write(tree, false, outputs->folded);
	output_close(outputs->folded, options->folded);
	if (outputs->svg && !select_any(selection)) {
		output_drop(outputs->svg, options->svg);
		die("there is no stack to draw in %s", options->svg);
	}
	if (outputs->svg)
		flamegraph_write(tree, false, outputs->svg);
	output_close(outputs->svg, options->svg);
	tree_free(tree);
}

static void write_recording(struct profile *profile, FILE *to, const char *path)
{
	int error = recording_write(profile, to);

	errno = error;
	output_close(to, path);
}

void outputs_write(const struct outputs *outputs, const struct selection *selection,
		   const struct record_options *options)
{
	if (outputs->recording)
		write_recording(selection->profile, outputs->recording, options->recording);
	write_trees(selection, outputs, options);
	if (outputs->unlisted)
		die("cannot write the output: %s", strerror(outputs->unlisted));
}

// SPDX-License-Identifier: MIT
/*
 * codectl report: a recording in other forms.
 */
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "output.h"
#include "recording.h"
#include "tool.h"
#include "writers.h"

enum form { FOLDED, FLAMEGRAPH, PPROF, SPEEDSCOPE, JSON, NR_FORMS };

struct options {
	struct selection selection;
	size_t nr_comms, nr_events, nr_pids, nr_tids, nr_cgroups;
	const char *outputs[NR_FORMS];
	bool listing, lines;
	enum row_order order;
	const char *recording, *base;
};

/* ------------------------------------------------------------------ options */

static double parse_seconds(const char *text, const char **end)
{
	char *rest;
	double seconds = strtod(text, &rest);

	if (rest == text || !(seconds >= 0) || seconds > 1e9)
		die_usage("not a number of seconds: %s", text);
	*end = rest;
	return seconds;
}

/* [FROM],[TO] */
static void parse_time(struct selection *selection, const char *text)
{
	const char *at = text;

	if (*at != ',')
		selection->from = parse_seconds(at, &at) * 1e9;
	if (*at++ != ',')
		die_usage("not a range of time: %s", text);
	if (*at)
		selection->to = parse_seconds(at, &at) * 1e9;
	if (*at || selection->from >= selection->to)
		die_usage("not a range of time: %s", text);
}

static void add_group(struct selection *selection, const char *name)
{
	enum group group = group_of(name);

	if (group == GROUP_MAX)
		die_usage("not event, comm, pid, tid or cgroup: %s", name);
	for (size_t i = 0; i < selection->nr_groups; i++)
		if (selection->groups[i] == group)
			die_usage("given twice: %s", name);
	selection->groups[selection->nr_groups++] = group;
}

static void parse_groups(struct selection *selection, const char *text)
{
	char *copy = need(strdup(text)), *rest = copy, *name;

	selection->nr_groups = 0;
	if (strcmp(text, "none"))
		while ((name = strsep(&rest, ",")))
			add_group(selection, name);
	free(copy);
}

static double parse_share(const char *text)
{
	char *end;
	double share = strtod(text, &end);

	if (end == text || *end || !(share >= 0) || share > 100)
		die_usage("not a share in percent: %s", text);
	return share;
}

static int32_t parse_id(const char *what, const char *text)
{
	unsigned long number = need_number(what, text);

	if (number > INT32_MAX)
		die_usage("not %s: %s", what, text);
	return number;
}

static enum unit parse_unit(const char *text)
{
	if (!strcmp(text, "events"))
		return UNIT_EVENTS;
	if (!strcmp(text, "time"))
		return UNIT_TIME;
	die_usage("not events or time: %s", text);
}

static enum row_order parse_order(const char *text)
{
	if (!strcmp(text, "self"))
		return BY_SELF;
	if (!strcmp(text, "total"))
		return BY_TOTAL;
	die_usage("not self or total: %s", text);
}

static void parse_option(struct options *options, int option, const char *arg)
{
	struct selection *selection = &options->selection;

	switch (option) {
	case 'c':
		selection->comms[options->nr_comms++] = optarg;
		break;
	case 'e':
		selection->events[options->nr_events++] = optarg;
		break;
	case 'p':
		selection->pids[options->nr_pids++] = parse_id("the id of a process", optarg);
		break;
	case 'i':
		selection->tids[options->nr_tids++] = parse_id("the id of a thread", optarg);
		break;
	case 'g':
		selection->cgroups[options->nr_cgroups++] = optarg;
		break;
	case 't':
		parse_time(selection, optarg);
		break;
	case 'm':
		selection->min_share = parse_share(optarg);
		break;
	case 'b':
		parse_groups(selection, optarg);
		break;
	case 'u':
		selection->unit = parse_unit(optarg);
		break;
	case 'd':
		options->base = optarg;
		break;
	case 'o':
		options->order = parse_order(optarg);
		break;
	case 's':
		options->listing = true;
		break;
	case 'l':
		options->lines = true;
		break;
	default:
		if (option < 0x100 || option >= 0x100 + NR_FORMS)
			die_usage("report has no such option, or it lacks its value: %s", arg);
		options->outputs[option - 0x100] = optarg;
	}
}

static bool has_output(const struct options *options)
{
	for (int form = 0; form < NR_FORMS; form++)
		if (options->outputs[form])
			return true;
	return false;
}

static void check_options(const struct options *options)
{
	if (options->base && (options->listing || options->outputs[PPROF] ||
			      options->outputs[SPEEDSCOPE]))
		die_usage("--diff is for tables, --folded, --flamegraph and --json");
	if (options->listing && options->lines)
		die_usage("--stacks or --lines, not both");
}

static void parse_options(struct options *options, int argc, char **argv)
{
	static const struct option known[] = {
		{ "comm", required_argument, NULL, 'c' },
		{ "event", required_argument, NULL, 'e' },
		{ "pid", required_argument, NULL, 'p' },
		{ "tid", required_argument, NULL, 'i' },
		{ "cgroup", required_argument, NULL, 'g' },
		{ "time", required_argument, NULL, 't' },
		{ "min-share", required_argument, NULL, 'm' },
		{ "by", required_argument, NULL, 'b' },
		{ "unit", required_argument, NULL, 'u' },
		{ "diff", required_argument, NULL, 'd' },
		{ "sort", required_argument, NULL, 'o' },
		{ "stacks", no_argument, NULL, 's' },
		{ "lines", no_argument, NULL, 'l' },
		{ "folded", required_argument, NULL, 0x100 + FOLDED },
		{ "flamegraph", required_argument, NULL, 0x100 + FLAMEGRAPH },
		{ "pprof", required_argument, NULL, 0x100 + PPROF },
		{ "speedscope", required_argument, NULL, 0x100 + SPEEDSCOPE },
		{ "json", required_argument, NULL, 0x100 + JSON },
		{ }
	};
	struct selection *selection = &options->selection;
	int option;

	*options = (struct options){ .selection = select_all(profile_new()) };
	selection->comms = need(calloc(argc, sizeof(*selection->comms)));
	selection->events = need(calloc(argc, sizeof(*selection->events)));
	selection->pids = need(calloc(argc, sizeof(*selection->pids)));
	selection->tids = need(calloc(argc, sizeof(*selection->tids)));
	selection->cgroups = need(calloc(argc, sizeof(*selection->cgroups)));
	opterr = 0;
	while ((option = getopt_long(argc, argv, "", known, NULL)) != -1)
		parse_option(options, option, argv[optind - 1]);
	if (optind + 1 != argc)
		die_usage("report takes one recording");
	options->recording = argv[optind];
	check_options(options);
}

/* An empty list would take nothing. */
static void drop_empty_lists(struct options *options)
{
	struct selection *selection = &options->selection;

	if (!options->nr_comms) {
		free(selection->comms);
		selection->comms = NULL;
	}
	if (!options->nr_events) {
		free(selection->events);
		selection->events = NULL;
	}
	if (!options->nr_pids) {
		free(selection->pids);
		selection->pids = NULL;
	}
	if (!options->nr_tids) {
		free(selection->tids);
		selection->tids = NULL;
	}
	if (!options->nr_cgroups) {
		free(selection->cgroups);
		selection->cgroups = NULL;
	}
}

static void free_options(struct options *options)
{
	free(options->selection.comms);
	free(options->selection.events);
	free(options->selection.pids);
	free(options->selection.tids);
	free(options->selection.cgroups);
	profile_free(options->selection.profile);
}

/* ------------------------------------------------------------------ reading */

static void read_recording(struct profile *profile, const char *path, bool base)
{
	FILE *from = fopen(path, "re");
	unsigned long line;
	const char *wrong;

	if (!from)
		die("cannot open %s: %s", path, strerror(errno));
	wrong = recording_read(profile, from, base, &line);
	if (wrong)
		die("%s, line %lu: %s", path, line, wrong);
	fclose(from);
}

/* A report that is incomplete says so. */
static void print_notes(const struct profile *profile, const struct options *options)
{
	const uint32_t nr = profile_counts(profile).notes;

	for (uint32_t i = 0; i < nr; i++) {
		const struct profile_note note = profile_note_at(profile, i);

		fprintf(stderr, "codectl: %s: %llu %s\n",
			note.base ? options->base : options->recording,
			(unsigned long long)note.count, note.text);
	}
}

/* ------------------------------------------------------------------ writing */

static void write_tree(const struct options *options, enum form form, FILE *to)
{
	struct tree *tree = tree_new(&options->selection, TREE_FUNCTIONS);

	if (form == FOLDED)
		folded_write(tree, options->base, to);
	else
		flamegraph_write(tree, options->base, to);
	tree_free(tree);
}

static void write_form(const struct options *options, enum form form, FILE *to)
{
	switch (form) {
	case FOLDED:
	case FLAMEGRAPH:
		write_tree(options, form, to);
		break;
	case PPROF:
		pprof_write(&options->selection, to);
		break;
	case SPEEDSCOPE:
		speedscope_write(&options->selection, options->recording, to);
		break;
	case JSON:
		json_write(&options->selection, options->base, to);
		break;
	case NR_FORMS:
		break;
	}
}

static void write_outputs(const struct options *options)
{
	for (int form = 0; form < NR_FORMS; form++) {
		const char *path = options->outputs[form];
		FILE *to;

		if (!path)
			continue;
		if (form == FLAMEGRAPH && !select_any(&options->selection))
			die("there is no stack to draw in %s", path);
		to = output_open(path);
		write_form(options, form, to);
		output_close(to, path);
	}
}

static void write_table(const struct options *options)
{
	struct tree *tree = tree_new(&options->selection,
				     options->lines ? TREE_LINES : TREE_FILES);

	table_print(tree, options->base, options->order, stdout);
	tree_free(tree);
}

int cmd_report(int argc, char **argv)
{
	struct options options;
	struct profile *profile;

	parse_options(&options, argc, argv);
	drop_empty_lists(&options);
	profile = options.selection.profile;
	read_recording(profile, options.recording, false);
	if (options.base)
		read_recording(profile, options.base, true);
	if (!select_unit(&options.selection))
		die("there are events without a time: choose others by --event");
	/* Before whoever reads a long table may have ended. */
	write_outputs(&options);
	if (options.listing)
		listing_write(&options.selection, stdout);
	else if (options.lines || !has_output(&options))
		write_table(&options);
	finish_output();
	print_notes(profile, &options);
	free_options(&options);
	return 0;
}

// SPDX-License-Identifier: MIT
/*
 * codectl top: where the CPUs spend time, now.
 */
#include <getopt.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "attach_child.h"
#include "cpu_samples.h"
#include "holder.h"
#include "interrupt.h"
#include "perf_child.h"
#include "report/writers.h"
#include "screen.h"
#include "symbol.h"
#include "tool.h"

/* Time between two checks of perf's output, and of the keys. */
#define STEP_MS		100
/* For each CPU; perf itself takes part of it. */
#define HERTZ		199
/* Names that are not there by then are left out. */
#define NAMES_SECONDS		5
#define NAMES_SECONDS_IN_ALL	20

struct top {
	struct perf_options perf;
	double seconds;
	unsigned long count;	/* of tables; 0 for no end */
	enum row_order order;
	enum group group;	/* GROUP_MAX if none */
	bool json, screen, no_attach;
	struct attach_child attach;
	struct cpu_samples *samples;
	struct perf_stream *stream;
	struct perf_child child;
	struct cpu_counts before;
	char *shown;		/* the head of the latest table, and its profile */
	struct profile *profile;
};

/* ------------------------------------------------------------------ options */

static double parse_seconds(const char *text)
{
	char *end;
	double seconds = strtod(text, &end);

	if (end == text || *end || !(seconds >= 0.1) || seconds > 1e6)
		die_usage("not a number of seconds, of 0.1 at least: %s", text);
	return seconds;
}

static enum group parse_group(const char *text)
{
	enum group group = group_of(text);

	if (group == GROUP_MAX && strcmp(text, "none"))
		die_usage("not event, comm, pid, tid, cgroup or none: %s", text);
	return group;
}

static enum row_order parse_order(const char *text)
{
	if (strcmp(text, "self") && strcmp(text, "total"))
		die_usage("not self or total: %s", text);
	return strcmp(text, "self") ? BY_TOTAL : BY_SELF;
}

static void parse_option(struct top *top, int option, const char *arg)
{
	switch (option) {
	case 'p':
		top->perf.pid = need_pid(optarg);
		break;
	case 'F':
		top->perf.hertz = need_number("a number of samples a second", optarg);
		break;
	case 'd':
		top->seconds = parse_seconds(optarg);
		break;
	case 'n':
		top->count = need_number("a number of tables", optarg);
		break;
	case 'k':
		top->perf.kernel = true;
		break;
	case 'b':
		top->group = parse_group(optarg);
		break;
	case 's':
		top->order = parse_order(optarg);
		break;
	case 'j':
		top->json = true;
		break;
	case 'A':
		top->no_attach = true;
		break;
	default:
		die_usage("top has no such option, or it lacks its value: %s", arg);
	}
}

static void parse_options(struct top *top, int argc, char **argv)
{
	static const struct option known[] = {
		{ "kernel", no_argument, NULL, 'k' },
		{ "by", required_argument, NULL, 'b' },
		{ "sort", required_argument, NULL, 's' },
		{ "json", no_argument, NULL, 'j' },
		{ "no-attach", no_argument, NULL, 'A' },
		{ }
	};
	int option;

	opterr = 0;
	while ((option = getopt_long(argc, argv, "p:F:d:n:", known, NULL)) != -1)
		parse_option(top, option, argv[optind - 1]);
	if (optind != argc)
		die_usage("top takes no arguments, but -p");
	if (top->perf.hertz > INT32_MAX)
		die_usage("too many samples a second");
}

/* ------------------------------------------------------------------- showing */

static struct selection select_shown(const struct top *top)
{
	struct selection selection = select_all(top->profile);

	selection.nr_groups = top->group < GROUP_MAX;
	selection.groups[0] = top->group;
	selection.unit = UNIT_TIME;
	return selection;
}

static void print_table(const struct top *top, FILE *to)
{
	struct selection selection = select_shown(top);
	struct tree *tree;

	if (top->json) {
		json_write(&selection, false, to);
		return;
	}
	tree = tree_new(&selection, TREE_FILES);
	fputs(top->shown, to);
	table_print(tree, false, top->order, to);
	tree_free(tree);
}

static void show(const struct top *top)
{
	char *text;
	size_t len;
	FILE *to;

	if (!top->screen) {
		print_table(top, stdout);
		fputc('\n', stdout);
		if (fflush(stdout))
			interrupted = 1;
		return;
	}
	to = need(open_memstream(&text, &len));
	print_table(top, to);
	need_done(fclose(to));
	screen_show(text);
	free(text);
}

static void note(struct top *top, unsigned long count, const char *what)
{
	const struct profile_note note = { .text = what, .count = count };

	if (count)
		profile_note(top->profile, &note);
}

/* Losses are reported where they are missing: in the head of a table, and in JSON. */
static char *describe(struct top *top, double seconds)
{
	const struct cpu_counts now = cpu_samples_counts(top->samples), before = top->before;
	const unsigned long no_stack = now.no_stack - before.no_stack;
	const unsigned long lost = now.lost + now.left_out - before.lost - before.left_out;

	profile_about(top->profile, false)->duration = seconds * 1e9;
	note(top, no_stack, "samples in the kernel lack their user stack");
	note(top, lost, "samples or records lost");
	top->before = now;
	return format("# codectl top: %.1f s, %lu samples, %lu without stack, %lu lost%s\n",
		      seconds, now.events - before.events, no_stack, lost,
		      top->screen ? "; keys: q s t g" : "");
}

/* User stacks that have not come within a period are those of blocked tasks. */
static void renew(struct top *top, double seconds)
{
	const uint64_t latest = cpu_samples_latest(top->samples);
	const uint64_t period = seconds * 1e9;

	if (top->profile)
		profile_free(top->profile);
	free(top->shown);
	top->profile = profile_new();
	cpu_samples_settle(top->samples, latest > period ? latest - period : 0);
	cpu_samples_fill(top->samples, top->profile);
	cpu_samples_clear(top->samples);
	top->shown = describe(top, seconds);
}

/* ------------------------------------------------------------------- running */

/* By none, by name, by process, by cgroup. */
static enum group next_group(enum group group)
{
	switch (group) {
	case GROUP_MAX:
		return GROUP_COMM;
	case GROUP_COMM:
		return GROUP_PID;
	case GROUP_PID:
		return GROUP_CGROUP;
	default:
		return GROUP_MAX;
	}
}

static void take_keys(struct top *top)
{
	char key;

	while (!interrupted && (key = screen_key())) {
		if (key == 'q')
			interrupted = 1;
		else if (key == 's')
			top->order = BY_SELF;
		else if (key == 't')
			top->order = BY_TOTAL;
		else if (key == 'g')
			top->group = next_group(top->group);
		else
			continue;
		if (top->profile && !interrupted)
			show(top);
	}
}

/* False once nothing more will come. */
static bool wait_for_period(struct top *top)
{
	const int64_t end = now_ms() + top->seconds * 1000;
	bool more = true;

	while (more && !interrupted && now_ms() < end) {
		more = perf_child_read(&top->child, top->stream, STEP_MS);
		take_keys(top);
	}
	return more;
}

static void run(struct top *top)
{
	unsigned long nr = 0;
	bool more = true;

	while (more && (!top->count || nr < top->count)) {
		int64_t before = now_ms();

		more = wait_for_period(top);
		if (interrupted)
			break;
		renew(top, (now_ms() - before) / 1e3);
		show(top);
		nr++;
	}
}

int cmd_top(int argc, char **argv)
{
	struct top top = {
		.perf.hertz = HERTZ, .seconds = 1, .group = GROUP_MAX, .order = BY_SELF,
	};

	parse_options(&top, argc, argv);
	holder_seconds = NAMES_SECONDS;
	holder_seconds_in_all = NAMES_SECONDS_IN_ALL;
	interrupt_names();
	interrupt_catch();
	/* The terminal is restored first. */
	interrupt_catch_also(SIGQUIT);
	top.samples = cpu_samples_new(top.perf.kernel);
	top.stream = perf_stream_new(cpu_samples_take, top.samples);
	if (!top.no_attach)
		attach_child_start(&top.attach, top.perf.pid);
	perf_child_start(&top.child, &top.perf, top.stream);
	top.screen = !top.json && screen_begin();
	run(&top);
	screen_end();
	if (!perf_child_end(&top.child, top.stream))
		fputs("codectl: perf record failed, or did not end: samples may be missing\n",
		      stderr);
	attach_child_end(&top.attach);
	if (top.profile)
		profile_free(top.profile);
	free(top.shown);
	perf_stream_free(top.stream);
	cpu_samples_free(top.samples);
	return finish_output();
}

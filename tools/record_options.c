// SPDX-License-Identifier: MIT
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "record_options.h"
#include "tool.h"

/* Shorter waits cost more to record than they take. */
#define MIN_WAIT_US	100
/* For --cpu: no multiple of a period of programs or of the kernel. */
#define HERTZ		499

static double parse_duration(const char *text)
{
	char *end;
	double seconds = strtod(text, &end);

	if (end == text || *end || !(seconds > 0) || seconds > 1e9)
		die_usage("not a number of seconds: %s", text);
	return seconds;
}

static void parse_option(struct record_options *options, int option, const char *arg)
{
	switch (option) {
	case 'f':
		options->futex = true;
		break;
	case 'e':
		options->events[options->nr_events++] = optarg;
		break;
	case 'n':
		options->names = true;
		break;
	case 'w':
		options->wait = true;
		break;
	case 'W':
		options->wakers = true;
		break;
	case 'A':
		options->no_attach = true;
		break;
	case 'c':
		options->cpu = true;
		break;
	case 'F':
		options->hertz = need_number("a number of samples a second", optarg);
		break;
	case 'k':
		options->kernel = true;
		break;
	case 'm':
		options->min_wait_us = need_number("a number of microseconds", optarg);
		break;
	case 'p':
		options->pid = need_pid(optarg);
		break;
	case 'd':
		options->duration = parse_duration(optarg);
		break;
	case 'b':
		options->buffer_kib = need_number("a size in KiB", optarg);
		break;
	case 'o':
		options->recording = optarg;
		break;
	case 's':
		options->folded = optarg;
		break;
	case 'g':
		options->svg = optarg;
		break;
	default:
		die_usage("record has no such option, or it lacks its value: %s", arg);
	}
}

static void check_cpu(struct record_options *options)
{
	if (options->cpu && (options->futex || options->nr_events || options->wait))
		die_usage("--cpu or events, not both");
	if (options->cpu && options->names)
		die_usage("--cpu or --names, not both");
	if (!options->cpu && options->hertz)
		die_usage("-F needs --cpu");
	if (options->hertz > INT32_MAX)
		die_usage("too many samples a second");
	if (options->cpu && !options->hertz)
		options->hertz = HERTZ;
}

void record_options_parse(struct record_options *options, int argc, char **argv)
{
	static const struct option known[] = {
		{ "futex", no_argument, NULL, 'f' },
		{ "event", required_argument, NULL, 'e' },
		{ "names", no_argument, NULL, 'n' },
		{ "wait", no_argument, NULL, 'w' },
		{ "wakers", no_argument, NULL, 'W' },
		{ "cpu", no_argument, NULL, 'c' },
		{ "kernel", no_argument, NULL, 'k' },
		{ "no-attach", no_argument, NULL, 'A' },
		{ "min-wait", required_argument, NULL, 'm' },
		{ "duration", required_argument, NULL, 'd' },
		{ "buffer", required_argument, NULL, 'b' },
		{ "output", required_argument, NULL, 'o' },
		{ "folded", required_argument, NULL, 's' },
		{ "flamegraph", required_argument, NULL, 'g' },
		{ }
	};
	int option;

	*options = (struct record_options){ 0 };
	options->events = need(calloc(argc, sizeof(*options->events)));
	opterr = 0;
	while ((option = getopt_long(argc, argv, "+F:p:o:", known, NULL)) != -1)
		parse_option(options, option, argv[optind - 1]);
	if (optind < argc) {
		if (strcmp(argv[optind - 1], "--"))
			die_usage("a command to record comes after '--'");
		options->command = argv + optind;
	}
	if (options->command && options->pid)
		die_usage("a command or -p, not both");
	if (options->wait && (options->futex || options->nr_events))
		die_usage("waits or events, not both");
	if ((options->min_wait_us || options->wakers) && !options->wait)
		die_usage("--min-wait and --wakers need --wait");
	if (options->wait && !options->min_wait_us)
		options->min_wait_us = MIN_WAIT_US;
	check_cpu(options);
}

void record_options_free(struct record_options *options)
{
	free(options->events);
}

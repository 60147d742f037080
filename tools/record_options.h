/* SPDX-License-Identifier: MIT */
/*
 * What to record, according to the command line of codectl record.
 */
#ifndef RECORD_OPTIONS_H
#define RECORD_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct record_options {
	bool futex, names, wait, cpu;
	bool wakers;		/* of waits */
	bool no_attach;		/* files get no tables */
	bool kernel;		/* include its frames */
	unsigned long hertz;	/* of --cpu */
	char **events;		/* room for all */
	size_t nr_events;
	pid_t pid;
	char **command;
	double duration;	/* seconds, 0: until the command ends */
	unsigned long min_wait_us;
	unsigned long buffer_kib;
	const char *folded, *svg, *recording;
};

/* Exits if they make no sense.  Their strings are those of @argv. */
void record_options_parse(struct record_options *options, int argc, char **argv);
void record_options_free(struct record_options *options);

#endif

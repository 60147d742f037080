/* SPDX-License-Identifier: MIT */
/*
 * perf record, the stock one, as a child that samples what runs on CPUs, and writes to
 * a pipe: no file that somebody else could have made, or could change.
 */
#ifndef PERF_CHILD_H
#define PERF_CHILD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "perf_stream.h"

struct perf_options {
	pid_t pid;		/* and what it starts; 0: the whole machine */
	unsigned long hertz;
	unsigned long buffer_kib;	/* 0: perf's default */
	bool kernel;		/* include frames of the kernel */
};

struct perf_child {
	pid_t pid;
	int data, control;	/* a pipe, and a socket */
	int errors;		/* a file in memory */
	bool asked;		/* it has not answered yet */
	int64_t heard;		/* when something came from it, in ms */
};

/* How long nothing may come from it while it starts and ends; for tests to change. */
extern int64_t perf_child_silent_ms;

/*
 * Runs it until it samples, or exits with the reason, also if interrupted; @stream takes
 * what it writes until then.
 */
void perf_child_start(struct perf_child *child, const struct perf_options *options,
		      struct perf_stream *stream);

/*
 * Takes what it writes within that time, and asks it for what has been sampled.  False
 * once it has ended.
 */
bool perf_child_read(struct perf_child *child, struct perf_stream *stream, int ms);

/*
 * Ends it, and takes the rest.  False if it has failed, or did not end by itself: some may be
 * missing.
 */
bool perf_child_end(struct perf_child *child, struct perf_stream *stream);

#endif

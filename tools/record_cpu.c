// SPDX-License-Identifier: MIT
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include "child.h"
#include "cpu_samples.h"
#include "perf_child.h"
#include "record_cpu.h"
#include "record_outputs.h"
#include "report/writers.h"
#include "symbol.h"
#include "tool.h"

/* How long what has been sampled may stay with perf: files are opened after that. */
#define PERIOD_MS	100

struct recording {
	const struct record_options *options;
	struct cpu_samples *samples;
	struct perf_stream *stream;
	struct perf_child perf;
	struct child command;
	struct profile *profile;
};

static volatile sig_atomic_t interrupted, reports;

static void on_signal(int signal)
{
	(void)signal;
	interrupted = 1;
	symbols_stop = reports;
}

static void catch_signals(void)
{
	static const int caught[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction action = { .sa_handler = on_signal };

	for (size_t i = 0; i < ARRAY_SIZE(caught); i++)
		sigaction(caught[i], &action, NULL);
}

static uint64_t now_ns(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return time.tv_sec * 1000000000ULL + time.tv_nsec;
}

/* ---------------------------------------------------------------- recording */

static void start(struct recording *recording)
{
	const struct record_options *options = recording->options;
	struct perf_options perf = {
		.pid = options->pid, .hertz = options->hertz,
		.buffer_kib = options->buffer_kib, .kernel = options->kernel,
	};

	if (options->command) {
		child_prepare(&recording->command, options->command);
		perf.pid = recording->command.pid;
	}
	perf_child_start(&recording->perf, &perf, recording->stream);
	if (options->command)
		child_release(&recording->command, options->command[0]);
}

/* perf ends by itself once nothing is left of the process and what it has started. */
static void sample(struct recording *recording)
{
	const struct record_options *options = recording->options;
	struct profile_about *about = profile_about(recording->profile, false);
	const uint64_t started = now_ns(CLOCK_MONOTONIC);
	const uint64_t end = options->duration ? started + options->duration * 1e9 : UINT64_MAX;
	bool more = true;

	about->start = now_ns(CLOCK_REALTIME);
	while (more && !interrupted && now_ns(CLOCK_MONOTONIC) < end) {
		more = perf_child_read(&recording->perf, recording->stream, PERIOD_MS);
		if (options->command && child_has_ended(&recording->command))
			more = false;
	}
	about->duration = now_ns(CLOCK_MONOTONIC) - started;
	if (options->command)
		child_terminate(&recording->command);
	perf_child_end(&recording->perf, recording->stream);
	cpu_samples_settle(recording->samples, UINT64_MAX);
}

/* ------------------------------------------------------------------- report */

/* On standard error, and in the recording. */
static void tell(struct recording *recording, unsigned long count, const char *what)
{
	const struct profile_note note = { .text = what, .count = count };

	if (!count)
		return;
	fprintf(stderr, "codectl: %lu %s\n", count, what);
	profile_note(recording->profile, &note);
}

static void tell_losses(struct recording *recording, unsigned long refused)
{
	const struct cpu_counts counts = cpu_samples_counts(recording->samples);

	tell(recording, counts.no_stack,
	     "samples in the kernel lack their user stack: it had not come by the end");
	tell(recording, counts.left_out + refused,
	     "samples left out: there are too many different stacks");
	tell(recording, counts.lost, "records lost; a larger --buffer may help");
	tell(recording, cpu_samples_unnamed(recording->samples),
	     "files lack names: who reads them did not answer in time, or in full");
	tell(recording, perf_stream_malformed(recording->stream),
	     "records of perf could not be made out");
}

static void report(struct recording *recording, const struct outputs *outputs)
{
	struct selection selection = select_all(recording->profile);
	struct cpu_counts counts;
	unsigned long refused;
	size_t different;

	reports = 1;
	refused = cpu_samples_fill(recording->samples, recording->profile);
	select_unit(&selection);
	different = listing_write(&selection, outputs->recording ? NULL : stdout);
	finish_output();
	counts = cpu_samples_counts(recording->samples);
	fprintf(stderr, "codectl: %lu events, %lu with their stack (%zu different)\n",
		counts.events, counts.events - counts.no_stack - counts.left_out, different);
	tell_losses(recording, refused);
	outputs_write(outputs, &selection, recording->options);
}

void record_cpu(const struct record_options *options)
{
	struct recording recording = { .options = options };
	struct outputs outputs;

	catch_signals();
	outputs = outputs_open(options);
	recording.samples = cpu_samples_new(options->kernel);
	recording.stream = perf_stream_new(cpu_samples_take, recording.samples);
	recording.profile = profile_new();
	start(&recording);
	sample(&recording);
	report(&recording, &outputs);
	perf_stream_free(recording.stream);
	cpu_samples_free(recording.samples);
	profile_free(recording.profile);
}

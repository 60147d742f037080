// SPDX-License-Identifier: MIT
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include "attach_child.h"
#include "child.h"
#include "cpu_samples.h"
#include "interrupt.h"
#include "perf_child.h"
#include "record_cpu.h"
#include "record_outputs.h"
#include "report/writers.h"
#include "symbol.h"
#include "tool.h"

/* How long samples may stay with perf: files are opened after that. */
#define PERIOD_MS	100

struct recording {
	const struct record_options *options;
	struct cpu_samples *samples;
	struct perf_stream *stream;
	struct perf_child perf;
	struct child command;
	struct attach_child attach;
	struct profile *profile;
	bool cut;		/* perf has failed, or did not end by itself */
};

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
	if (!options->no_attach)
		attach_child_start(&recording->attach, perf.pid);
	perf_child_start(&recording->perf, &perf, recording->stream);
	if (options->command && interrupted)
		die("interrupted");
	if (options->command)
		child_release(&recording->command, options->command[0]);
}

/* perf ends by itself once nothing is left of the process and what it has started. */
static void sample(struct recording *recording)
{
	const struct record_options *options = recording->options;
	struct profile_about *about = profile_about(recording->profile, false);
	const uint64_t started = now_ns();
	const uint64_t end = options->duration ? started + options->duration * 1e9 : UINT64_MAX;
	struct timespec time;
	bool more = true;

	clock_gettime(CLOCK_REALTIME, &time);
	about->start = time.tv_sec * 1000000000ULL + time.tv_nsec;
	while (more && !interrupted && now_ns() < end) {
		more = perf_child_read(&recording->perf, recording->stream, PERIOD_MS);
		if (options->command && child_has_ended(&recording->command))
			more = false;
	}
	about->duration = now_ns() - started;
	if (options->command)
		child_terminate(&recording->command);
	recording->cut = !perf_child_end(&recording->perf, recording->stream);
	attach_child_end(&recording->attach);
	cpu_samples_settle(recording->samples, UINT64_MAX);
}

/* ------------------------------------------------------------------- report */

static void tell_method(void)
{
	const char *why_not = why_no_codectl();

	if (why_not)
		fprintf(stderr, "codectl: %s; stacks are those of frame pointers\n", why_not);
}

static void tell_losses(struct recording *recording, unsigned long refused)
{
	const struct cpu_counts counts = cpu_samples_counts(recording->samples);
	struct profile *profile = recording->profile;

	outputs_note(profile, counts.no_stack,
		     "samples in the kernel lack their user stack: it had not come by the end");
	outputs_note(profile, counts.left_out + refused,
		     "samples left out: there are too many different stacks");
	outputs_note(profile, counts.lost, "records lost; a larger --buffer may help");
	outputs_note(profile, cpu_samples_unnamed(recording->samples),
		     "files lack names: who reads them did not answer in time, or in full");
	outputs_note(profile, perf_stream_malformed(recording->stream),
		     "records of perf could not be made out");
	outputs_note(profile, recording->cut,
		     "perf record failed, or did not end: samples may be missing");
}

static void report(struct recording *recording, struct outputs *outputs)
{
	struct selection selection = select_all(recording->profile);
	struct cpu_counts counts;
	unsigned long refused;
	size_t different;

	interrupt_names();
	refused = cpu_samples_fill(recording->samples, recording->profile);
	select_unit(&selection);
	different = outputs_list(outputs, &selection);
	counts = cpu_samples_counts(recording->samples);
	fprintf(stderr, "codectl: %lu events, %lu with their stack (%zu different)\n",
		counts.events, counts.events - counts.no_stack - counts.left_out, different);
	tell_method();
	tell_losses(recording, refused);
	outputs_write(outputs, &selection, recording->options);
}

void record_cpu(const struct record_options *options)
{
	struct recording recording = { .options = options };
	struct outputs outputs;

	interrupt_catch();
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

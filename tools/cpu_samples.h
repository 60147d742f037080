/* SPDX-License-Identifier: MIT */
/*
 * Samples of what runs on CPUs, from the records of perf, until it is known what their
 * frames are.
 */
#ifndef CPU_SAMPLES_H
#define CPU_SAMPLES_H

#include "perf_data.h"
#include "report/profile.h"

#define CPU_EVENT	"cpu-clock"

struct cpu_samples;

struct cpu_counts {
	unsigned long events;	/* all that came, except those of idle CPUs */
	unsigned long no_stack;	/* their user stack has not come, and they are not left out */
	unsigned long left_out;	/* too many different ones */
	unsigned long lost;	/* records */
};

/* Maximum number of stacks and samples, and of samples whose user stack is to come. */
extern size_t cpu_samples_max_nodes, cpu_samples_max_pending;

/* @kernel: include frames of the kernel. */
struct cpu_samples *cpu_samples_new(bool kernel);
void cpu_samples_free(struct cpu_samples *samples);

/* As perf_stream_fn, with the samples as its context. */
void cpu_samples_take(void *samples, const struct perf_record *record);

/* User stacks of samples before that time will not come any more; UINT64_MAX: none will. */
void cpu_samples_settle(struct cpu_samples *samples, uint64_t before);

/* The time of the latest sample. */
uint64_t cpu_samples_latest(const struct cpu_samples *samples);

/* Adds all to @profile; returns how many events it refuses, as their sum is too large. */
unsigned long cpu_samples_fill(struct cpu_samples *samples, struct profile *profile);

/* Forgets the samples, but not the processes and names. */
void cpu_samples_clear(struct cpu_samples *samples);

struct cpu_counts cpu_samples_counts(const struct cpu_samples *samples);

/* Files some of whose names could not be had, and excess mappings. */
unsigned long cpu_samples_unnamed(const struct cpu_samples *samples);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Weighted stacks: what recorders fill, recordings keep, and reports are made of.
 *
 * A sample is one or more events of a task with the same stack.  Its weight is a number
 * of events and, for a timed event, nanoseconds: of CPU time that a sample on CPU
 * stands for, or of a task's wait.
 *
 * Everything is kept once and has a number, which the functions return and take.
 * Strings are copied; those that are returned stay until profile_free().  They are
 * clean, as from text_clean().  A string may be NULL if it is unknown.
 *
 * Unless stated otherwise, the only error is lack of memory, which ends the program.
 */
#ifndef PROFILE_H
#define PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The caller of the outermost frame. */
#define PROFILE_NO_STACK	UINT32_MAX

/* Maximum number of frames of a stack, including inlined functions. */
#define PROFILE_MAX_DEPTH	8192

/* Events of a task with the same stack within this time are one sample. */
#define PROFILE_TICK_NS		100000000ULL

struct profile;

enum {
	PROFILE_KERNEL	= 1 << 0,	/* of the kernel's stack */
	PROFILE_INLINED	= 1 << 1,	/* in the frame of its caller, the next one out */
	PROFILE_CLAIMED	= 1 << 2,	/* only the program says which file it is */
	PROFILE_MARK	= 1 << 3,	/* no code: "function" says what is missing there */
	PROFILE_FLAGS	= (1 << 4) - 1,
};

struct profile_frame {
	const char *function;
	const char *file;	/* path of the ELF file; NULL: code in memory */
	const char *build_id;	/* of that file, in hexadecimal digits */
	const char *source;	/* path of the source file */
	uint32_t line;		/* in it, from 1; 0 if unknown */
	uint32_t flags;		/* PROFILE_* */
	uint64_t offset;	/* in the file; in memory the address */
	uint64_t distance;	/* from the start of the function */
	uint64_t id, code;	/* codectl's, for code in memory; 0 if none */
};

struct profile_task {
	const char *comm;
	const char *cgroup;	/* path in the hierarchy */
	int32_t pid, tid;	/* as the recorder sees them */
};

struct profile_event {
	const char *name;	/* SYSTEM:EVENT */
	bool timed;		/* its samples have nanoseconds */
};

struct profile_sample {
	uint64_t time;		/* ns since its recording's first event; kept in ticks */
	uint32_t stack;		/* of its innermost frame, or PROFILE_NO_STACK */
	uint32_t task, event;
	uint32_t base;		/* 1: from the recording that the other one is compared with */
	uint64_t events, ns;	/* not part of the key */
};

/* About a recording: the first, or the base. */
struct profile_about {
	uint64_t start;		/* ns since 1970 in UTC; 0 if unknown */
	uint64_t duration;	/* ns; 0 if unknown */
};

/* What a recording lacks. */
struct profile_note {
	const char *text;	/* follows the number: "records lost" */
	uint64_t count;
	bool base;
};

struct profile *profile_new(void);
void profile_free(struct profile *profile);

struct profile_about *profile_about(struct profile *profile, bool base);
void profile_note(struct profile *profile, const struct profile_note *note);

/* The copy of @text; the same one for the same text. */
const char *profile_string(struct profile *profile, const char *text);

uint32_t profile_event(struct profile *profile, const struct profile_event *event);
uint32_t profile_task(struct profile *profile, const struct profile_task *task);
uint32_t profile_frame(struct profile *profile, const struct profile_frame *frame);

/*
 * The stack of @caller, PROFILE_NO_STACK for an outermost frame, with @frame on top.
 * Stacks of PROFILE_MAX_DEPTH do not grow: then it is @caller.
 */
uint32_t profile_stack(struct profile *profile, uint32_t caller, uint32_t frame);
uint32_t profile_depth(const struct profile *profile, uint32_t stack);

/*
 * Adds to the sample that differs only in the weights, if there is one.  False, and
 * adds nothing, if all weights of a recording would exceed INT64_MAX, so that sums of
 * some of them never do.
 */
bool profile_add(struct profile *profile, const struct profile_sample *sample);

/* How many there are; numbers count from 0. */
struct profile_counts {
	uint32_t events, tasks, frames, stacks, samples, notes;
};

struct profile_counts profile_counts(const struct profile *profile);

struct profile_event profile_event_at(const struct profile *profile, uint32_t nr);
struct profile_task profile_task_at(const struct profile *profile, uint32_t nr);
struct profile_frame profile_frame_at(const struct profile *profile, uint32_t nr);
struct profile_note profile_note_at(const struct profile *profile, uint32_t nr);
const struct profile_sample *profile_sample_at(const struct profile *profile, uint32_t nr);

/* Callers have lower numbers than their callees. */
uint32_t profile_stack_caller(const struct profile *profile, uint32_t stack);
uint32_t profile_stack_frame(const struct profile *profile, uint32_t stack);

#endif

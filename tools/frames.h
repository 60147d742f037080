/* SPDX-License-Identifier: MIT */
/*
 * Identifies the frames of stacks in the trace: files by their ids, functions, compiled
 * code.
 */
#ifndef FRAMES_H
#define FRAMES_H

#include "code_names.h"
#include "process.h"
#include "report/profile.h"
#include "symbol.h"
#include "trace_record.h"

struct frames;

/* @names: names that programs report, or NULL; they stay the caller's. */
struct frames *frames_new(const struct code_names *names);
void frames_free(struct frames *frames);

/* As mapped by @pid, which may have ended. */
void frames_add_file(struct frames *frames, const struct file_record *file, pid_t pid);

/* Whether @id, of a file or a registration, has been explained. */
bool frames_knows(const struct frames *frames, uint64_t id);

/*
 * Gives frames in compiled code, of @process at that time, the numbers of their functions
 * according to the names; those in granule maps already have them.
 */
void frames_number(struct frames *frames, struct frame *frame, size_t nr,
		   struct process_id process, uint64_t time);

/*
 * Names of compiled code come from the process's perf map: it is looked for at once, while
 * the process exists.  Processes with one number are noted in the order of their lives.
 */
void frames_note(struct frames *frames, const struct frame *frame, size_t nr,
		 struct process_id process);
void frames_note_process(struct frames *frames, struct process_id process);

/*
 * Describes a frame, until frames_free() or the next call; the distance is that of the
 * instruction.  Everything passed to frames_want() is looked up together.
 */
void frames_want(struct frames *frames, const struct frame *frame, size_t nr,
		 struct process_id process);
const struct symbol *frames_symbol(struct frames *frames, struct frame frame,
				   struct process_id process);

/* The stack of @caller, as for profile_stack(), with @frame of @process on top. */
uint32_t frames_push(struct frames *frames, struct profile *profile, uint32_t caller,
		     struct frame frame, struct process_id process);

/* Files, and perf maps, some of whose names could not be had. */
unsigned long frames_lost(const struct frames *frames);

#endif

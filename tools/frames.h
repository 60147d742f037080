/* SPDX-License-Identifier: MIT */
/*
 * What the frames of stacks in the trace are: files by their ids, functions,
 * compiled code.
 */
#ifndef FRAMES_H
#define FRAMES_H

#include "code_names.h"
#include "report/profile.h"
#include "symbol.h"
#include "trace_record.h"

struct frames;

/* @names: those that programs tell, or NULL; they stay the caller's. */
struct frames *frames_new(const struct code_names *names);
void frames_free(struct frames *frames);

/* As @pid has it mapped; it may have ended. */
void frames_add_file(struct frames *frames, const struct file_record *file, pid_t pid);

/* Whether @id, of a file or a registration, has been explained. */
bool frames_knows(const struct frames *frames, uint64_t id);

/*
 * Gives frames in compiled code, of @pid at that time, the numbers of their functions
 * as the names have them; those in granule maps have them already.
 */
void frames_number(struct frames *frames, struct frame *frame, size_t nr, pid_t pid,
		   uint64_t time);

/*
 * Names of compiled code are those of @pid's perf map: it is looked for at once, while
 * the process is there.
 */
void frames_note(struct frames *frames, const struct frame *frame, size_t nr, pid_t pid);
void frames_note_process(struct frames *frames, pid_t pid);

/*
 * What a frame is, until frames_free() or the next call; the distance is that of the
 * instruction.  All that frames_want() was told of is looked up together.
 */
void frames_want(struct frames *frames, const struct frame *frame, size_t nr, pid_t pid);
const struct symbol *frames_symbol(struct frames *frames, struct frame frame, pid_t pid);

/* The stack of @caller, as profile_stack() takes it, with @frame of @pid on top. */
uint32_t frames_push(struct frames *frames, struct profile *profile, uint32_t caller,
		     struct frame frame, pid_t pid);

/* Files, and perf maps, whose names could not all be had. */
unsigned long frames_lost(const struct frames *frames);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * What the frames of stacks in the trace are: files by their ids, functions,
 * compiled code.
 */
#ifndef FRAMES_H
#define FRAMES_H

#include "code_names.h"
#include "trace_record.h"

struct frames;

/* @names: those that programs tell, or NULL; they stay the caller's. */
struct frames *frames_new(const struct code_names *names);
void frames_free(struct frames *frames);

void frames_add_file(struct frames *frames, const struct file_record *file);

/* Whether @id, of a file or a registration, has been explained. */
bool frames_knows(const struct frames *frames, uint64_t id);

/*
 * Gives frames in compiled code, of @pid at that time, the numbers of their functions
 * as the names have them; those in granule maps have them already.
 */
void frames_number(struct frames *frames, struct frame *frame, size_t nr, pid_t pid,
		   uint64_t time);

/*
 * A frame as text, which is the caller's: for a reader (function, path and
 * offset), or as it goes into a flame graph (function).
 */
char *frames_show(struct frames *frames, struct frame frame, pid_t pid);
char *frames_fold(struct frames *frames, struct frame frame, pid_t pid);

#endif

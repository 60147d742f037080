/* SPDX-License-Identifier: MIT */
/*
 * What the frames of stacks in the trace are: files by their ids, functions,
 * compiled code.
 */
#ifndef FRAMES_H
#define FRAMES_H

#include "trace_record.h"

struct frames;

struct frames *frames_new(void);
void frames_free(struct frames *frames);

void frames_add_file(struct frames *frames, const struct file_record *file);

/* Whether @id, of a file or a registration, has been explained. */
bool frames_knows(const struct frames *frames, uint64_t id);

/*
 * A frame as text, which is the caller's: for a reader (function, path and
 * offset), or as it goes into a flame graph (function).
 */
char *frames_show(struct frames *frames, struct frame frame, pid_t pid);
char *frames_fold(struct frames *frames, struct frame frame, pid_t pid);

#endif

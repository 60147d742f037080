/* SPDX-License-Identifier: MIT */
/*
 * A process that holds the files of one owner open, and has them read.  Who serves a file
 * may have it wait for ever, even as it ends: it is to be waited for with a limit.
 */
#ifndef HOLDER_H
#define HOLDER_H

#include "trace_record.h"

enum holder_verb {
	HOLDER_FILE,		/* opens a file of @pid */
	HOLDER_MAP,		/* the perf map of @pid */
	HOLDER_FIND,		/* answers for @nr offsets */
};

/*
 * A message.  HOLDER_FIND comes with two descriptors: of the offsets, and of a pipe for
 * HOLDER_ALIVE as often as there is something to be waited for, and HOLDER_ANSWERS with the
 * answers, until its end.  The others are not answered.
 */
struct holder_request {
	enum holder_verb verb;
	uint32_t file;		/* a number that the sender has chosen, from 0 on */
	pid_t pid;
	uint64_t nr;
	struct file_record record;
};

enum { HOLDER_ALIVE, HOLDER_ANSWERS };

/*
 * Seconds that it may take between two bytes, or it waits for a server of files: 60; and for
 * all its answers: 300.
 */
extern unsigned int holder_seconds, holder_seconds_in_all;

/* Until @channel, of type SOCK_SEQPACKET, has no other end; it is the process's last call. */
void holder_run(int channel) __attribute__((noreturn));

#endif

/* SPDX-License-Identifier: MIT */
/*
 * A process that holds the files of one owner open, and has them read.  The server of a
 * file may make it wait forever, even at its end: wait for it only with a time limit.
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
 * A message.  HOLDER_FIND comes with two descriptors: of the offsets, and of a pipe,
 * for HOLDER_ALIVE now and then as long as it is waiting, and HOLDER_ANSWERS with the
 * answers, up to its end.  The others are not answered.
 */
struct holder_request {
	enum holder_verb verb;
	uint32_t file;		/* a number that the sender has chosen, from 0 */
	pid_t pid;
	uint64_t nr;
	uint64_t ended;		/* HOLDER_FIND, of a map: as in symbols_end_map(), or 0 */
	struct file_record record;
};

enum { HOLDER_ALIVE, HOLDER_ANSWERS };

/*
 * Seconds that it may take between two bytes, or that it waits for a file server: 60;
 * and for all its answers: 300.
 */
extern unsigned int holder_seconds, holder_seconds_in_all;

/* Until @channel, of type SOCK_SEQPACKET, has no other end; never returns. */
void holder_run(int channel) __attribute__((noreturn));

#endif

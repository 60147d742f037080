/* SPDX-License-Identifier: MIT */
#ifndef SANDBOX_H
#define SANDBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <time.h>

struct sandbox {
	pid_t pid;
	int from;		/* what it writes */
	time_t deadline;	/* now_seconds() when it is killed */
};

/* Writes to @out; what it returns is not looked at. */
typedef void (*sandbox_work)(void *arg, int out);

/*
 * Starts a process that runs @work on a copy of this one's memory, with no other
 * descriptor than @out: a user that nobody is, no capability of root, no system call but those
 * that allocate memory, write and exit (seccomp), at most @memory bytes more than
 * it has and @seconds of CPU; ten times as long in all, be it stopped, and no longer than
 * this process.  Memory that is shared has to be MADV_DONTFORK.  A thread that holds a lock
 * leaves it held there.  Returns 0 or an errno.
 */
int sandbox_start(struct sandbox *sandbox, sandbox_work work, void *arg,
		  size_t memory, unsigned int seconds);

/* What descriptors may be left to it, and which the first one is. */
#define SANDBOX_KEPT	8
#define SANDBOX_FD	4

/*
 * The same, and leaves it the @nr_keep descriptors at @keep, in that order from SANDBOX_FD
 * on, which it can map into memory; it can write to those that are pipes.
 */
int sandbox_start_with(struct sandbox *sandbox, sandbox_work work, void *arg,
		       const int *keep, size_t nr_keep, size_t memory, unsigned int seconds);

/* Reads @len bytes that @work has written, all or false. */
bool sandbox_read(const struct sandbox *sandbox, void *data, size_t len);

/*
 * Ends it; why it ended, as a string literal, or NULL if @work returned, or wrote what is not
 * read.  *@own is whether that is due to what @work does by itself, and would be so again.
 */
const char *sandbox_end(struct sandbox *sandbox, bool *own);

#endif

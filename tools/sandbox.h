/* SPDX-License-Identifier: MIT */
#ifndef SANDBOX_H
#define SANDBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct sandbox {
	pid_t pid;
	int from;		/* its output */
	unsigned int patience_ms;	/* how long it may wait for anything but a CPU */
	unsigned int waited_ms;	/* how long it has */
	uint64_t ticks;		/* of CPU time that it had taken then */
};

/* Writes to @out; its result is ignored. */
typedef void (*sandbox_work)(void *arg, int out);

/*
 * Starts a process that runs @work on a copy of this one's memory, with no other
 * descriptor than @out: as an otherwise unused user, without root's capabilities, with
 * only the system calls that allocate memory, write and exit (seccomp), at most @memory
 * bytes more than it has and @seconds of CPU time, however long it waits for a CPU;
 * only @patience_ms, which the caller may change, without one, as when a file server does
 * not answer or somebody stops it; and no longer than this process.  Shared memory must be
 * MADV_DONTFORK.  A lock held by a thread stays held there.  Returns 0 or an errno.
 */
int sandbox_start(struct sandbox *sandbox, sandbox_work work, void *arg,
		  size_t memory, unsigned int seconds);

/* How many descriptors it may keep, and the first of them. */
#define SANDBOX_KEPT	8
#define SANDBOX_FD	4

/*
 * The same, but lets it keep the @nr_keep descriptors at @keep, in that order from
 * SANDBOX_FD on, which it can map into memory; it can write to pipes among them.
 */
int sandbox_start_with(struct sandbox *sandbox, sandbox_work work, void *arg,
		       const int *keep, size_t nr_keep, size_t memory, unsigned int seconds);

/* Reads @len bytes that @work has written; false unless all came. */
bool sandbox_read(struct sandbox *sandbox, void *data, size_t len);

/*
 * Ends it; returns why it ended, as a string literal, or NULL if @work returned, or
 * wrote what is not read.  *@own is whether @work itself caused that, and would do so
 * again.
 */
const char *sandbox_end(struct sandbox *sandbox, bool *own);

#endif

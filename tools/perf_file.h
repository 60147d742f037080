/* SPDX-License-Identifier: MIT */
/*
 * /tmp/perf-PID.map of a process, which may be in a container: in its /tmp, with the
 * PID that it has itself.
 */
#ifndef PERF_FILE_H
#define PERF_FILE_H

#include "plain.h"

struct perf_file {
	int dir;		/* its /tmp, or -1 */
	char name[64];
	pid_t pid;
	uint64_t start;		/* process_start(); 0: it had ended */
	uid_t uid;
	gid_t gid;
	bool ours;		/* the process is unknown: one of ours, or of root's */
};

/* Notes who owns it; that of a process that has ended is in our /tmp. */
void perf_file_note(struct perf_file *file, pid_t pid);
void perf_file_close(struct perf_file *file);

/*
 * When the process that has the number now has started, in ns of CLOCK_REALTIME; 0 if
 * that is the one that was noted, or none.
 */
uint64_t perf_file_ended(const struct perf_file *file);

/*
 * Was the open @map last written while the process existed?  @ended: when another one
 * got its number, or 0.
 */
bool perf_file_is_own(const struct perf_file *file, int map, uint64_t ended);

/*
 * Opens it as the user of the process would; false unless it belongs to that user, to
 * us or to root.
 */
bool perf_file_open(const struct perf_file *file, struct plain *map);

#endif

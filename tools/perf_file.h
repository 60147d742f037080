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
	uid_t uid;
	gid_t gid;
	bool ours;		/* the process is unknown: one of ours, or of root's */
};

/* Notes who owns it; that of a process that has ended is in our /tmp. */
void perf_file_note(struct perf_file *file, pid_t pid);
void perf_file_close(struct perf_file *file);

/*
 * Opens it as the user of the process would; false unless it belongs to that user, to
 * us or to root.
 */
bool perf_file_open(const struct perf_file *file, struct plain *map);

#endif

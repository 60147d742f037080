/* SPDX-License-Identifier: MIT */
/* The files that processes have mapped, each once. */
#ifndef ATTACH_FILES_H
#define ATTACH_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "../sframe/store.h"

/* A program or library. */
struct file {
	dev_t dev;
	ino_t ino;
	int fd;			/* open for reading; -1: it gets no table */
	char *name;		/* to be shown */
	int attached;		/* what CODE_ATTACH_FILE has returned, or -1 */
	struct store_key key;	/* of its table */
	const char *wrong;	/* why it gets none, or NULL */
};

struct files {
	struct file *file;
	size_t nr;
	size_t old;		/* those that were looked at before */
};

/* Adds the file, unless it is there already or no regular one.  False if it cannot be opened. */
bool files_add(struct files *files, const char *path, const char *name);

/*
 * Adds what the process has mapped to execute.  The files are opened by the mapping:
 * no path of another process, which may be in a container, is trusted.  False with
 * errno if the process cannot be looked at, or is gone.
 */
bool files_add_process(struct files *files, pid_t pid);

/* The mapping [start, end) of a process; what has gone meanwhile is passed over. */
void files_add_mapping(struct files *files, pid_t pid, unsigned long start,
		       unsigned long end, const char *name);

/* All processes that can be looked at. */
void files_add_all(struct files *files);

bool files_have(const struct files *files, dev_t dev, ino_t ino);

/*
 * Forgets what is of no use any more: files that got no table, or were written to since,
 * and deleted ones that nobody has mapped, which would take up room on their disk.
 * Whether one was written to: it may get a table again.
 */
bool files_drop_stale(struct files *files);

#endif

/* SPDX-License-Identifier: MIT */
/* The files that processes have mapped, each one once. */
#ifndef ATTACH_FILES_H
#define ATTACH_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "../owner.h"
#include "../sframe/work.h"

/* A program or library. */
struct file {
	dev_t dev;
	ino_t ino;
	int fd;			/* open for reading; -1: no table unless it is changed */
	char *name;		/* for display */
	bool named;		/* by the user */
	uint64_t seen;		/* when somebody last had it mapped: files_now() */
	int attached;		/* what CODE_ATTACH_FILE has returned, or -1 */
	struct known known;
	unsigned long long bytes; /* size of its table in the kernel */
	bool hopeless;		/* no table until it is changed */
	bool elsewhere;		/* it has a table that is not ours */
	unsigned int failed;	/* how often it got no table although it could have one */
	time_t again;		/* when to try again: now_seconds() */
	bool pending;		/* its table is not in the store yet */
	bool given;		/* to a converter */
	size_t job;		/* its number among the converter's files */
	unsigned int tries;	/* how often it was given in vain */
	bool remade;		/* as the one in the store was no good */
	off_t size;		/* when that was made; also the following */
	struct timespec written, changed;
};

struct files {
	struct file *file;
	size_t nr;
	size_t old;		/* those that were looked at before */
	unsigned long long anybodys_bytes; /* for files that files_is_anybodys() */
	size_t unopened;	/* mappings whose file could not be opened */
	int error;		/* why the last one could not */
	bool only_looks;	/* notes who has what mapped, and adds nothing */
	bool of_one;		/* only what processes of @owner have mapped */
	uid_t owner;
};

/* Nanoseconds of the monotonic clock. */
uint64_t files_now(void);

static inline bool files_differ(struct timespec a, struct timespec b)
{
	return a.tv_sec != b.tv_sec || a.tv_nsec != b.tv_nsec;
}

/* May anybody other than root and the user have made it as they like? */
static inline bool files_is_anybodys(const struct file *file)
{
	return !file->known.believed && !file->named;
}

/*
 * Adds a regular file that the user has named; false with errno, EINVAL if it is not
 * one.
 */
bool files_add_named(struct files *files, const char *path);

/*
 * Adds the files that the process has mapped executable.  They are opened by the
 * mapping: no path of another process, which may be in a container, is trusted.  False
 * with errno if the process cannot be looked at, or is gone.
 */
bool files_add_process(struct files *files, pid_t pid);

/*
 * The mapping [start, end) of a process; skips what has gone meanwhile.  For a file
 * that is already known its file system, which may not answer, is not asked.
 */
void files_add_mapping(struct files *files, pid_t pid, unsigned long start,
		       unsigned long end, const char *name);

/* All processes that can be looked at; false if there was no room to look at some. */
bool files_add_all(struct files *files);

/* How long an unmapped file keeps its table, in seconds. */
#define FILES_UNMAPPED	600

/*
 * Forgets what is no longer useful: files that have lost their table, or were changed
 * after they could have none, and deleted ones that nobody has mapped, which would take
 * up space on their disk.  With @unmapped also those that were not mapped for that many
 * seconds, so that their file systems can be unmounted; -1 for none.  Returns whether
 * there is room for other tables now, or a file for which there may be another.
 */
bool files_drop_stale(struct files *files, int unmapped);

#endif

/* SPDX-License-Identifier: MIT */
/* The files that processes have mapped, each once. */
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
	int fd;			/* open for reading; -1: it gets no table unless changed */
	char *name;		/* to be shown */
	bool named;		/* by the user */
	uint64_t seen;		/* when somebody had it mapped: files_now() */
	int attached;		/* what CODE_ATTACH_FILE has returned, or -1 */
	struct known known;
	unsigned long long bytes; /* that it takes in the kernel */
	bool hopeless;		/* it gets none unless it is changed */
	bool elsewhere;		/* it has one that is not ours */
	unsigned int failed;	/* how often it got none that may get one */
	time_t again;		/* when that is tried: now_seconds() */
	bool pending;		/* that is not in the store yet */
	bool given;		/* to a converter */
	size_t job;		/* which one of its files it is then */
	unsigned int tries;	/* that it was given in vain */
	bool remade;		/* as that in the store was no good */
	off_t size;		/* when that was made, and what is below */
	struct timespec written, changed;
};

struct files {
	struct file *file;
	size_t nr;
	size_t old;		/* those that were looked at before */
	unsigned long long anybodys_bytes; /* of files_is_anybodys() */
	size_t unopened;	/* mappings whose file could not be opened */
	int error;		/* why the last of these could not */
	bool only_looks;	/* notes who is mapped, and adds nothing */
	bool of_one;		/* what processes of @owner have mapped, and no other's */
	uid_t owner;
};

/* Nanoseconds of the monotonic clock. */
uint64_t files_now(void);

static inline bool files_differ(struct timespec a, struct timespec b)
{
	return a.tv_sec != b.tv_sec || a.tv_nsec != b.tv_nsec;
}

/* Whether it is one that others than root and the user may have made as they like. */
static inline bool files_is_anybodys(const struct file *file)
{
	return !file->known.believed && !file->named;
}

/* Adds the regular file that the user has named; false with errno, EINVAL if it is none. */
bool files_add_named(struct files *files, const char *path);

/*
 * Adds what the process has mapped to execute.  The files are opened by the mapping:
 * no path of another process, which may be in a container, is trusted.  False with
 * errno if the process cannot be looked at, or is gone.
 */
bool files_add_process(struct files *files, pid_t pid);

/*
 * The mapping [start, end) of a process; what has gone meanwhile is passed over.  Of
 * a file that is there already its file system, which may not answer, is asked nothing.
 */
void files_add_mapping(struct files *files, pid_t pid, unsigned long start,
		       unsigned long end, const char *name);

/* All processes that can be looked at; false if there was no room to look at some. */
bool files_add_all(struct files *files);

/* How long a file that nobody has mapped keeps its table, in seconds. */
#define FILES_UNMAPPED	600

/*
 * Forgets what is of no use any more: files that have lost their table, or were changed
 * since they could have none, and deleted ones that nobody has mapped, which would take up
 * room on their disk.  With @unmapped also those that were not mapped for that many
 * seconds, so that their file systems can be unmounted; else -1.  Whether there is room
 * for other tables now, or a file for which there may be another.
 */
bool files_drop_stale(struct files *files, int unmapped);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Opens files that others have named.  A path of theirs may lead to a device, which
 * merely opening can activate, to a pipe, or out of their tree: first a descriptor that
 * opens nothing is looked at, and only that is opened then.
 */
#ifndef PLAIN_H
#define PLAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* A regular file, open for reading. */
struct plain {
	int fd;
	uint64_t size, inode;
	uid_t uid;
	mode_t mode;
};

/*
 * Each returns false if there is no such file, or one that is not on a disk, like those
 * of procfs, or that has no contents, like many of these.  A file server may make them
 * wait for as long as it likes.
 */

/* The path below the directory @root, which is also the root of all links in it. */
bool plain_open(struct plain *file, int root, const char *path);

/* The entry @name of the directory, and no link; it may get its contents later. */
bool plain_open_entry(struct plain *file, int dir, const char *name);

/* What the process has mapped executable, with that inode. */
bool plain_open_mapped(struct plain *file, pid_t pid, uint32_t major, uint32_t minor,
		       uint64_t inode);

/*
 * The debugging information for a build-id, or the file with that name below
 * /usr/lib/debug/.dwz that it shares parts with.  It is root's.
 */
bool plain_open_debug(struct plain *file, const uint8_t *build_id, size_t len);
bool plain_open_shared(struct plain *file, const char *name);

/*
 * Directories to start from, or -1: the root of a process, or of this one for 0; one in
 * it.
 */
int plain_root(pid_t pid);
int plain_directory(int root, const char *path);

#endif

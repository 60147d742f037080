/* SPDX-License-Identifier: MIT */
/*
 * Opens what others have named.  A path of theirs may lead to a device, which opening alone
 * can set off, to a pipe, or out of where they are: what is looked at first is a
 * descriptor that has opened nothing, and only that is opened then.
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
 * Each is false if there is no such file, or one that is not on a disk, as those of procfs, or
 * that has no contents, like many of these.
 * A server of files may have them wait for as long as it likes.
 */

/* The path below the directory @root, which is the root of all links in it. */
bool plain_open(struct plain *file, int root, const char *path);

/* What is called @name in the directory, and no link; it may get its contents later. */
bool plain_open_entry(struct plain *file, int dir, const char *name);

/* What the process has mapped to execute, of that inode. */
bool plain_open_mapped(struct plain *file, pid_t pid, uint32_t major, uint32_t minor,
		       uint64_t inode);

/*
 * The debugging information for a build-id, or the file of that name below
 * /usr/lib/debug/.dwz that it shares parts of itself in.  It is root's.
 */
bool plain_open_debug(struct plain *file, const uint8_t *build_id, size_t len);
bool plain_open_shared(struct plain *file, const char *name);

/* Directories to go on from, or -1: the root of a process, or of this one for 0; one in it. */
int plain_root(pid_t pid);
int plain_directory(int root, const char *path);

#endif

/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _UNWIND_CODE_FILE_H
#define _UNWIND_CODE_FILE_H

#include <linux/buildid.h>
#include <linux/codectl.h>
#include <linux/fsnotify_backend.h>
#include <linux/limits.h>
#include <linux/rcupdate.h>
#include <linux/rhashtable-types.h>
#include <linux/types.h>

/* Ids that a file may have at a time; whoever needs another one makes it start anew. */
#define CODE_FILE_MAX_IDS	16

/**
 * struct code_file - a file that code comes from, under one path, and its id
 * @mark: of the first of the inode: ties all to that, which it does not hold
 * @first: the first one, whose @mark counts the references to all
 * @all: of the first one, the list of all, itself included
 * @link: in that list
 * @nr: of the first one, how many others there are
 * @is_gone: of the first one, that @mark goes: none is found by its inode any more
 * @by_inode: in the table by @inode
 * @by_id: in the table by @id
 * @rcu: defers freeing until no reader of the tables sees it
 * @id: never that of another file or registration
 * @inode: that of the mark; to compare only
 * @ino: inode number, as in /proc/PID/maps
 * @dev: device of the inode
 * @real: inode that the contents are from, which that of the mark keeps; to
 *	compare only
 * @ctime: when that was last changed, before the build-id was read
 * @stale: of the first one, that the file was written to or renamed since: the next
 *	who asks gets another id
 * @build_id_len: bytes in @build_id, 0 for none
 * @build_id: the build-id, read by the kernel
 * @path: where the file is for those who get this id, escaped; what does not
 *	fit ends in "..."
 *
 * Goes with its inode: what is not in memory has no id.  Namespaces and chroot()
 * give a file several paths, and nobody's is shown to another; what was mapped
 * before overlayfs copied the file up has other contents than what is mapped since.
 */
struct code_file {
	struct fsnotify_mark	mark;
	struct code_file	*first;
	struct list_head	all;
	struct list_head	link;
	unsigned int		nr;
	bool			is_gone;
	struct rhlist_head	by_inode;
	struct rhash_head	by_id;
	struct rcu_head		rcu;
	u64			id;
	const struct inode	*inode;
	u64			ino;
	dev_t			dev;
	const struct inode	*real;
	struct timespec64	ctime;
	bool			stale;
	u8			build_id_len;
	u8			build_id[BUILD_ID_SIZE_MAX];
	char			path[];
};

/* For the path of a file, as the kernel has it and escaped. */
#define CODE_PATH_BUF_SIZE	(PATH_MAX + CODECTL_PATH_MAX)

struct code_file *code_file_get(struct file *file, const struct path *root,
				bool wait);
void code_file_put(struct code_file *cf);
u64 code_file_find_id(const struct file *file, char *buf);
u64 code_file_vdso_id(void);
const struct code_file *code_file_by_id(u64 id);
void code_file_names(const struct code_file *cf, struct codectl_names *names);
bool code_file_names_of(u64 id, struct codectl_names *names);
const char *code_path_of(const struct file *file, const struct path *root,
			 char *buf);
void code_path_escape(char *to, size_t size, const char *path);

#endif /* _UNWIND_CODE_FILE_H */

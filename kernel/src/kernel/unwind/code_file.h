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

/* Ids that a file may have at a time; whoever needs one more makes it start anew. */
#define CODE_FILE_MAX_IDS	16

/**
 * struct code_file - a file that code comes from, under one path, with its id
 * @mark: in the first one of an inode: ties all of them to the inode, without holding
 *	it
 * @first: the first one, whose @mark counts the references to all of them
 * @all: in the first one, the list of all of them, itself included
 * @link: in that list
 * @nr: in the first one, how many others there are
 * @is_gone: in the first one, @mark is going: none is found by its inode any more
 * @by_inode: in the table by @inode
 * @by_id: in the table by @id
 * @rcu: delays freeing until no reader of the tables sees it
 * @id: never that of another file or registration
 * @inode: the inode of the mark; to compare only
 * @ino: inode number, as in /proc/PID/maps
 * @dev: device of that inode
 * @real: inode that has the contents, kept by that of the mark; to compare only
 * @ctime: when @real was last changed, before the build-id was read
 * @stale: in the first one, the file was written to or renamed since: whoever asks next
 *	gets another id
 * @build_id_len: bytes in @build_id, 0 for none
 * @build_id: the build-id, read by the kernel
 * @path: path of the file for those who get this id, escaped; what does not fit ends in
 *	"..."
 *
 * Goes with its inode: what is not in memory has no id.  Namespaces and chroot() give a
 * file several paths, and nobody's path is shown to another; what was mapped before
 * overlayfs copied the file up has other contents than what is mapped since.
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

/* For the path of a file, unescaped and escaped. */
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

/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _UNWIND_CODE_FILE_H
#define _UNWIND_CODE_FILE_H

#include <linux/buildid.h>
#include <linux/codectl.h>
#include <linux/fsnotify_backend.h>
#include <linux/rcupdate.h>
#include <linux/types.h>

/* Paths that a file may have; whoever has another one makes it start anew. */
#define CODE_FILE_MAX_PATHS	16

/**
 * struct code_file - a file that code comes from, under one path, and its id
 * @mark: of the first path: ties it to the inode, which it does not hold
 * @first: that of the first path, whose @mark counts the references to all
 * @other: in the list of other paths; of the first one, the list
 * @nr_others: of the first one, how many there are
 * @node: in the table of all, by @id
 * @rcu: defers freeing until no reader of the table sees it
 * @id: never that of another file or registration
 * @ino: inode number, as in /proc/PID/maps
 * @dev: device of the inode
 * @real: inode that the contents are from, which that of the mark keeps; to
 *	compare only
 * @ctime: when that was last changed, before the build-id was read
 * @stale: the file was written to or renamed since: the next who asks gets
 *	another id
 * @build_id_len: bytes in @build_id, 0 for none
 * @build_id: the build-id, read by the kernel
 * @path: where the file is for those who get this id, escaped; what does not
 *	fit ends in "..."
 *
 * Goes with its inode: what is not in memory has no id.  Namespaces and chroot()
 * give a file several paths, and nobody's is shown to another.
 */
struct code_file {
	struct fsnotify_mark	mark;
	struct code_file	*first;
	struct list_head	other;
	unsigned int		nr_others;
	struct hlist_node	node;
	struct rcu_head		rcu;
	u64			id;
	u64			ino;
	dev_t			dev;
	const struct inode	*real;
	struct timespec64	ctime;
	bool			stale;
	u8			build_id_len;
	u8			build_id[BUILD_ID_SIZE_MAX];
	char			path[];
};

struct code_file *code_file_get(struct file *file, struct mm_struct *mm);
void code_file_put(struct code_file *cf);
struct code_file *code_file_by_id(u64 id);
struct code_file *code_file_vdso(void);
void code_file_names(const struct code_file *cf, struct codectl_names *names);
void code_path_escape(char *to, size_t size, const char *path);

#endif /* _UNWIND_CODE_FILE_H */

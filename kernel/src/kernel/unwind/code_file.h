/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _UNWIND_CODE_FILE_H
#define _UNWIND_CODE_FILE_H

#include <linux/buildid.h>
#include <linux/codectl.h>
#include <linux/fsnotify_backend.h>
#include <linux/rcupdate.h>
#include <linux/types.h>

/**
 * struct code_file - a file that code comes from, and its id
 * @mark: ties it to the inode, which it does not hold
 * @node: in the table of all, by @id
 * @rcu: defers freeing until no reader of the table sees it
 * @id: never that of another file or registration
 * @ino: inode number, as in /proc/PID/maps
 * @dev: device of the inode
 * @real: inode that the contents are from, which that of the mark keeps; to
 *	compare only
 * @stale: the file was written to or renamed since: the next who asks gets
 *	another id
 * @build_id_len: bytes in @build_id, 0 for none
 * @build_id: the build-id, read by the kernel
 * @path: where the file was, as whoever made it known saw it, escaped; what does
 *	not fit ends in "..."
 *
 * Goes with its inode: what is not in memory has no id.
 */
struct code_file {
	struct fsnotify_mark	mark;
	struct hlist_node	node;
	struct rcu_head		rcu;
	u64			id;
	u64			ino;
	dev_t			dev;
	const struct inode	*real;
	bool			stale;
	u8			build_id_len;
	u8			build_id[BUILD_ID_SIZE_MAX];
	char			path[];
};

struct code_file *code_file_get(struct file *file);
void code_file_put(struct code_file *cf);
struct code_file *code_file_by_id(u64 id);
struct code_file *code_file_vdso(void);
void code_file_names(const struct code_file *cf, struct codectl_names *names);
void code_path_escape(char *to, size_t size, const char *path);

#endif /* _UNWIND_CODE_FILE_H */

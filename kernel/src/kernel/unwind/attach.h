/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _UNWIND_ATTACH_H
#define _UNWIND_ATTACH_H

#include <linux/fs.h>
#include <linux/fsnotify_backend.h>
#include <linux/list.h>
#include <linux/rcupdate.h>
#include <linux/types.h>
#include <linux/workqueue.h>
#include <uapi/linux/codectl.h>

#include "resident.h"

/**
 * enum attachment_state - may a table be used?
 * @ATTACHMENT_NEW: not yet: it is being made
 * @ATTACHMENT_LIVE: yes
 * @ATTACHMENT_WRITTEN: never again: what the file holds may have changed since
 */
enum attachment_state {
	ATTACHMENT_NEW,
	ATTACHMENT_LIVE,
	ATTACHMENT_WRITTEN,
};

/**
 * struct codectl_attachment - a table for a file
 * @mark: on the inode, to be told of writes; its references are those to all of it
 * @node: in the table of all, by @inode
 * @list: in the list of those that are made, in the order in which they came
 * @work: frees it after a grace period
 * @file: the file, which keeps the inode
 * @inode: what a mapping of the file is backed by
 * @id: never that of anything else
 * @mtime: when the file was last written to before the table was attached
 * @file_size: its size then
 * @nlink: how many names it had when its attributes last changed; under a lock
 * @state: &enum attachment_state
 * @table: the table
 * @nr_segments: entries in @segments
 * @segments: executable segments of the file
 *
 * But for @nlink and @state nothing changes once it is live.
 */
struct codectl_attachment {
	struct fsnotify_mark		mark;
	struct hlist_node		node;
	struct list_head		list;
	struct rcu_work			work;
	struct file			*file;
	const struct inode		*inode;
	u64				id;
	struct timespec64		mtime;
	loff_t				file_size;
	unsigned int			nlink;
	int				state;
	struct resident_table		*table;
	unsigned int			nr_segments;
	struct code_file_segment	segments[];
};

/**
 * struct attached_text - text that a table was attached for, as it is mapped
 * @start: first byte that @table may cover
 * @size: bytes from there to the last one
 * @bias: what to add to an address for the one that it was linked to have
 * @table: the table; NULL: there is none for this text
 */
struct attached_text {
	unsigned long			start;
	unsigned long			size;
	unsigned long			bias;
	const struct resident_table	*table;
};

const struct codectl_attachment *codectl_attachment_of(const struct inode *inode);
int codectl_find_attached(struct mm_struct *mm, unsigned long addr,
			  struct attached_text *text);
long codectl_attach(const void __user *uinfo, size_t usize);

#endif /* _UNWIND_ATTACH_H */

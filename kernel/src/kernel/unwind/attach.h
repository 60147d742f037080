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
 * enum attachment_state - whether a table may be used
 * @ATTACHMENT_NEW: not yet, it is being built
 * @ATTACHMENT_LIVE: yes
 * @ATTACHMENT_WRITTEN: never again, the contents of the file may have changed
 */
enum attachment_state {
	ATTACHMENT_NEW,
	ATTACHMENT_LIVE,
	ATTACHMENT_WRITTEN,
};

/**
 * struct codectl_attachment - a table attached to a file
 * @mark: on the inode, reports writes; its references are those to the whole attachment
 * @node: in the hash table of attachments, by @inode
 * @list: in the list of finished attachments, in the order they were made
 * @work: frees it after a grace period
 * @file: the file, which holds the inode
 * @inode: the inode that backs mappings of the file
 * @id: unique, never reused
 * @mtime: time of the last write before the table was attached
 * @file_size: its size then
 * @nlink: how many names the file had when its attributes last changed; under a lock
 * @state: &enum attachment_state
 * @table: the table
 * @nr_segments: entries in @segments
 * @segments: executable segments of the file
 *
 * Once it is live, only @nlink and @state change.
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
 * struct attached_text - mapped text that a table was attached for
 * @start: first byte that @table may cover
 * @size: its length in bytes
 * @bias: what to add to an address to get its link-time address
 * @table: the table, or NULL if there is none for this text
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

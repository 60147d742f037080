/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _LINUX_CODECTL_QUERY_H
#define _LINUX_CODECTL_QUERY_H

#include <linux/types.h>
#include <uapi/linux/codectl.h>

struct code_file;
struct codectl_region;
struct file;
struct mm_struct;
struct path;
struct task_struct;

/**
 * struct codectl_origin - the names of the code of a registration, and their source
 * @file: the file whose path it is, if the kernel has seen one
 * @code_file: that file and its id
 * @path: otherwise the path that is claimed, or NULL
 * @debug_link: and the name in .gnu_debuglink that is claimed, or NULL
 * @build_id: the build-id, from the file or claimed
 * @build_id_len: bytes at @build_id, 0 for none
 */
struct codectl_origin {
	struct file		*file;
	struct code_file	*code_file;
	const char		*path;
	const char		*debug_link;
	const u8		*build_id;
	u32			build_id_len;
};

/**
 * struct codectl_attached - text that a table is attached for
 * @text_start: first byte
 * @text_end: end
 * @offset: offset of the text in the file
 * @id: id of the table
 * @nr_rows: number of rows in the table
 * @bytes: memory that the table takes
 * @file: the file that is mapped
 */
struct codectl_attached {
	unsigned long		text_start;
	unsigned long		text_end;
	u64			offset;
	u64			id;
	unsigned int		nr_rows;
	size_t			bytes;
	struct file		*file;
};

int codectl_get_attached(struct mm_struct *mm, unsigned long addr,
			 struct codectl_attached *attached);

struct codectl_region *codectl_get_next(struct mm_struct *mm,
					unsigned long addr);
void codectl_region_put(struct codectl_region *region);

u64 codectl_sframe_addr(const struct codectl_region *region);
void codectl_fill_query(const struct codectl_region *region,
			struct code_query *query);
bool codectl_get_root(struct task_struct *task, struct path *root);
int codectl_get_origin(struct mm_struct *mm, const struct path *root, bool wait,
		       const struct codectl_region *region,
		       struct code_query *query, struct codectl_origin *origin);
void codectl_put_origin(struct codectl_origin *origin);

#endif /* _LINUX_CODECTL_QUERY_H */

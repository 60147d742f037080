// SPDX-License-Identifier: GPL-2.0
/*
 * What is known of a registration
 *
 * The names are those of the file that the text is mapped from when they are asked for.
 * If that is not one file throughout, they are what somebody claims: the registrant, or
 * what is mapped at the start of the object.  The mapping is locked to take a reference
 * to its file, and unlocked before anything is read from the file.
 */
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/fs_struct.h>
#include <linux/kdev_t.h>
#include <linux/mm.h>
#include <linux/mmap_lock.h>
#include <linux/oom.h>
#include <linux/path.h>
#include <linux/sched/mm.h>
#include <linux/sched/task.h>
#include <linux/string.h>

#include "code_file.h"
#include "frames.h"
#include "query.h"
#include "registry.h"

/*
 * Under the lock of the mappings: is all of the text mapped, with @flags?  If so,
 * stores the file that it is mapped from in one piece, or NULL, and where that would
 * begin.
 */
static bool codectl_text_mapped(struct mm_struct *mm,
				const struct codectl_region *region,
				vm_flags_t flags, struct file **file, u64 *base)
{
	unsigned long start = region->text_start;
	struct vm_area_struct *vma;

	for (; start < region->text_end; start = vma->vm_end) {
		vma = vma_lookup(mm, start);
		if (!vma || (vma->vm_flags & flags) != flags)
			return false;

		if (start == region->text_start) {
			*file = vma->vm_file;
			*base = codectl_vma_base(vma);
		} else if (*file && (!vma->vm_file ||
				     file_inode(vma->vm_file) != file_inode(*file) ||
				     codectl_vma_base(vma) != *base)) {
			*file = NULL;
		}
	}

	return true;
}

/**
 * codectl_note_text() - check a text, and remember which file it is mapped from
 * @mm: the address space
 * @region: a registration, which is in no registry yet
 *
 * What is mapped over the text later has no offset in that file, but still counts as
 * what was there.  If there is a file, no claim is kept.
 *
 * Context: holds the mmap lock of @mm for writing.
 * Return: whether the text is mapped throughout, and executable.  Memory for code that
 * is yet to be compiled need not be executable.
 */
bool codectl_note_text(struct mm_struct *mm, struct codectl_region *region)
{
	bool is_jit = region->tables.is_jit;
	const struct inode *inode;
	struct file *file = NULL;
	u64 base = 0;

	if (!codectl_text_mapped(mm, region, is_jit ? 0 : VM_EXEC, &file, &base))
		return false;
	/* Compiled code is no part of the file that backs its memory. */
	if (is_jit || !file)
		return true;

	inode = file_inode(file);
	region->dev = inode->i_sb->s_dev;
	region->inode_gen = inode->i_generation;
	region->ino = inode->i_ino;
	region->text_offset = region->text_start - base;
	codectl_claim_put(region->claim);
	region->claim = NULL;

	return true;
}

/**
 * codectl_text_file() - get the file that a text is mapped from
 * @mm: the address space
 * @region: the registration
 * @offset: where to store the offset in the file at which the text begins
 *
 * Context: process; may sleep; holds a reference to the users of @mm.
 * Return: the file, for fput(), or NULL if not all of the text is mapped from
 * one file, in one piece.
 */
struct file *codectl_text_file(struct mm_struct *mm,
			       const struct codectl_region *region,
			       u64 *offset)
{
	struct codectl_range range;
	struct file *file;
	u64 base = 0;

	/* Usually it is one mapping, and users of the others need not wait. */
	file = codectl_vma_file(mm, region->text_start, &range);
	if (!file || range.end >= region->text_end) {
		*offset = region->text_start - range.base;
		return file;
	}
	fput(file);

	if (mmap_read_lock_killable(mm))
		return NULL;
	if (!codectl_text_mapped(mm, region, 0, &file, &base))
		file = NULL;
	if (file)
		get_file(file);
	mmap_read_unlock(mm);
	*offset = region->text_start - base;

	return file;
}

/* The inode may be gone, and its memory, but not its number, be another inode's. */
static bool is_of_file(const struct codectl_region *region,
		       const struct file *file)
{
	const struct inode *inode = file_inode(file);

	return region->dev == inode->i_sb->s_dev &&
	       region->ino == inode->i_ino &&
	       region->inode_gen == inode->i_generation;
}

/**
 * codectl_claimed_file() - get the file that a text is said to be from
 * @mm: the address space
 * @region: the registration, whose text is not mapped from a file
 *
 * That at the start of the object, unless the registrant has given a name.  Nothing
 * proves that the text is from there.
 *
 * Context: as codectl_text_file().
 * Return: the file, for fput(), or NULL.
 */
struct file *codectl_claimed_file(struct mm_struct *mm,
				  const struct codectl_region *region)
{
	struct codectl_range range;
	struct file *file;

	if (region->tables.is_jit || region->claim)
		return NULL;

	file = codectl_vma_file(mm, region->elf_start, &range);
	/* Text that was once mapped from a file is not from another one. */
	if (file && region->dev && !is_of_file(region, file)) {
		fput(file);
		return NULL;
	}

	return file;
}

/**
 * codectl_sframe_addr() - get the address that the section of a registration is for
 * @region: the registration
 *
 * Return: as registered; 0 without a section, or for one that is where it belongs.
 */
u64 codectl_sframe_addr(const struct codectl_region *region)
{
	const struct codectl_tables *tables = &region->tables;

	if (tables->is_jit || !tables->sframe.bias)
		return 0;

	return tables->sframe.start + tables->sframe.bias;
}

/**
 * codectl_fill_query() - report what was registered
 * @region: the registration
 * @query: where to store it; what codectl_get_origin() fills in is set to 0
 */
void codectl_fill_query(const struct codectl_region *region,
			struct code_query *query)
{
	const struct codectl_tables *tables = &region->tables;
	struct sframe_section sframe = {};
	struct jit_unwind jit = {};

	if (tables->is_jit)
		jit = tables->jit;
	else
		sframe = tables->sframe;

	query->kind = tables->is_jit ? CODE_REGISTER_JIT : CODE_REGISTER_ELF;
	query->text_start = region->text_start;
	query->text_end = region->text_end;
	query->elf_start = region->elf_start;
	query->elf_end = region->elf_end;
	query->sframe_start = sframe.start;
	query->sframe_end = sframe.end;
	query->unwind_head = jit.head;
	query->seq = jit.seq;
	query->slots = jit.slots;
	query->pool = jit.pool;
	query->pool_len = jit.pool_len;
	query->granule_shift = jit.shift;
	query->jit_flags = jit.flags;
	query->cfa_off = jit.rule.cfa_off;
	query->ra_off = jit.rule.ra_off;
	query->fp_off = jit.rule.fp_off;
	query->info = jit.rule.info;
	query->id = region->gen;

	query->file_id = 0;
	query->inode = 0;
	query->dev_major = 0;
	query->dev_minor = 0;
	query->file_offset = 0;
	query->names = CODE_NAMES_NONE;
	query->debug_link_crc = 0;
}

/* For a file that is only claimed, reports nothing that the kernel has not seen. */
static int codectl_fill_file(const struct path *root, bool wait,
			     const struct codectl_region *region,
			     struct code_query *query,
			     struct codectl_origin *origin)
{
	const struct inode *inode = file_user_inode(origin->file);

	origin->code_file = code_file_get(origin->file, root, wait);
	if (!origin->code_file)
		return -ENOMEM;

	origin->build_id = origin->code_file->build_id;
	origin->build_id_len = origin->code_file->build_id_len;
	if (query->names == CODE_NAMES_VERIFIED)
		query->file_id = origin->code_file->id;
	else if (region->dev)
		query->file_offset = region->text_offset;
	else
		return 0;

	query->dev_major = MAJOR(inode->i_sb->s_dev);
	query->dev_minor = MINOR(inode->i_sb->s_dev);
	query->inode = inode->i_ino;

	return 0;
}

static void codectl_fill_claim(const struct codectl_claim *claim,
			       struct code_query *query,
			       struct codectl_origin *origin)
{
	origin->path = claim->pathname;
	origin->debug_link = claim->debug_link;
	origin->build_id = claim->build_id;
	origin->build_id_len = claim->build_id_len;
	query->debug_link_crc = claim->debug_link_crc;
	query->names = CODE_NAMES_CLAIMED;
}

/**
 * codectl_get_root() - get the root directory of a process
 * @task: the process, or the thread that is meant
 * @root: where to store it, for path_put()
 *
 * Return: whether there is one: a process that has exited has none.
 */
bool codectl_get_root(struct task_struct *task, struct path *root)
{
	struct task_struct *thread;
	bool found;

	scoped_guard(task_lock, task) {
		found = task->real_fs;
		if (found)
			get_fs_root(task->real_fs, root);
	}
	if (found)
		return true;

	/* The first thread may exit before others. */
	thread = find_lock_task_mm(task);
	if (!thread)
		return false;
	found = thread->real_fs;
	if (found)
		get_fs_root(thread->real_fs, root);
	task_unlock(thread);

	return found;
}

/**
 * codectl_get_origin() - get the names of the code of a registration, and their source
 * @mm: the address space
 * @root: root directory of its process, by which files have their ids, or NULL for the
 *	caller's
 * @wait: whether to wait for the file
 * @region: the registration, which has to outlive @origin
 * @query: where to store ids and numbers, after codectl_fill_query()
 * @origin: where to store names, for codectl_put_origin() on success
 *
 * Context: process; may sleep, and wait for the file: no lock held.
 * Return: 0, -ESRCH if the last user of @mm is gone, or -ENOMEM.
 */
int codectl_get_origin(struct mm_struct *mm, const struct path *root, bool wait,
		       const struct codectl_region *region,
		       struct code_query *query, struct codectl_origin *origin)
{
	int ret = 0;

	*origin = (struct codectl_origin) {};
	if (!mmget_not_zero(mm))
		return -ESRCH;
	origin->file = codectl_text_file(mm, region, &query->file_offset);
	if (origin->file) {
		query->names = CODE_NAMES_VERIFIED;
	} else {
		query->file_offset = 0;
		origin->file = codectl_claimed_file(mm, region);
		if (origin->file)
			query->names = CODE_NAMES_CLAIMED;
	}
	mmput(mm);

	if (origin->file) {
		ret = codectl_fill_file(root, wait, region, query, origin);
		if (ret)
			codectl_put_origin(origin);
	} else if (region->claim) {
		codectl_fill_claim(region->claim, query, origin);
	}

	return ret;
}

/**
 * codectl_put_origin() - release what codectl_get_origin() took
 * @origin: what it took
 */
void codectl_put_origin(struct codectl_origin *origin)
{
	code_file_put(origin->code_file);
	if (origin->file)
		fput(origin->file);
}

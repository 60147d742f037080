// SPDX-License-Identifier: GPL-2.0
/*
 * What is known of a registration, for whoever asks
 *
 * Who names the code is found out when it is asked for: the file that is mapped
 * there then, or else the registrant. The mapping is locked to take a reference
 * to its file, and unlocked before anything is read from that.
 */
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/kdev_t.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/string.h>

#include "code_file.h"
#include "frames.h"
#include "query.h"
#include "registry.h"

static struct file *codectl_file_at(struct mm_struct *mm, unsigned long addr,
				    loff_t *offset)
{
	struct codectl_range range;
	struct file *file;

	file = codectl_vma_file(mm, addr, &range);
	*offset = addr - range.base;

	return file;
}

/**
 * codectl_region_file() - the file that the code of a registration is from
 * @mm: the address space
 * @region: the registration
 * @offset: where the offset in the file is stored, of what is mapped at the
 *	start of the text, or at the start of the object
 * @text: where it is stored whether the file is that behind the text
 *
 * The first page decides, of the text and, if no file is behind that, of the
 * object: a registration may be of any size, and be asked for at every frame.
 *
 * Context: process; may sleep; holds a reference to the users of @mm.
 * Return: the file, for fput(), or NULL.
 */
struct file *codectl_region_file(struct mm_struct *mm,
				 const struct codectl_region *region,
				 loff_t *offset, bool *text)
{
	struct file *file;

	*text = true;
	file = codectl_file_at(mm, region->text_start, offset);
	if (file || region->tables.is_jit)
		return file;

	*text = false;

	return codectl_file_at(mm, region->elf_start, offset);
}

/**
 * codectl_fill_query() - what was registered
 * @region: the registration
 * @query: where it is stored; what codectl_get_origin() fills in is set to 0
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

static int codectl_fill_verified(struct mm_struct *mm, struct code_query *query,
				 struct codectl_origin *origin)
{
	const struct inode *inode = file_user_inode(origin->file);

	origin->code_file = code_file_get(origin->file, mm);
	if (!origin->code_file)
		return -ENOMEM;

	origin->build_id = origin->code_file->build_id;
	origin->build_id_len = origin->code_file->build_id_len;
	query->file_id = origin->code_file->id;
	query->dev_major = MAJOR(inode->i_sb->s_dev);
	query->dev_minor = MINOR(inode->i_sb->s_dev);
	query->inode = inode->i_ino;
	query->names = CODE_NAMES_VERIFIED;

	return 0;
}

/**
 * codectl_get_origin() - what the code of a registration is called, and by whom
 * @mm: the address space
 * @region: the registration, which has to outlive @origin
 * @query: where ids and numbers are stored, after codectl_fill_query()
 * @origin: where names are stored, for codectl_put_origin() on success
 *
 * Context: process; may sleep, and wait for the file: no lock held.
 * Return: 0, -ESRCH if the last user of @mm has gone, or -ENOMEM.
 */
int codectl_get_origin(struct mm_struct *mm,
		       const struct codectl_region *region,
		       struct code_query *query, struct codectl_origin *origin)
{
	const struct codectl_claim *claim = region->claim;
	loff_t offset = 0;
	bool text;
	int ret;

	*origin = (struct codectl_origin) {};
	if (!mmget_not_zero(mm))
		return -ESRCH;
	origin->file = codectl_region_file(mm, region, &offset, &text);
	mmput(mm);

	if (origin->file) {
		query->file_offset = offset;
		ret = codectl_fill_verified(mm, query, origin);
		if (ret)
			codectl_put_origin(origin);
		return ret;
	}

	if (claim) {
		origin->path = claim->pathname;
		origin->debug_link = claim->debug_link;
		origin->build_id = claim->build_id;
		origin->build_id_len = claim->build_id_len;
		query->debug_link_crc = claim->debug_link_crc;
		query->names = CODE_NAMES_CLAIMED;
	}

	return 0;
}

/**
 * codectl_put_origin() - give back what codectl_get_origin() took
 * @origin: what it took
 */
void codectl_put_origin(struct codectl_origin *origin)
{
	code_file_put(origin->code_file);
	if (origin->file)
		fput(origin->file);
}

// SPDX-License-Identifier: GPL-2.0
/*
 * Find the attached table that covers an address
 *
 * A table is attached to a file and covers what is mapped from it in any address space,
 * now or later: there is no state per address space, and mappings notify nobody.  The
 * mapping is looked up with the address, in any context, so no lock can be taken.  A
 * trylock would not do, either: fork() holds all mappings locked while it copies them,
 * and stacks of fork() are wanted, too.
 */
#include <linux/codectl_query.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/maple_tree.h>
#include <linux/mm.h>
#include <linux/mmap_lock.h>
#include <linux/rcupdate.h>
#include <linux/sched/mm.h>

#include "attach.h"

/* How often to look at a mapping that keeps changing. */
#define ATTACHED_TRIES	4

/**
 * struct vma_view - snapshot of a mapping
 * @vma: the mapping, to compare only
 * @start: its first address
 * @last: its last address
 * @pgoff: where in @file it starts, in pages
 * @file: the file it maps, or NULL
 * @inode: that of @file
 */
struct vma_view {
	const struct vm_area_struct	*vma;
	unsigned long			start;
	unsigned long			last;
	unsigned long			pgoff;
	struct file			*file;
	const struct inode		*inode;
};

/*
 * Returns 1, 0 where nothing is mapped, and -EAGAIN if the mapping is being changed.
 *
 * Whoever changes the extent of a mapping writes its start, then its offset, then the
 * tree.  This reads them in reverse order, except for the tree, which it reads first
 * and which has to agree with the start.
 */
static int vma_look(struct mm_struct *mm, unsigned long addr,
		    struct vma_view *view)
{
	MA_STATE(mas, &mm->mm_mt, addr, addr);
	struct vm_area_struct *vma = mas_walk(&mas);

	if (!vma)
		return 0;

	view->vma = vma;
	view->start = mas.index;
	view->last = mas.last;
	/* The memory may be another mapping's by now, but it is that of a mapping. */
	view->pgoff = READ_ONCE(vma->vm_pgoff);
	view->file = READ_ONCE(vma->vm_file);
	/* The memory of a closed file may be another file's. */
	view->inode = view->file ? READ_ONCE(view->file->f_inode) : NULL;
	/* The start after the offset: pairs with vma_set_pgoff(). */
	smp_rmb();

	return READ_ONCE(vma->vm_start) == view->start &&
	       READ_ONCE(vma->vm_end) - 1 == view->last &&
	       READ_ONCE(vma->vm_mm) == mm ? 1 : -EAGAIN;
}

static bool vma_same(const struct vma_view *a, const struct vma_view *b)
{
	return a->vma == b->vma && a->start == b->start && a->last == b->last &&
	       a->pgoff == b->pgoff && a->file == b->file && a->inode == b->inode;
}

/*
 * What is seen twice was there at the first look: had the mapping gone in between and
 * its memory become another one's, the second look would see that one as it was when it
 * entered the tree.
 */
static int vma_look_twice(struct mm_struct *mm, unsigned long addr,
			  struct vma_view *view)
{
	struct vma_view again;
	int ret;

	ret = vma_look(mm, addr, view);
	if (ret <= 0)
		return ret;
	/* The whole second look after the first: pairs with vma_set_pgoff(). */
	smp_rmb();
	ret = vma_look(mm, addr, &again);

	return ret == 1 && vma_same(view, &again) ? 1 : -EAGAIN;
}

/* The part of a mapping that a segment covers, if any. */
static bool attached_segment(const struct vma_view *view,
			     const struct code_file_segment *segment,
			     struct attached_text *text)
{
	const u64 map_off = (u64)view->pgoff << PAGE_SHIFT;
	const u64 map_end = map_off + (view->last - view->start) + 1;
	const u64 start = max(map_off, segment->offset);
	const u64 end = min(map_end, segment->offset + segment->len);

	if (start >= end)
		return false;

	text->start = view->start + (start - map_off);
	text->size = end - start;
	text->bias = segment->vaddr - segment->offset + map_off - view->start;

	return true;
}

/* Shrinks the text to what the table covers. */
static void attached_shrink(struct attached_text *text,
			    const struct resident_table *table)
{
	const u64 first = text->start + text->bias, end = first + text->size;
	const u64 start = max(first, table->base);
	const u64 table_end = min(end, table->base + table->size);

	text->table = table;
	text->start += start - first;
	text->size = table_end > start ? table_end - start : 0;
}

static int attached_find(struct mm_struct *mm, unsigned long addr,
			 struct attached_text *text)
{
	const struct codectl_attachment *a;
	struct vma_view view;
	unsigned int i;
	int ret;

	*text = (struct attached_text) {};
	ret = vma_look_twice(mm, addr, &view);
	if (ret <= 0)
		return ret;

	a = view.inode ? codectl_attachment_of(view.inode) : NULL;
	for (i = 0; a && i < a->nr_segments; i++) {
		if (!attached_segment(&view, &a->segments[i], text))
			continue;
		attached_shrink(text, a->table);
		if (addr - text->start < text->size)
			return 1;
	}
	/* In a file with a table, the extent of text without one is unknown. */
	*text = (struct attached_text) {
		.start	= view.start,
		.size	= a ? 0 : view.last - view.start + 1,
	};

	return 0;
}

/**
 * codectl_find_attached() - find the attached table that covers an address
 * @mm: the address space, that of the current task
 * @addr: the address
 * @text: where to store the table and the text around @addr that it is for; if there is
 *	none, the mapping, or nothing
 *
 * Context: any, under RCU, which keeps the table.
 * Return: 1, 0 if there is none, or -EAGAIN if the mapping keeps changing, or is being
 * changed by the code that this interrupted.
 */
int codectl_find_attached(struct mm_struct *mm, unsigned long addr,
			  struct attached_text *text)
{
	unsigned int tries = ATTACHED_TRIES;
	int ret;

	do {
		ret = attached_find(mm, addr, text);
	} while (ret == -EAGAIN && --tries);

	return ret;
}

/* The first text of the mapping that ends after @addr. */
static bool attached_first(const struct vma_view *view, unsigned long addr,
			   struct codectl_attached *attached)
{
	const struct codectl_attachment *a;
	struct attached_text text;
	bool found = false;
	unsigned int i;

	guard(rcu)();
	a = codectl_attachment_of(view->inode);
	for (i = 0; a && i < a->nr_segments; i++) {
		if (!attached_segment(view, &a->segments[i], &text) ||
		    text.start + text.size <= addr ||
		    (found && text.start >= attached->text_start))
			continue;
		found = true;
		attached->text_start = text.start;
		attached->text_end = text.start + text.size;
		attached->offset = ((u64)view->pgoff << PAGE_SHIFT) +
				   (text.start - view->start);
		attached->id = a->id;
		attached->nr_rows = a->table->nr_rows;
		attached->bytes = a->table->bytes;
	}

	return found;
}

static bool attached_next(struct mm_struct *mm, unsigned long addr,
			  struct codectl_attached *attached)
{
	VMA_ITERATOR(vmi, mm, addr);
	struct vm_area_struct *vma;

	for_each_vma(vmi, vma) {
		const struct vma_view view = {
			.start	= vma->vm_start,
			.last	= vma->vm_end - 1,
			.pgoff	= vma->vm_pgoff,
			.file	= vma->vm_file,
			.inode	= vma->vm_file ? file_inode(vma->vm_file) : NULL,
		};

		if (!(vma->vm_flags & VM_EXEC) || !view.inode ||
		    !attached_first(&view, addr, attached))
			continue;
		attached->file = get_file(view.file);
		return true;
	}

	return false;
}

/**
 * codectl_get_attached() - find the next text that has an attached table
 * @mm: the address space
 * @addr: the text ends after this address
 * @attached: where to store what was found; release its file with fput()
 *
 * Context: process; takes the lock of the address space.
 * Return: 1, 0 if there is none, -ESRCH if the address space has no users any more, or
 * -EINTR.
 */
int codectl_get_attached(struct mm_struct *mm, unsigned long addr,
			 struct codectl_attached *attached)
{
	int ret;

	if (!mmget_not_zero(mm))
		return -ESRCH;
	ret = mmap_read_lock_killable(mm);
	if (!ret) {
		ret = attached_next(mm, addr, attached);
		mmap_read_unlock(mm);
	}
	mmput(mm);

	return ret;
}

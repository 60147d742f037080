// SPDX-License-Identifier: GPL-2.0
/*
 * What the addresses of a user stack stand for: an offset in something that has
 * an id
 *
 * In a mapping of a file that is the offset in the file, whether it is registered
 * or not, with the id of the file.  Elsewhere it is the registration that has
 * the id, and says what its offsets count from: no id ever has two units.
 */
#include <linux/bitops.h>
#include <linux/codectl.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/mmap_lock.h>
#include <linux/sched.h>
#include <linux/seq_buf.h>
#include <linux/slab.h>
#include <linux/unwind_user.h>

#include "code_file.h"
#include "frames.h"
#include "granules.h"
#include "query.h"
#include "registry.h"

/**
 * codectl_vma_base() - what to take from an address for an offset in its file
 * @vma: the mapping that it is in, locked
 *
 * Return: that, which may be less than 0.
 */
u64 codectl_vma_base(const struct vm_area_struct *vma)
{
	return vma->vm_start - ((u64)vma->vm_pgoff << PAGE_SHIFT);
}

/* What is mapped; under the lock of the mapping. */
static struct file *codectl_vma_get_file(const struct vm_area_struct *vma,
					 struct codectl_range *range)
{
	range->start = vma->vm_start;
	range->end = vma->vm_end;
	range->base = codectl_vma_base(vma);

	return vma->vm_file ? get_file(vma->vm_file) : NULL;
}

/**
 * codectl_vma_file() - get the file behind an address
 * @mm: the address space
 * @addr: the address
 * @range: where the extent of the mapping is stored, and what to take from an
 *	address for an offset in the file; empty where nothing is mapped
 *
 * Context: process; may sleep.
 * Return: the file, for fput(), or NULL.
 */
struct file *codectl_vma_file(struct mm_struct *mm, unsigned long addr,
			      struct codectl_range *range)
{
	struct vm_area_struct *vma;
	struct file *file = NULL;

	*range = (struct codectl_range) {};
	vma = lock_vma_under_rcu(mm, addr);
	if (vma) {
		file = codectl_vma_get_file(vma, range);
		vma_end_read(vma);
		return file;
	}

	if (mmap_read_lock_killable(mm))
		return NULL;
	vma = vma_lookup(mm, addr);
	if (vma)
		file = codectl_vma_get_file(vma, range);
	mmap_read_unlock(mm);

	return file;
}

/* Keeps what is in both. */
static void codectl_range_clip(struct codectl_range *range, unsigned long start,
			       unsigned long end)
{
	range->start = max(range->start, start);
	range->end = min(range->end, end);
}

/* Keeps what is known to be free of registrations, up to @next or NULL. */
static void codectl_range_clip_free(struct codectl_range *range,
				    unsigned long addr,
				    const struct codectl_region *next)
{
	struct codectl_region *first = codectl_get_next(current->mm,
							range->start);
	unsigned long start = first == next ? range->start : addr;

	codectl_range_clip(range, start, next ? next->text_start : ULONG_MAX);
	if (first)
		codectl_region_put(first);
}

static void codectl_range_use_file(struct codectl_range *range,
				   struct file *file)
{
	range->file = code_file_get(file, current->mm);
	if (range->file)
		range->id = range->file->id;
	else
		range->base = 0;
	fput(file);
}

/* Text that was mapped from a file has its offsets there, whatever is there now. */
static enum codectl_unit codectl_region_unit(const struct codectl_region *region)
{
	if (region->tables.is_jit)
		return CODECTL_UNIT_ADDRESS;

	return region->dev ? CODECTL_UNIT_FILE : CODECTL_UNIT_OBJECT;
}

static u64 codectl_region_base(const struct codectl_region *region)
{
	switch (codectl_region_unit(region)) {
	case CODECTL_UNIT_FILE:
		return region->text_start - region->text_offset;
	case CODECTL_UNIT_OBJECT:
		return region->elf_start;
	default:
		return 0;
	}
}

/* Compiled code, or an object, where no file can be seen behind the address. */
static void codectl_range_use_region(struct codectl_range *range,
				     struct codectl_region *region)
{
	struct file *file = codectl_claimed_file(current->mm, region);

	if (file) {
		range->file = code_file_get(file, current->mm);
		fput(file);
	}
	range->region = region;
	range->base = codectl_region_base(region);
	range->id = region->gen;
}

static void codectl_range_use_vdso(struct codectl_range *range,
				   unsigned long addr)
{
	unsigned long start, end;

	range->base = 0;
	if (!arch_unwind_user_vdso(addr, &start, &end))
		return;

	range->file = code_file_vdso();
	if (range->file) {
		range->base = range->start;
		range->id = range->file->id;
	}
}

/* Takes @region, which covers @addr or is the next one above it, or NULL. */
static void codectl_range_fill(struct codectl_range *range, unsigned long addr,
			       struct codectl_region *region)
{
	bool covered = region && region->text_start <= addr;
	struct file *file;

	file = codectl_vma_file(current->mm, addr, range);
	if (file && !(covered && region->tables.is_jit)) {
		codectl_range_use_file(range, file);
	} else {
		if (file)
			fput(file);
		if (covered)
			codectl_range_use_region(range, region);
		else
			codectl_range_use_vdso(range, addr);
	}

	if (covered)
		codectl_range_clip(range, region->text_start, region->text_end);
	else
		codectl_range_clip_free(range, addr, region);

	if (region && range->region != region)
		codectl_region_put(region);
}

static void codectl_range_put(struct codectl_range *range)
{
	code_file_put(range->file);
	if (range->region)
		codectl_region_put(range->region);
}

static const struct codectl_range *
codectl_stack_find(struct codectl_stack *stack, unsigned long addr)
{
	struct codectl_range *range;
	unsigned int i;

	for (i = 0; i < stack->nr_ranges; i++) {
		range = &stack->ranges[i];
		if (addr >= range->start && addr < range->end)
			return range;
	}

	range = &stack->ranges[stack->nr_ranges++];
	codectl_range_fill(range, addr, codectl_get_next(current->mm, addr));

	return range;
}

/* The owner's number of the function at an address of a region, or 0. */
static u64 codectl_code_id(const struct codectl_region *region,
			   unsigned long addr)
{
	const struct jit_unwind *jit = &region->tables.jit;
	struct codectl_lookup now;
	u64 id;

	if (!region->tables.is_jit || !jit->nr_slots ||
	    jit_find_code_id(jit, addr - region->text_start, &id))
		return 0;

	/* Unregistered meanwhile, the memory of the record may be anybody's. */
	return codectl_find(current->mm, addr, &now) && now.gen == region->gen ?
	       id : 0;
}

static void codectl_stack_add_code(struct codectl_stack *stack,
				   const struct codectl_region *region,
				   unsigned int frame, unsigned long addr)
{
	u64 id = codectl_code_id(region, addr);

	if (id)
		stack->codes[stack->nr_codes++] = (struct codectl_code) {
			.frame = frame, .code_id = id,
		};
}

/**
 * codectl_stack_get() - say what the addresses of a user stack are
 * @trace: the stack, of the current task
 *
 * Reads path and build-id of files that nobody has asked for before, and the numbers
 * of functions in granule maps.
 *
 * Context: process; may sleep, and wait for files: no lock held.
 * Return: the frames, for codectl_stack_put(), or NULL: no memory, or no stack.
 */
struct codectl_stack *codectl_stack_get(const struct unwind_stacktrace *trace)
{
	const struct codectl_range *range;
	struct codectl_stack *stack;
	unsigned long ip, addr;
	unsigned int i;

	if (!trace->nr)
		return NULL;
	stack = kvzalloc(struct_size(stack, frames, trace->nr) +
			 array_size(trace->nr, sizeof(*stack->ranges) +
				    sizeof(*stack->codes)),
			 GFP_KERNEL);
	if (!stack)
		return NULL;
	stack->ranges = (void *)&stack->frames[trace->nr];
	stack->codes = (void *)&stack->ranges[trace->nr];

	for (i = 0; i < trace->nr; i++) {
		ip = trace->entries[i];
		/* A return address may lie after the code that it is of. */
		addr = ip - !test_bit(i, trace->exact);
		range = codectl_stack_find(stack, addr);
		stack->frames[i].offset = ip - range->base;
		stack->frames[i].id = range->id;
		if (range->region)
			codectl_stack_add_code(stack, range->region, i, addr);
	}

	return stack;
}

/**
 * codectl_stack_put() - give back what codectl_stack_get() returned
 * @stack: it
 */
void codectl_stack_put(struct codectl_stack *stack)
{
	unsigned int i;

	if (!stack)
		return;

	for (i = 0; i < stack->nr_ranges; i++)
		codectl_range_put(&stack->ranges[i]);
	kvfree(stack);
}

/* @cf: what codectl_claimed_file() has found, or NULL. */
static void codectl_region_names(const struct codectl_region *region,
				 const struct code_file *cf,
				 struct codectl_names *names)
{
	const struct codectl_claim *claim = region->claim;

	if (cf) {
		code_file_names(cf, names);
		names->names = CODE_NAMES_CLAIMED;
		if (!region->dev) {
			names->dev = 0;
			names->ino = 0;
		}
	}
	names->id = 0;
	names->unit = codectl_region_unit(region);
	if (region->tables.is_jit)
		strscpy(names->path, "[jit]");
	if (!claim)
		return;

	names->names = CODE_NAMES_CLAIMED;
	names->build_id_len = claim->build_id_len;
	memcpy(names->build_id, claim->build_id, claim->build_id_len);
	if (claim->pathname)
		code_path_escape(names->path, sizeof(names->path),
				 claim->pathname);
}

/**
 * codectl_range_names() - what the id of a range stands for
 * @range: the range; its id is not 0
 * @names: where it is stored
 *
 * Context: any.
 */
void codectl_range_names(const struct codectl_range *range,
			 struct codectl_names *names)
{
	*names = (struct codectl_names) {};
	if (range->region)
		codectl_region_names(range->region, range->file, names);
	else
		code_file_names(range->file, names);
	names->id = range->id;
}

/**
 * codectl_id_print() - print what the id of a file stands for
 * @sb: where to
 * @id: the id
 *
 * Context: any.
 * Return: 0, or -ENOENT where there is no such file in memory.
 */
int codectl_id_print(struct seq_buf *sb, u64 id)
{
	const struct code_file *file;

	guard(rcu)();
	file = code_file_by_id(id);
	if (!file)
		return -ENOENT;

	seq_buf_printf(sb, "path=%s build_id=%*phN", file->path,
		       file->build_id_len, file->build_id);

	return 0;
}

/**
 * codectl_describe() - say what a registration is of
 * @mm: the address space that it is in
 * @region: the registration
 * @names: where path and build-id are stored; the id is that of the file if it
 *	is verified, or 0
 *
 * Context: process; may sleep, and wait for the file.
 */
void codectl_describe(struct mm_struct *mm, const struct codectl_region *region,
		      struct codectl_names *names)
{
	struct code_file *cf = NULL;
	struct file *file;
	bool verified;
	u64 offset;

	*names = (struct codectl_names) {};
	file = codectl_text_file(mm, region, &offset);
	verified = file;
	if (!file)
		file = codectl_claimed_file(mm, region);
	if (file) {
		cf = code_file_get(file, mm);
		fput(file);
	}
	if (cf && verified)
		code_file_names(cf, names);
	else
		codectl_region_names(region, cf, names);
	code_file_put(cf);
}

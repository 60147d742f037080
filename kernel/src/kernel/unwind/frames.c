// SPDX-License-Identifier: GPL-2.0
/*
 * What the addresses of a user stack stand for: an offset in something that has an id
 *
 * In a mapping of a file that is the offset in the file, registered or not, and the id
 * of the file.  Elsewhere the registration has the id, and says what its offsets count
 * from: no id ever has two units.
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
 * codectl_vma_base() - what to subtract from an address for its offset in the file
 * @vma: the mapping that it is in, locked
 *
 * Return: that, which may be negative.
 */
u64 codectl_vma_base(const struct vm_area_struct *vma)
{
	return vma->vm_start - ((u64)vma->vm_pgoff << PAGE_SHIFT);
}

/* Under the lock of the mapping. */
static void codectl_vma_extent(const struct vm_area_struct *vma,
			       struct codectl_range *range)
{
	range->start = vma->vm_start;
	range->end = vma->vm_end;
	range->base = codectl_vma_base(vma);
}

static struct file *codectl_vma_get_file(const struct vm_area_struct *vma,
					 struct codectl_range *range)
{
	codectl_vma_extent(vma, range);

	return vma->vm_file ? get_file(vma->vm_file) : NULL;
}

/**
 * codectl_vma_file() - get the file mapped at an address
 * @mm: the address space
 * @addr: the address
 * @range: where to store the extent of the mapping, and what to subtract from an
 *	address for its offset in the file; empty where nothing is mapped
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

/* Keeps the intersection. */
static void codectl_range_clip(struct codectl_range *range, unsigned long start,
			       unsigned long end)
{
	range->start = max(range->start, start);
	range->end = min(range->end, end);
}

/* Keeps what is known to have no registrations, up to @next, which may be NULL. */
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

/* Waits for the file: if it never answers, neither does the text of its owner. */
static u64 codectl_file_id(struct file *file, char *buf)
{
	u64 id = code_file_find_id(file, buf);
	struct code_file *cf;

	if (id)
		return id;
	cf = code_file_get(file, NULL, true);
	if (cf)
		id = cf->id;
	code_file_put(cf);

	return id;
}

static void codectl_range_use_file(struct codectl_range *range,
				   struct file *file, char *buf)
{
	range->id = codectl_file_id(file, buf);
	range->file_id = range->id;
	if (!range->id)
		range->base = 0;
	fput(file);
}

/* Text that was mapped from a file counts offsets there, whatever is there now. */
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

/* For compiled code, or an object where the address shows no file. */
static void codectl_range_use_region(struct codectl_range *range,
				     struct codectl_region *region, char *buf)
{
	struct file *file = codectl_claimed_file(current->mm, region);

	if (file) {
		range->file_id = codectl_file_id(file, buf);
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

	range->id = code_file_vdso_id();
	range->file_id = range->id;
	if (range->id)
		range->base = range->start;
}

/* Locks the mapping; returns false if the file has no id yet. */
static bool codectl_range_use_vma(struct codectl_range *range,
				  unsigned long addr, char *buf)
{
	struct vm_area_struct *vma = lock_vma_under_rcu(current->mm, addr);

	if (!vma)
		return false;

	if (vma->vm_file)
		range->id = code_file_find_id(vma->vm_file, buf);
	if (range->id) {
		range->file_id = range->id;
		codectl_vma_extent(vma, range);
	}
	vma_end_read(vma);

	return range->id;
}

/*
 * If the file already has an id, which is nearly always so, nothing that other
 * processes use is written to: no reference to the file, nor to a registration, which
 * fork() shares.
 */
static bool codectl_range_use_known(struct codectl_range *range,
				    unsigned long addr, char *buf)
{
	u64 gen = codectl_generation(current->mm);
	struct codectl_lookup found = {};
	bool covered = gen && codectl_find(current->mm, addr, &found);

	/* It is compiled code, or nobody can tell. */
	if (covered && (found.tables.is_jit || !found.gen))
		return false;
	if (!codectl_range_use_vma(range, addr, buf))
		return false;

	if (covered)
		codectl_range_clip(range, found.text_start, found.text_end);
	else if (gen && !codectl_find_gap(current->mm, gen, addr, &range->start,
					  &range->end))
		codectl_range_clip(range, addr, addr + 1);

	return true;
}

/* Takes a reference to the file, and waits for it. */
static void codectl_range_use_mapped(struct codectl_range *range,
				     unsigned long addr,
				     struct codectl_region *region, char *buf)
{
	struct file *file = codectl_vma_file(current->mm, addr, range);

	if (file && !(region && region->tables.is_jit)) {
		codectl_range_use_file(range, file, buf);
		return;
	}

	if (file)
		fput(file);
	if (region)
		codectl_range_use_region(range, region, buf);
	else
		codectl_range_use_vdso(range, addr);
}

static void codectl_range_fill(struct codectl_range *range, unsigned long addr,
			       char *buf)
{
	struct codectl_region *region;
	bool covered;

	*range = (struct codectl_range) {};
	if (codectl_range_use_known(range, addr, buf))
		return;

	region = codectl_get_next(current->mm, addr);
	covered = region && region->text_start <= addr;
	codectl_range_use_mapped(range, addr, covered ? region : NULL, buf);
	if (covered)
		codectl_range_clip(range, region->text_start, region->text_end);
	else
		codectl_range_clip_free(range, addr, region);

	if (region && range->region != region)
		codectl_region_put(region);
}

static const struct codectl_range *
codectl_stack_find(struct codectl_stack *stack, unsigned long addr, char *buf)
{
	struct codectl_range *range;
	unsigned int i;

	for (i = 0; i < stack->nr_ranges; i++) {
		range = &stack->ranges[i];
		if (addr >= range->start && addr < range->end)
			return range;
	}

	range = &stack->ranges[stack->nr_ranges++];
	codectl_range_fill(range, addr, buf);

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

	/* If it was unregistered meanwhile, the memory of the record may be anybody's. */
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

/* The addresses of @trace, with @buf for paths. */
static void codectl_stack_fill(struct codectl_stack *stack,
			       const struct unwind_stacktrace *trace, char *buf)
{
	const struct codectl_range *range;
	unsigned long ip, addr;
	unsigned int i;

	for (i = 0; i < trace->nr; i++) {
		ip = trace->entries[i];
		/* A return address may be after the code that it belongs to. */
		addr = ip - !test_bit(i, trace->exact);
		range = codectl_stack_find(stack, addr, buf);
		stack->frames[i].offset = ip - range->base;
		stack->frames[i].id = range->id;
		if (range->region)
			codectl_stack_add_code(stack, range->region, i, addr);
	}
}

/**
 * codectl_stack_get() - describe the addresses of a user stack
 * @trace: the stack, of the current task
 *
 * Reads path and build-id of files that nobody has asked for before, and the numbers of
 * functions in granule maps.
 *
 * Context: process; may sleep, and wait for files: no lock held.
 * Return: the frames, for codectl_stack_put(), or NULL if there is no memory, or no
 * stack.
 */
struct codectl_stack *codectl_stack_get(const struct unwind_stacktrace *trace)
{
	char *buf __free(kfree) = NULL;
	struct codectl_stack *stack;

	if (!trace->nr)
		return NULL;
	buf = kmalloc(CODE_PATH_BUF_SIZE, GFP_KERNEL);
	if (!buf)
		return NULL;
	stack = kvmalloc(struct_size(stack, frames, trace->nr) +
			 array_size(trace->nr, sizeof(*stack->ranges) +
				    sizeof(*stack->codes)),
			 GFP_KERNEL);
	if (!stack)
		return NULL;
	stack->nr_ranges = 0;
	stack->nr_codes = 0;
	stack->ranges = (void *)&stack->frames[trace->nr];
	stack->codes = (void *)&stack->ranges[trace->nr];
	codectl_stack_fill(stack, trace, buf);

	return stack;
}

/**
 * codectl_stack_put() - release what codectl_stack_get() returned
 * @stack: the stack
 */
void codectl_stack_put(struct codectl_stack *stack)
{
	unsigned int i;

	if (!stack)
		return;

	for (i = 0; i < stack->nr_ranges; i++) {
		if (stack->ranges[i].region)
			codectl_region_put(stack->ranges[i].region);
	}
	kvfree(stack);
}

/* @names: the names of the file that codectl_claimed_file() has found, or nothing. */
static void codectl_region_names(const struct codectl_region *region,
				 struct codectl_names *names)
{
	const struct codectl_claim *claim = region->claim;

	if (names->names)
		names->names = CODE_NAMES_CLAIMED;
	if (!region->dev) {
		names->dev = 0;
		names->ino = 0;
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
 * @names: where to store it
 *
 * Context: any.
 * Return: whether that is known: not if the file was dropped from memory.
 */
bool codectl_range_names(const struct codectl_range *range,
			 struct codectl_names *names)
{
	bool found = range->region;

	*names = (struct codectl_names) { .unit = CODECTL_UNIT_FILE };
	if (range->file_id)
		found |= code_file_names_of(range->file_id, names);
	if (range->region)
		codectl_region_names(range->region, names);
	names->id = range->id;

	return found;
}

/**
 * codectl_own_names() - what the id of a registration stands for
 * @region: the registration
 * @names: what codectl_describe() found, updated
 *
 * Context: any.
 * Return: whether frames in its text have that id, and there is something to tell: not
 * if they have the id of a file.
 */
bool codectl_own_names(const struct codectl_region *region,
		       struct codectl_names *names)
{
	const struct codectl_range range = {
		.id	= region->gen,
		.region	= (struct codectl_region *)region,
	};

	if (region->tables.is_jit)
		return codectl_range_names(&range, names);
	names->id = region->gen;

	return names->names == CODE_NAMES_CLAIMED;
}

/**
 * codectl_id_print() - print what the id of a file stands for
 * @sb: where to print it
 * @id: the id
 *
 * Context: any.
 * Return: 0, or -ENOENT if no such file is in memory.
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
 * codectl_describe() - find the names of a registration
 * @mm: the address space that it is in
 * @root: root directory of its process, or NULL for the caller's
 * @region: the registration
 * @names: where to store path and build-id; the id is that of the file if it is
 *	verified, or 0
 *
 * Context: process; may sleep, and wait for the file if it is the caller's own.
 */
void codectl_describe(struct mm_struct *mm, const struct path *root,
		      const struct codectl_region *region,
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
		cf = code_file_get(file, root, mm == current->mm);
		fput(file);
	}
	if (cf)
		code_file_names(cf, names);
	if (!cf || !verified)
		codectl_region_names(region, names);
	code_file_put(cf);
}

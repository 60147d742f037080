/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _LINUX_CODECTL_H
#define _LINUX_CODECTL_H

#include <linux/buildid.h>
#include <linux/compiler.h>
#include <linux/lockdep.h>
#include <linux/mm_types.h>
#include <linux/rcupdate.h>
#include <uapi/linux/codectl.h>

struct code_file;
struct codectl_region;
struct elf64_phdr;
struct seq_buf;
struct unwind_stacktrace;

/* Bytes of a path in the trace, escaped and with its NUL. */
#define CODECTL_PATH_MAX	2048

/**
 * enum codectl_unit - what the offsets of frames with an id count
 * @CODECTL_UNIT_ADDRESS: the addresses themselves
 * @CODECTL_UNIT_FILE: offsets in the file
 * @CODECTL_UNIT_OBJECT: offsets from the start of the object in memory
 *
 * The trace uses these numbers and names.
 */
enum codectl_unit {
	CODECTL_UNIT_ADDRESS,
	CODECTL_UNIT_FILE,
	CODECTL_UNIT_OBJECT,
};

/**
 * struct codectl_range - where a run of addresses comes from
 * @start: first address
 * @end: end of the addresses
 * @base: what to subtract from an address for its offset in what @id stands for
 * @id: of a file or a registration, or 0
 * @file_id: of the file, or 0; with @region, of the file that it is claimed to be from
 * @region: the registration, with a reference, if the id is that of one
 */
struct codectl_range {
	unsigned long		start;
	unsigned long		end;
	u64			base;
	u64			id;
	u64			file_id;
	struct codectl_region	*region;
};

/**
 * struct codectl_frame - an address of a user stack
 * @offset: in what @id stands for, or the address itself
 * @id: of a file or a registration; 0 if unknown
 */
struct codectl_frame {
	u64			offset;
	u64			id;
};

/**
 * struct codectl_code - a function of compiled code that a frame is in
 * @frame: number of the frame
 * @code_id: what its record in a granule map says; not 0
 */
struct codectl_code {
	u64			frame;
	u64			code_id;
};

/**
 * struct codectl_stack - the frames of a user stack
 * @nr_ranges: entries in @ranges
 * @nr_codes: entries in @codes
 * @ranges: where the frames come from, at most one for each
 * @codes: by their frames; at most one for each
 * @frames: one for each address of the stack
 */
struct codectl_stack {
	unsigned int		nr_ranges;
	unsigned int		nr_codes;
	struct codectl_range	*ranges;
	struct codectl_code	*codes;
	struct codectl_frame	frames[];
};

/**
 * struct codectl_names - what an id stands for
 * @id: the id
 * @ino: inode number, as in /proc/PID/maps; 0 without a file
 * @dev: device of the inode
 * @names: who says so, CODE_NAMES_*
 * @unit: what offsets with that id count
 * @build_id_len: bytes in @build_id, 0 for none
 * @build_id: the build-id
 * @path: the path, escaped
 */
struct codectl_names {
	u64		id;
	u64		ino;
	dev_t		dev;
	u32		names;
	enum codectl_unit unit;
	u32		build_id_len;
	u8		build_id[BUILD_ID_SIZE_MAX];
	char		path[CODECTL_PATH_MAX];
};

typedef void (*codectl_names_func_t)(const struct codectl_names *names,
				     void *data);
/* The event task_waited leaves out shorter waits. */
extern u64 codectl_wait_min_us;

typedef void (*codectl_replay_func_t)(pid_t pid,
				      const struct codectl_region *region,
				      struct codectl_names *names, void *data);

#ifdef CONFIG_CODECTL

extern unsigned int codectl_nr_attached;

void __codectl_dup_mmap(struct mm_struct *mm, struct codectl_registry *reg);
void __codectl_unmap(struct mm_struct *mm, unsigned long start,
		     unsigned long end, bool replaced);
void __codectl_link_shared(const struct address_space *mapping);
void __codectl_mm_exit(struct mm_struct *mm);
void __codectl_rules_exit(struct mm_struct *mm);
void codectl_exec_elf(const struct elf64_phdr *phdr, unsigned int phnum,
		      unsigned long bias);
struct codectl_stack *codectl_stack_get(const struct unwind_stacktrace *trace);
void codectl_stack_put(struct codectl_stack *stack);
bool codectl_range_names(const struct codectl_range *range,
			 struct codectl_names *names);
int codectl_id_print(struct seq_buf *sb, u64 id);
void codectl_walk_files(codectl_names_func_t func, void *data);
bool codectl_own_names(const struct codectl_region *region,
		       struct codectl_names *names);
int codectl_replay(codectl_replay_func_t func, void *data);
void codectl_keep_ids(void);
void codectl_drop_ids(void);

/* fork() copies the whole mm_struct: until here the pointers are the parent's. */
static inline void codectl_mm_init(struct mm_struct *mm)
{
	RCU_INIT_POINTER(mm->codectl, NULL);
	RCU_INIT_POINTER(mm->unwind_rules, NULL);
}

/* Under the mmap locks of both. */
static inline void codectl_dup_mmap(struct mm_struct *mm,
				    struct mm_struct *oldmm)
{
	struct codectl_registry *reg =
		rcu_dereference_protected(oldmm->codectl,
					  lockdep_is_held(&oldmm->mmap_lock));

	if (unlikely(reg))
		__codectl_dup_mmap(mm, reg);
}

/**
 * codectl_unmap() - a range stops being mapped as it was
 * @mm: the address space
 * @start: first byte that is no longer mapped, or mapped elsewhere
 * @end: end of the range, which may be empty
 * @replaced: something else is mapped over it in the same operation
 *
 * Called when the change can no longer fail.  Drops code of which a page stops being
 * mapped; where it is replaced, notes that ELF objects may be others.
 *
 * Context: holds the mmap lock of @mm for writing; may sleep; cannot fail.
 */
static inline void codectl_unmap(struct mm_struct *mm, unsigned long start,
				 unsigned long end, bool replaced)
{
	if (unlikely(rcu_access_pointer(mm->codectl)))
		__codectl_unmap(mm, start, end, replaced);
}

/* As codectl_unmap(), with nothing mapped over the range. */
static inline void codectl_munmap(struct mm_struct *mm, unsigned long start,
				  unsigned long end)
{
	codectl_unmap(mm, start, end, false);
}

/**
 * codectl_link_shared() - a file is mapped so that it can be written to
 * @mapping: the mapping of the file
 *
 * A write through a mapping is reported to nobody, by some file systems not even to the
 * inode: a table that is attached to the file is lost.
 *
 * Context: any that may not sleep, after mapping_allow_writable() has counted the
 * mapping.
 */
static inline void codectl_link_shared(const struct address_space *mapping)
{
	/* The count before the look: pairs with attach_watch(). */
	smp_mb__after_atomic();
	if (unlikely(READ_ONCE(codectl_nr_attached)))
		__codectl_link_shared(mapping);
}

/* The last user of the address space is gone. */
static inline void codectl_mm_exit(struct mm_struct *mm)
{
	if (unlikely(rcu_access_pointer(mm->codectl)))
		__codectl_mm_exit(mm);
	if (unlikely(rcu_access_pointer(mm->unwind_rules)))
		__codectl_rules_exit(mm);
}

#else /* !CONFIG_CODECTL */

static inline void codectl_mm_init(struct mm_struct *mm) {}
static inline void codectl_dup_mmap(struct mm_struct *mm,
				    struct mm_struct *oldmm) {}
static inline void codectl_unmap(struct mm_struct *mm, unsigned long start,
				 unsigned long end, bool replaced) {}
static inline void codectl_munmap(struct mm_struct *mm, unsigned long start,
				  unsigned long end) {}
static inline void codectl_link_shared(const struct address_space *mapping) {}
static inline void codectl_mm_exit(struct mm_struct *mm) {}

static inline struct codectl_stack *
codectl_stack_get(const struct unwind_stacktrace *trace)
{
	return NULL;
}

static inline void codectl_stack_put(struct codectl_stack *stack) {}

#endif /* CONFIG_CODECTL */

#endif /* _LINUX_CODECTL_H */

/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _UNWIND_REGISTRY_H
#define _UNWIND_REGISTRY_H

#include <linux/buildid.h>
#include <linux/mm_types.h>
#include <linux/rbtree_types.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <linux/seqlock_types.h>
#include <linux/sizes.h>
#include <linux/types.h>
#include <linux/workqueue.h>
#include <uapi/linux/codectl.h>

#include "jit.h"
#include "sframe.h"

/**
 * struct codectl_claim - what the registrant says about its text
 * @ref: number of copies of the registration that have it
 * @bytes: memory that it takes
 * @debug_link_crc: CRC-32 of the .gnu_debuglink section
 * @build_id_len: bytes in @build_id
 * @build_id: the build-id
 * @pathname: path of the file, or NULL
 * @debug_link: name in .gnu_debuglink, or NULL
 *
 * None of it has been checked.
 */
struct codectl_claim {
	refcount_t	ref;
	u32		bytes;
	u32		debug_link_crc;
	u8		build_id_len;
	u8		build_id[BUILD_ID_SIZE_MAX];
	char		*pathname;
	char		*debug_link;
};

/**
 * struct codectl_tables - the unwind tables of a registration
 * @is_jit: whether they are those of compiled code
 * @sframe: if not, an SFrame section: @sframe.start == @sframe.end if there is none,
 *	@sframe.fdes == 0 until the header has been read
 * @jit: if so, rows and a default rule
 */
struct codectl_tables {
	bool				is_jit;
	union {
		struct sframe_section	sframe;
		struct jit_unwind	jit;
	};
};

/**
 * struct codectl_region - one registration
 * @node: in the tree of its registry
 * @text_start: first byte of the text; with @text_end the key
 * @text_end: end of the text
 * @gen: value of the global counter when it was registered
 * @tables: its tables
 * @ref: references by its registry and by callers
 * @mapped_over: something was mapped over its text; under the lock of its registry
 * @elf_start: first byte of the object
 * @elf_end: end of the object
 * @dev: device of the file that all of the text was mapped from when it was
 *	registered, or 0
 * @inode_gen: generation of its inode
 * @ino: number of its inode
 * @text_offset: offset in that file at which the text begins
 * @claim: what was claimed about it, or NULL
 * @rcu: defers freeing until no lookup reads it
 *
 * Only @node, @ref and @mapped_over change once it is in a registry, and it is never in
 * another one.
 */
struct codectl_region {
	struct rb_node		node;
	unsigned long		text_start;
	unsigned long		text_end;
	u64			gen;
	struct codectl_tables	tables;
	refcount_t		ref;
	bool			mapped_over;
	unsigned long		elf_start;
	unsigned long		elf_end;
	dev_t			dev;
	u32			inode_gen;
	u64			ino;
	u64			text_offset;
	struct codectl_claim	*claim;
	struct rcu_head		rcu;
};

#define codectl_entry(n)	rb_entry(n, struct codectl_region, node)

/* Memory for all claims of an address space, which unwinding does not need. */
#define CODECTL_CLAIM_BYTES	SZ_256K

/**
 * struct codectl_registry - the registrations of an address space
 * @gen: value of the global counter when it last changed
 * @tree: the registrations, by text
 * @seq: odd while nodes of @tree are moved, so that a search may miss others
 * @ref: number of address spaces that have it
 * @nr: number of registrations in it
 * @claim_bytes: memory that their claims take
 * @exclusive: this registry was never that of another address space
 * @free_work: frees it after a grace period
 */
struct codectl_registry {
	u64			gen;
	struct rb_root		tree;
	seqcount_t		seq;
	refcount_t		ref;
	unsigned int		nr;
	unsigned int		claim_bytes;
	bool			exclusive;
	struct rcu_work		free_work;
};

/**
 * struct codectl_lookup - a registration as a lookup saw it
 * @text_start: first byte of the text
 * @text_end: end of the text
 * @gen: generation of the registration
 * @registry_gen: generation of the registry, sampled before it was searched
 * @tables: tables of the registration
 */
struct codectl_lookup {
	unsigned long		text_start;
	unsigned long		text_end;
	u64			gen;
	u64			registry_gen;
	struct codectl_tables	tables;
};

struct codectl_region *codectl_region_alloc(void);
void codectl_region_put(struct codectl_region *region);
void codectl_claim_put(struct codectl_claim *claim);
struct codectl_region *codectl_search(const struct codectl_registry *reg,
				      unsigned long addr);
struct codectl_region *codectl_search_from(const struct codectl_registry *reg,
					   unsigned long addr);

int codectl_insert(struct mm_struct *mm, struct codectl_region *region,
		   unsigned int max);
int codectl_erase(struct mm_struct *mm, unsigned long start, unsigned long end);
u64 codectl_next_id(void);
u64 codectl_generation(struct mm_struct *mm);
struct codectl_region *codectl_get_next(struct mm_struct *mm,
					unsigned long addr);
bool codectl_find(struct mm_struct *mm, unsigned long ip,
		  struct codectl_lookup *lookup);
bool codectl_find_gap(struct mm_struct *mm, u64 gen, unsigned long addr,
		      unsigned long *start, unsigned long *end);
bool codectl_remains(struct mm_struct *mm, const struct codectl_lookup *lookup);

/**
 * codectl_valid() - has a registration been there until now?
 * @mm: the address space
 * @lookup: what codectl_find() found
 *
 * If so, everything that was read from its tables since codectl_find() belonged to it.
 *
 * Context: as codectl_find().
 * Return: whether it has.
 */
static __always_inline bool codectl_valid(struct mm_struct *mm,
					  const struct codectl_lookup *lookup)
{
	const struct codectl_registry *reg;

	/* Table reads before the generation; see codectl_registry_changed(). */
	smp_rmb();
	scoped_guard(rcu) {
		reg = rcu_dereference(mm->codectl);
		if (likely(reg && READ_ONCE(reg->gen) == lookup->registry_gen))
			return true;
	}

	return codectl_remains(mm, lookup);
}

#endif /* _UNWIND_REGISTRY_H */

// SPDX-License-Identifier: GPL-2.0
/*
 * Registry of the code in an address space
 *
 * mm->codectl points to a tree of registrations, ordered by text range, or is NULL if
 * nothing is registered.
 *
 * Writers hold the mmap lock for writing: registering, unregistering and mapping
 * changes exclude one another.  fork() lets the child share the registry of its parent.
 * A shared registry does not change: whoever wants to change it replaces it, in its own
 * address space, by a copy.  Only the holder of the mmap lock of an address space can
 * turn a registry that this address space has for itself into a shared one, so a
 * reference count of 1 seen under that lock is final.
 *
 * Lookups search under RCU, while a writer moves nodes: see lookup.c.
 *
 * Generations come from one counter for all address spaces, so that no registry and no
 * registration ever has the generation of another; but copies of a registration have
 * that of the original.
 */
#include <linux/codectl.h>
#include <linux/mm.h>
#include <linux/rbtree.h>
#include <linux/sched.h>
#include <linux/seqlock.h>
#include <linux/slab.h>
#include <linux/unwind_deferred.h>
#include <linux/workqueue.h>

#include "registry.h"

#include <trace/events/codectl.h>

static atomic64_t codectl_gen = ATOMIC64_INIT(0);
static struct kmem_cache *codectl_region_cachep __ro_after_init;

/**
 * codectl_next_id() - get a number that nothing else gets
 *
 * Tells registries, registrations and files apart.
 *
 * Return: the number, greater than all before.
 */
u64 codectl_next_id(void)
{
	return atomic64_inc_return(&codectl_gen);
}

struct codectl_region *codectl_region_alloc(void)
{
	struct codectl_region *region;

	region = kmem_cache_zalloc(codectl_region_cachep, GFP_KERNEL_ACCOUNT);
	if (region)
		refcount_set(&region->ref, 1);

	return region;
}

void codectl_claim_put(struct codectl_claim *claim)
{
	if (!claim || !refcount_dec_and_test(&claim->ref))
		return;

	kfree(claim->pathname);
	kfree(claim->debug_link);
	kfree(claim);
}

void codectl_region_put(struct codectl_region *region)
{
	if (!refcount_dec_and_test(&region->ref))
		return;

	/* Lookups do not read the claim. */
	codectl_claim_put(region->claim);
	kfree_rcu(region, rcu);
}

/* As codectl_region_put(), when no lookup can find it any more. */
static void codectl_region_put_now(struct codectl_region *region)
{
	if (!refcount_dec_and_test(&region->ref))
		return;

	codectl_claim_put(region->claim);
	kmem_cache_free(codectl_region_cachep, region);
}

static struct codectl_region *
codectl_region_copy(const struct codectl_region *old, gfp_t gfp)
{
	struct codectl_region *region;

	region = kmem_cache_alloc(codectl_region_cachep, gfp);
	if (!region)
		return NULL;

	refcount_set(&region->ref, 1);
	region->text_start = old->text_start;
	region->text_end = old->text_end;
	region->gen = old->gen;
	region->tables = old->tables;
	region->mapped_over = old->mapped_over;
	region->elf_start = old->elf_start;
	region->elf_end = old->elf_end;
	region->dev = old->dev;
	region->inode_gen = old->inode_gen;
	region->ino = old->ino;
	region->text_offset = old->text_offset;
	region->claim = old->claim;
	if (region->claim)
		refcount_inc(&region->claim->ref);

	return region;
}

/* Nobody searches the tree any more. */
static void codectl_registry_free(struct codectl_registry *reg)
{
	struct codectl_region *region, *next;

	rbtree_postorder_for_each_entry_safe(region, next, &reg->tree, node) {
		codectl_region_put_now(region);
		cond_resched();
	}
	kfree(reg);
}

/* Runs after a grace period. */
static void codectl_registry_free_work(struct work_struct *work)
{
	codectl_registry_free(container_of(to_rcu_work(work),
					   struct codectl_registry, free_work));
}

static struct codectl_registry *codectl_registry_alloc(gfp_t gfp)
{
	struct codectl_registry *reg;

	reg = kzalloc_obj(*reg, gfp);
	if (!reg)
		return NULL;

	seqcount_init(&reg->seq);
	refcount_set(&reg->ref, 1);
	reg->gen = codectl_next_id();
	reg->exclusive = true;
	INIT_RCU_WORK(&reg->free_work, codectl_registry_free_work);

	return reg;
}

static void codectl_registry_put(struct codectl_registry *reg)
{
	if (refcount_dec_and_test(&reg->ref))
		queue_rcu_work(system_dfl_wq, &reg->free_work);
}

/* Copies the registrations of a registry into one that nobody else has seen yet. */
static bool codectl_copy_regions(struct codectl_registry *reg,
				 const struct codectl_registry *old, gfp_t gfp)
{
	struct rb_node *node, *last = NULL;
	struct codectl_region *region;

	for (node = rb_first(&old->tree); node; node = rb_next(node)) {
		region = codectl_region_copy(codectl_entry(node), gfp);
		if (!region)
			return false;
		rb_link_node(&region->node, last,
			     last ? &last->rb_right : &reg->tree.rb_node);
		rb_insert_color(&region->node, &reg->tree);
		last = &region->node;
		cond_resched();
	}
	reg->nr = old->nr;
	reg->claim_bytes = old->claim_bytes;

	return true;
}

static struct codectl_registry *
codectl_registry_copy(const struct codectl_registry *old, gfp_t gfp)
{
	struct codectl_registry *reg = codectl_registry_alloc(gfp);

	if (reg && !codectl_copy_regions(reg, old, gfp)) {
		codectl_registry_free(reg);
		return NULL;
	}

	return reg;
}

static struct codectl_registry *codectl_registry_locked(struct mm_struct *mm)
{
	mmap_assert_write_locked(mm);

	return rcu_dereference_protected(mm->codectl,
					 lockdep_is_held(&mm->mmap_lock));
}

/* The registry of @mm for changing; NULL if there is no memory for it. */
static struct codectl_registry *codectl_registry_own(struct mm_struct *mm,
						     gfp_t gfp)
{
	struct codectl_registry *old = codectl_registry_locked(mm);
	struct codectl_registry *reg;

	/* After the release in codectl_registry_put() by whoever had a share. */
	if (old && refcount_read(&old->ref) == 1)
		return old;

	reg = old ? codectl_registry_copy(old, gfp) :
		    codectl_registry_alloc(gfp);
	if (!reg)
		return NULL;

	rcu_assign_pointer(mm->codectl, reg);
	if (old)
		codectl_registry_put(old);

	return reg;
}

static void codectl_registry_drop(struct mm_struct *mm)
{
	struct codectl_registry *reg =
		rcu_replace_pointer(mm->codectl, NULL,
				    lockdep_is_held(&mm->mmap_lock));

	codectl_registry_put(reg);
}

/*
 * As codectl_registry_own(), for changes that cannot be refused any more: the
 * allocations do not fail.  Should one fail all the same, the address space loses its
 * tables: better than to keep one for code that is gone.
 */
static struct codectl_registry *codectl_registry_must_own(struct mm_struct *mm)
{
	struct codectl_registry *reg =
		codectl_registry_own(mm, GFP_KERNEL_ACCOUNT | __GFP_NOFAIL);

	if (!reg)
		codectl_registry_drop(mm);

	return reg;
}

/* After the tree has changed, and before user space can know that it has. */
static void codectl_registry_changed(struct mm_struct *mm,
				     struct codectl_registry *reg)
{
	/* Pairs with smp_load_acquire() in codectl_find(). */
	smp_store_release(&reg->gen, codectl_next_id());
	if (!reg->nr)
		codectl_registry_drop(mm);
	/*
	 * Pairs with smp_rmb() in codectl_valid(): a lookup that has read table
	 * memory which was written after this returned sees the new generation,
	 * or no registry.
	 */
	smp_wmb();
}

/* The first registration with text in a range, or NULL. */
static struct codectl_region *
codectl_first(const struct codectl_registry *reg, unsigned long start,
	      unsigned long end)
{
	struct codectl_region *region = codectl_search_from(reg, start);

	return region && region->text_start < end ? region : NULL;
}

static unsigned int codectl_claim_bytes(const struct codectl_region *region)
{
	return region->claim ? region->claim->bytes : 0;
}

/* Where a registration goes in a tree. */
struct codectl_place {
	struct rb_node	*parent;
	struct rb_node	**link;
};

/* Returns one that it overlaps, or else NULL, with its place in @place. */
static struct codectl_region *
codectl_find_place(struct codectl_registry *reg,
		   const struct codectl_region *region,
		   struct codectl_place *place)
{
	struct rb_node *parent = NULL, **link = &reg->tree.rb_node;
	struct codectl_region *at;

	while (*link) {
		parent = *link;
		at = codectl_entry(parent);
		if (region->text_end <= at->text_start)
			link = &parent->rb_left;
		else if (region->text_start >= at->text_end)
			link = &parent->rb_right;
		else
			return at;
	}
	place->parent = parent;
	place->link = link;

	return NULL;
}

/* Of the registrations that a new one overlaps, those that it may replace. */
struct codectl_overlap {
	unsigned int	nr;
	unsigned int	claim_bytes;
};

/*
 * Counts the registrations that overlap a range.  Returns 0, or -EEXIST if one of them
 * must not be replaced: ELF objects may be, by ELF objects, once something was mapped
 * over their text.
 */
static int codectl_count_overlap(const struct codectl_registry *reg,
				 const struct codectl_region *region,
				 struct codectl_overlap *overlap)
{
	unsigned long start = region->text_start;
	const struct codectl_region *old;

	while ((old = codectl_first(reg, start, region->text_end))) {
		if (region->tables.is_jit || !old->mapped_over)
			return -EEXIST;
		overlap->nr++;
		overlap->claim_bytes += codectl_claim_bytes(old);
		start = old->text_end;
	}

	return 0;
}

static int codectl_check_room(const struct codectl_registry *reg,
			      const struct codectl_region *region,
			      unsigned int max,
			      const struct codectl_overlap *overlap)
{
	unsigned int nr = 0, bytes = codectl_claim_bytes(region);

	if (reg) {
		nr = reg->nr - overlap->nr;
		bytes += reg->claim_bytes - overlap->claim_bytes;
	}

	return nr >= max || bytes > CODECTL_CLAIM_BYTES ? -ENOSPC : 0;
}

/* Lookups may miss what is below a node that is being moved. */
static void codectl_tree_insert(struct codectl_registry *reg,
				struct codectl_region *region,
				const struct codectl_place *place)
{
	preempt_disable();
	write_seqcount_begin(&reg->seq);
	rb_link_node_rcu(&region->node, place->parent, place->link);
	rb_insert_color(&region->node, &reg->tree);
	write_seqcount_end(&reg->seq);
	preempt_enable();
}

static void codectl_tree_erase(struct codectl_registry *reg,
			       struct codectl_region *region)
{
	preempt_disable();
	write_seqcount_begin(&reg->seq);
	rb_erase(&region->node, &reg->tree);
	write_seqcount_end(&reg->seq);
	preempt_enable();
}

static void codectl_erase_region(struct mm_struct *mm,
				 struct codectl_registry *reg,
				 struct codectl_region *region,
				 unsigned int reason)
{
	codectl_tree_erase(reg, region);
	reg->nr--;
	reg->claim_bytes -= codectl_claim_bytes(region);
	codectl_registry_changed(mm, reg);
	/* Not if fork() leaves out of the child what the parent keeps. */
	if (mm == current->mm)
		trace_code_unregister(task_tgid_nr(current), region, reason);
	codectl_region_put(region);
}

/* Drops the registrations that overlap a range; cannot fail. */
static void codectl_drop_overlap(struct mm_struct *mm, unsigned long start,
				 unsigned long end, unsigned int reason)
{
	struct codectl_registry *reg = codectl_registry_locked(mm);
	struct codectl_region *region;

	if (!codectl_first(reg, start, end))
		return;

	reg = codectl_registry_must_own(mm);
	while (reg && (region = codectl_first(reg, start, end))) {
		codectl_erase_region(mm, reg, region, reason);
		reg = codectl_registry_locked(mm);
		cond_resched();
	}
}

/**
 * codectl_insert() - add a registration to an address space
 * @mm: the address space
 * @region: the registration; on success the registry has a reference of its own
 * @max: how many registrations the address space may have
 *
 * An ELF registration replaces those of ELF objects whose text was mapped over.
 *
 * Context: holds the mmap lock of @mm for writing; may sleep.
 * Return: 0, -EEXIST if its text overlaps that of another registration, -ENOSPC at the
 * limit or if there is no room for its claim, or -ENOMEM.
 */
int codectl_insert(struct mm_struct *mm, struct codectl_region *region,
		   unsigned int max)
{
	struct codectl_registry *reg, *old = codectl_registry_locked(mm);
	struct codectl_overlap overlap = {};
	gfp_t gfp = GFP_KERNEL_ACCOUNT;
	struct codectl_place place;
	int ret = 0;

	if (old && codectl_find_place(old, region, &place))
		ret = codectl_count_overlap(old, region, &overlap);
	if (!ret)
		ret = codectl_check_room(old, region, max, &overlap);
	if (ret)
		return ret;
	if (overlap.nr) {
		codectl_drop_overlap(mm, region->text_start, region->text_end,
				     CODECTL_UNREGISTER_REPLACED);
		/* All or nothing. */
		gfp |= __GFP_NOFAIL;
	}

	reg = codectl_registry_own(mm, gfp);
	if (!reg)
		return -ENOMEM;
	if (reg != old || overlap.nr)
		codectl_find_place(reg, region, &place);

	region->gen = codectl_next_id();
	refcount_inc(&region->ref);
	codectl_tree_insert(reg, region, &place);
	reg->nr++;
	reg->claim_bytes += codectl_claim_bytes(region);
	codectl_registry_changed(mm, reg);

	return 0;
}

/**
 * codectl_erase() - remove the registration with exactly this text range
 * @mm: the address space
 * @start: first byte of the text
 * @end: end of the text
 *
 * Does not wait for lookups: they discard what they found.
 *
 * Context: holds the mmap lock of @mm for writing; may sleep.
 * Return: 0, -ENOENT, or -ENOMEM, which only a shared registry can cause.
 */
int codectl_erase(struct mm_struct *mm, unsigned long start, unsigned long end)
{
	struct codectl_registry *reg, *old = codectl_registry_locked(mm);
	struct codectl_region *region;

	region = old ? codectl_search(old, start) : NULL;
	if (!region || region->text_start != start || region->text_end != end)
		return -ENOENT;

	reg = codectl_registry_own(mm, GFP_KERNEL_ACCOUNT);
	if (!reg)
		return -ENOMEM;
	if (reg != old)
		region = codectl_search(reg, start);
	codectl_erase_region(mm, reg, region, CODECTL_UNREGISTER_CALL);

	return 0;
}

/* Marks the ELF registrations that overlap a range; cannot fail. */
static void codectl_mark_overlap(struct mm_struct *mm, unsigned long start,
				 unsigned long end)
{
	struct codectl_registry *reg = codectl_registry_locked(mm);
	struct codectl_region *region;

	while (reg && (region = codectl_first(reg, start, end))) {
		if (region->tables.is_jit || region->mapped_over)
			start = region->text_end;
		else if (refcount_read(&reg->ref) == 1)
			region->mapped_over = true;
		else
			reg = codectl_registry_must_own(mm);
		cond_resched();
	}
}

void __codectl_unmap(struct mm_struct *mm, unsigned long start,
		     unsigned long end, bool replaced)
{
	/* An empty range is covered by nothing, even if there is text around it. */
	if (start >= end)
		return;

	if (replaced)
		codectl_mark_overlap(mm, start, end);
	else
		codectl_drop_overlap(mm, start, end,
				     CODECTL_UNREGISTER_UNMAPPED);
}

void __codectl_dup_mmap(struct mm_struct *mm, struct codectl_registry *reg)
{
	/* Whoever shares it already has written the same. */
	WRITE_ONCE(reg->exclusive, false);
	refcount_inc(&reg->ref);
	rcu_assign_pointer(mm->codectl, reg);
}

/*
 * Nothing is traced if a task of another process was the last to use the address space:
 * it is no longer known whose it was.  An exiting task gives up its own address space
 * before its files, and others', as a userfaultfd monitor does, after them.
 */
static bool codectl_exit_reason(unsigned int *reason)
{
	if (current->flags & PF_EXITING) {
		*reason = CODECTL_UNREGISTER_EXIT;
		return current->files;
	}
	*reason = CODECTL_UNREGISTER_EXEC;

	return unwind_deferred_in_exec();
}

/* Nobody changes it: others that share it copy it first. */
static void codectl_trace_exit(const struct codectl_registry *reg)
{
	struct rb_node *node;
	unsigned int reason;

	if (!trace_code_unregister_enabled() || !codectl_exit_reason(&reason))
		return;

	for (node = rb_first(&reg->tree); node; node = rb_next(node))
		trace_code_unregister(task_tgid_nr(current),
				      codectl_entry(node), reason);
}

/*
 * @mm has no users any more, so nobody can look up in it, but others may share its
 * registry.
 */
void __codectl_mm_exit(struct mm_struct *mm)
{
	struct codectl_registry *reg =
		rcu_dereference_protected(mm->codectl,
					  !atomic_read(&mm->mm_users));

	codectl_trace_exit(reg);
	RCU_INIT_POINTER(mm->codectl, NULL);
	if (READ_ONCE(reg->exclusive))
		codectl_registry_free(reg);
	else
		codectl_registry_put(reg);
}

static int __init codectl_registry_init(void)
{
	codectl_region_cachep = KMEM_CACHE(codectl_region,
					   SLAB_PANIC | SLAB_ACCOUNT);

	return 0;
}
core_initcall(codectl_registry_init);

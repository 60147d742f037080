// SPDX-License-Identifier: GPL-2.0
/*
 * Registry of the code in an address space
 *
 * mm->codectl points to a maple tree of registrations, keyed by text range, or
 * is NULL where nothing is registered.
 *
 * Writers hold the mmap lock for writing: registering, unregistering and mapping
 * changes exclude one another.  fork() lets the child share the registry of its
 * parent.  A registry that is shared does not change: whoever wants to change it
 * replaces it, in its own address space, with a copy of its own.  Only the holder
 * of the mmap lock of an address space can turn a registry that this address space
 * has for itself into a shared one, so seeing a reference count of 1 under that
 * lock is final.
 *
 * Lookups hold RCU only, and only while they search: reading tables in user memory
 * may sleep for as long as user space likes.  So they copy what they need, read
 * the tables, and then ask codectl_valid() whether the registration was still
 * there after the last read.
 *
 * Generations come from one counter for all address spaces, so that neither a
 * registry nor a registration ever has the generation of another.
 */
#include <linux/codectl.h>
#include <linux/maple_tree.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/unwind_deferred.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include "registry.h"

#include <trace/events/codectl.h>

static atomic64_t codectl_gen = ATOMIC64_INIT(0);
static struct kmem_cache *codectl_region_cachep __ro_after_init;

/*
 * In the pointer to an ELF registration: something was mapped over its text.  It is one
 * address space that says so, and not the registration, which others may share.
 */
#define CODECTL_MAPPED_OVER	1UL

static struct codectl_region *codectl_entry_region(void *entry)
{
	return xa_untag_pointer(entry);
}

/**
 * codectl_next_id() - a number that nothing else gets
 *
 * What registries, registrations and files are told apart by.
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

void codectl_claim_free(struct codectl_claim *claim)
{
	if (!claim)
		return;

	kfree(claim->pathname);
	kfree(claim->debug_link);
	kfree(claim);
}

static void codectl_region_free(struct codectl_region *region)
{
	codectl_claim_free(region->claim);
	kmem_cache_free(codectl_region_cachep, region);
}

static void codectl_region_free_rcu(struct rcu_head *rcu)
{
	codectl_region_free(container_of(rcu, struct codectl_region, rcu));
}

void codectl_region_put(struct codectl_region *region)
{
	if (refcount_dec_and_test(&region->ref))
		call_rcu(&region->rcu, codectl_region_free_rcu);
}

/* Nobody searches the tree any more. */
static void codectl_registry_free(struct codectl_registry *reg)
{
	MA_STATE(mas, &reg->tree, 0, 0);
	struct codectl_region *region;
	void *entry;

	mas_for_each(&mas, entry, ULONG_MAX) {
		region = codectl_entry_region(entry);
		if (!reg->exclusive)
			codectl_region_put(region);
		else if (refcount_dec_and_test(&region->ref))
			codectl_region_free(region);
		cond_resched();
	}
	/* Nobody looks any more: its nodes need not wait for a grace period. */
	mt_clear_in_rcu(&reg->tree);
	__mt_destroy(&reg->tree);
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

	/*
	 * The lock is that of whichever address space owns the registry, which
	 * changes when a parent that shares it with its child goes first: the
	 * tree is not told of it, and the functions below assert it instead.
	 */
	mt_init_flags(&reg->tree, MT_FLAGS_USE_RCU | MT_FLAGS_LOCK_EXTERN);
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

/* A copy that nobody else has seen yet; the registrations are shared. */
static struct codectl_registry *
codectl_registry_copy(struct codectl_registry *old, gfp_t gfp)
{
	struct codectl_registry *reg = codectl_registry_alloc(gfp);
	void *entry;

	if (!reg)
		return NULL;

	reg->exclusive = false;
	if (__mt_dup(&old->tree, &reg->tree, gfp)) {
		kfree(reg);
		return NULL;
	}

	MA_STATE(mas, &reg->tree, 0, 0);
	mas_for_each(&mas, entry, ULONG_MAX)
		refcount_inc(&codectl_entry_region(entry)->ref);
	reg->nr = old->nr;
	reg->claim_bytes = old->claim_bytes;

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

	/* After the release in codectl_registry_put() of whoever had a share. */
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

/* After the tree has changed, and before user space can know that it has. */
static void codectl_registry_changed(struct mm_struct *mm,
				     struct codectl_registry *reg)
{
	/* Pairs with smp_load_acquire() in codectl_search(). */
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

/* A range without registrations, as large as @mas has found it. */
static void codectl_keep_gap(struct codectl_registry *reg,
			     const struct ma_state *mas)
{
	reg->gap_start = mas->index;
	reg->gap_end = mas->last == ULONG_MAX ? ULONG_MAX : mas->last + 1;
}

/* Is it known that there are no registrations with text in a range? */
static bool codectl_in_gap(const struct codectl_registry *reg,
			   unsigned long start, unsigned long end)
{
	return refcount_read(&reg->ref) == 1 && start >= reg->gap_start &&
	       end <= reg->gap_end;
}

/*
 * The entry of the first registration with text in a range, or NULL, and its gap is
 * remembered: most ranges are next to the one before.
 */
static void *codectl_first(struct codectl_registry *reg, unsigned long start,
			   unsigned long end)
{
	void *entry;

	if (codectl_in_gap(reg, start, end))
		return NULL;

	MA_STATE(mas, &reg->tree, start, start);

	entry = mas_walk(&mas);
	if (entry)
		return entry;
	if (mas.last >= end - 1) {
		if (refcount_read(&reg->ref) == 1)
			codectl_keep_gap(reg, &mas);
		return NULL;
	}
	mas_set(&mas, start);

	return mas_find(&mas, end - 1);
}

static unsigned int codectl_claim_bytes(const struct codectl_region *region)
{
	return region->claim ? region->claim->bytes : 0;
}

/* What a registration may replace of those that it overlaps. */
struct codectl_overlap {
	unsigned int	nr;
	unsigned int	claim_bytes;
};

/*
 * Counts the registrations that overlap a range.  Returns 0, or -EEXIST where one of
 * them is not to be replaced: ELF objects are, by ELF objects, once something was
 * mapped over their text.
 */
static int codectl_count_overlap(struct codectl_registry *reg,
				 const struct codectl_region *region,
				 struct codectl_overlap *overlap)
{
	unsigned long start = region->text_start;
	struct codectl_region *old;
	void *entry;

	*overlap = (struct codectl_overlap) {};
	while (start < region->text_end &&
	       (entry = codectl_first(reg, start, region->text_end))) {
		if (region->tables.is_jit ||
		    xa_pointer_tag(entry) != CODECTL_MAPPED_OVER)
			return -EEXIST;
		old = codectl_entry_region(entry);
		overlap->nr++;
		overlap->claim_bytes += codectl_claim_bytes(old);
		start = old->text_end;
	}

	return 0;
}

static int codectl_erase_region(struct mm_struct *mm,
				struct codectl_registry *reg,
				struct codectl_region *region, gfp_t gfp,
				unsigned int reason)
{
	MA_STATE(mas, &reg->tree, region->text_start, region->text_end - 1);
	int ret;

	ret = mas_store_gfp(&mas, NULL, gfp);
	if (ret)
		return ret;

	reg->nr--;
	reg->claim_bytes -= codectl_claim_bytes(region);
	codectl_keep_gap(reg, &mas);
	codectl_registry_changed(mm, reg);
	/* Not where fork() leaves out of the child what the parent keeps. */
	if (mm == current->mm)
		trace_code_unregister(task_tgid_nr(current), region, reason);
	codectl_region_put(region);

	return 0;
}

/* Drops the registrations that overlap a range; cannot fail. */
static void codectl_drop_overlap(struct mm_struct *mm, unsigned long start,
				 unsigned long end, unsigned int reason)
{
	const gfp_t gfp = GFP_KERNEL_ACCOUNT | __GFP_NOFAIL;
	struct codectl_registry *reg = codectl_registry_locked(mm);
	void *entry;

	while (reg && (entry = codectl_first(reg, start, end))) {
		reg = codectl_registry_own(mm, gfp);
		if (!reg || codectl_erase_region(mm, reg,
						 codectl_entry_region(entry),
						 gfp, reason)) {
			codectl_registry_drop(mm);
			return;
		}
		reg = codectl_registry_locked(mm);
		cond_resched();
	}
}

static int codectl_check_room(struct codectl_registry *reg,
			      const struct codectl_region *region,
			      unsigned int max, struct codectl_overlap *overlap)
{
	unsigned int nr = 0, bytes = codectl_claim_bytes(region);
	int ret;

	*overlap = (struct codectl_overlap) {};
	if (reg) {
		ret = codectl_count_overlap(reg, region, overlap);
		if (ret)
			return ret;
		nr = reg->nr - overlap->nr;
		bytes += reg->claim_bytes - overlap->claim_bytes;
	}

	return nr >= max || bytes > CODECTL_CLAIM_BYTES ? -ENOSPC : 0;
}

/**
 * codectl_insert() - add a registration to an address space
 * @mm: the address space
 * @region: the registration; on success the registry has a reference of its own
 * @max: how many registrations the address space may have
 *
 * An ELF registration replaces those of ELF objects that something was mapped over.
 *
 * Context: holds the mmap lock of @mm for writing; may sleep.
 * Return: 0, -EEXIST if its text overlaps that of another registration,
 * -ENOSPC at the limit or without room for its claim, or -ENOMEM.
 */
int codectl_insert(struct mm_struct *mm, struct codectl_region *region,
		   unsigned int max)
{
	unsigned long start = region->text_start, end = region->text_end;
	struct codectl_overlap overlap;
	gfp_t gfp = GFP_KERNEL_ACCOUNT;
	struct codectl_registry *reg;
	int ret;

	ret = codectl_check_room(codectl_registry_locked(mm), region, max,
				 &overlap);
	if (ret)
		return ret;
	if (overlap.nr) {
		codectl_drop_overlap(mm, start, end,
				     CODECTL_UNREGISTER_REPLACED);
		/* All or nothing. */
		gfp |= __GFP_NOFAIL;
	}

	reg = codectl_registry_own(mm, gfp);
	if (!reg)
		return -ENOMEM;

	MA_STATE(mas, &reg->tree, start, end - 1);

	region->gen = codectl_next_id();
	/* Mappings grow downwards: so does what comes next. */
	if (start < reg->gap_end && end > reg->gap_start)
		reg->gap_end = start;
	ret = mas_store_gfp(&mas, region, gfp);
	if (!ret) {
		refcount_inc(&region->ref);
		reg->nr++;
		reg->claim_bytes += codectl_claim_bytes(region);
	}
	codectl_registry_changed(mm, reg);

	return ret;
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
 * Return: 0, -ENOENT, or -ENOMEM.
 */
int codectl_erase(struct mm_struct *mm, unsigned long start, unsigned long end)
{
	struct codectl_registry *reg = codectl_registry_locked(mm);
	struct codectl_region *region;

	region = reg ? codectl_entry_region(mtree_load(&reg->tree, start)) : NULL;
	if (!region || region->text_start != start || region->text_end != end)
		return -ENOENT;

	reg = codectl_registry_own(mm, GFP_KERNEL_ACCOUNT);
	if (!reg)
		return -ENOMEM;

	return codectl_erase_region(mm, reg, region, GFP_KERNEL_ACCOUNT,
				    CODECTL_UNREGISTER_CALL);
}

/* Marks the ELF registrations that overlap a range; cannot fail. */
static void codectl_mark_overlap(struct mm_struct *mm, unsigned long start,
				 unsigned long end)
{
	const gfp_t gfp = GFP_KERNEL_ACCOUNT | __GFP_NOFAIL;
	struct codectl_registry *reg = codectl_registry_locked(mm);
	struct codectl_region *region;
	void *entry;

	while (start < end && (entry = codectl_first(reg, start, end))) {
		region = codectl_entry_region(entry);
		start = region->text_end;
		if (region->tables.is_jit || xa_pointer_tag(entry))
			continue;
		reg = codectl_registry_own(mm, gfp);
		if (!reg)
			return;

		MA_STATE(mas, &reg->tree, region->text_start,
			 region->text_end - 1);
		mas_store_gfp(&mas, xa_tag_pointer(region, CODECTL_MAPPED_OVER),
			      gfp);
	}
}

/*
 * An unmapping cannot be refused any more when it gets here, so the allocations
 * do not fail.  Should one do so all the same, what the address space loses is
 * its tables: better than to keep one for code that is gone.
 */
void __codectl_unmap(struct mm_struct *mm, unsigned long start,
		     unsigned long end, bool replaced)
{
	/* Nothing covers an empty range, though text may lie around it. */
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
 * Nobody is told where another task than one of the process was the last to use
 * the address space: whose it was is not known any more.  An exiting task gives up its
 * own before its files, and those of others, as a monitor of userfaultfd, after them.
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

static void codectl_trace_exit(struct codectl_registry *reg)
{
	MA_STATE(mas, &reg->tree, 0, 0);
	unsigned int reason;
	void *entry;

	if (!trace_code_unregister_enabled() || !codectl_exit_reason(&reason))
		return;

	guard(rcu)();
	mas_for_each(&mas, entry, ULONG_MAX)
		trace_code_unregister(task_tgid_nr(current),
				      codectl_entry_region(entry), reason);
}

/*
 * @mm has no users any more, so that nobody can look up in it, but others may share
 * its registry.
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

/**
 * codectl_generation() - get the generation of the registry of an address space
 * @mm: the address space
 *
 * Context: any but NMI; the address space cannot go away.
 * Return: the generation, unlike that of any other registry and of this one
 * before or after a change; 0 where nothing is registered.
 */
u64 codectl_generation(struct mm_struct *mm)
{
	const struct codectl_registry *reg;

	guard(rcu)();
	reg = rcu_dereference(mm->codectl);

	/* As in codectl_search(). */
	return reg ? smp_load_acquire(&reg->gen) : 0;
}

static struct codectl_region *
codectl_search(struct codectl_registry *reg, unsigned long ip, u64 *gen)
{
	MA_STATE(mas, &reg->tree, ip, ip);

	/*
	 * The generation before the search: with one from after it, a change in
	 * between would pass unseen.  Pairs with the release of the generation
	 * in codectl_registry_changed(), which comes after the change.
	 */
	*gen = smp_load_acquire(&reg->gen);

	return codectl_entry_region(mas_walk(&mas));
}

/**
 * codectl_find() - find the registration that covers an address
 * @mm: the address space
 * @ip: the address
 * @lookup: where a copy of the registration is stored
 *
 * Where the registry is replaced again and again meanwhile, the copy is one
 * that codectl_valid() refuses.
 *
 * Context: any but NMI; the address space cannot go away.
 * Return: whether there is one.
 */
bool codectl_find(struct mm_struct *mm, unsigned long ip,
		  struct codectl_lookup *lookup)
{
	struct codectl_registry *reg;
	struct codectl_region *region;
	unsigned int tries;
	u64 gen;

	guard(rcu)();
	for (tries = 0; tries < 4; tries++) {
		reg = rcu_dereference(mm->codectl);
		if (!reg)
			return false;

		region = codectl_search(reg, ip, &gen);

		/*
		 * A registry that was shared and replaced here may have become
		 * that of the other address space alone and changed with it.
		 * Pairs with the full barrier in the refcount_dec_and_test() by
		 * which this one gave up its share after replacing it.
		 */
		smp_rmb();
		if (rcu_access_pointer(mm->codectl) != reg)
			continue;
		if (!region)
			return false;

		lookup->text_start = region->text_start;
		lookup->text_end = region->text_end;
		lookup->gen = region->gen;
		lookup->registry_gen = gen;
		lookup->tables = region->tables;

		return true;
	}

	*lookup = (struct codectl_lookup) {};

	return true;
}

/**
 * codectl_remains() - is a registration still there?
 * @reg: the registry, which has changed
 * @lookup: what codectl_find() found
 *
 * Context: RCU.
 * Return: whether it is.
 */
bool codectl_remains(struct codectl_registry *reg,
		     const struct codectl_lookup *lookup)
{
	MA_STATE(mas, &reg->tree, lookup->text_start, lookup->text_start);
	struct codectl_region *region = codectl_entry_region(mas_walk(&mas));

	return region && region->gen == lookup->gen;
}

/* With a reference; -EAGAIN if the registry was replaced meanwhile. */
static struct codectl_region *codectl_try_next(struct mm_struct *mm,
					       unsigned long addr)
{
	struct codectl_registry *reg;
	struct codectl_region *region;

	guard(rcu)();
	reg = rcu_dereference(mm->codectl);
	if (!reg)
		return NULL;

	MA_STATE(mas, &reg->tree, addr, addr);
	region = codectl_entry_region(mas_find(&mas, ULONG_MAX));
	/* It may be that of another address space by now: codectl_find(). */
	smp_rmb();
	if (rcu_access_pointer(mm->codectl) != reg ||
	    (region && !refcount_inc_not_zero(&region->ref)))
		return ERR_PTR(-EAGAIN);

	return region;
}

/**
 * codectl_get_next() - get the registration at or above an address
 * @mm: the address space
 * @addr: the address
 *
 * Context: process; may sleep; the caller holds @mm as one of its users does, as
 * by mmget().
 * Return: the registration that covers @addr, or the first one above it, with a
 * reference for codectl_region_put(); NULL if there is none.
 */
struct codectl_region *codectl_get_next(struct mm_struct *mm,
					unsigned long addr)
{
	struct codectl_region *region;

	while (IS_ERR(region = codectl_try_next(mm, addr)))
		cond_resched();

	return region;
}

static int __init codectl_registry_init(void)
{
	codectl_region_cachep = KMEM_CACHE(codectl_region,
					   SLAB_PANIC | SLAB_ACCOUNT);

	return 0;
}
core_initcall(codectl_registry_init);

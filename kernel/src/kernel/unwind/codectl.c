// SPDX-License-Identifier: GPL-2.0
/*
 * codectl() system call, and what execve() registers by itself
 *
 * Everything that user space passes is copied and checked before the mmap lock is
 * taken; nothing waits under the lock.
 */
#include <linux/codectl.h>
#include <linux/elf.h>
#include <linux/init.h>
#include <linux/mm.h>
#include <linux/mmap_lock.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/syscalls.h>
#include <linux/sysctl.h>
#include <linux/uaccess.h>
#include <linux/unwind_user.h>

#include "attach.h"
#include "events.h"
#include "query.h"
#include "register.h"
#include "registry.h"
#include "table.h"

/* kernel.codectl; codectl= on the command line sets its initial value. */
static unsigned int codectl_sysctl __read_mostly = 1;
/* kernel.codectl_callchain: whether walks that cannot wait use tables, too. */
static unsigned int codectl_callchain_sysctl __read_mostly = 1;
static unsigned int codectl_max_regions __read_mostly = 65530;
/* One munmap() may remove all of them, under the lock of the address space. */
static const unsigned int codectl_most_regions = 1 << 20;

static const struct ctl_table codectl_sysctls[] = {
	{
		.procname	= "codectl",
		.data		= &codectl_sysctl,
		.maxlen		= sizeof(codectl_sysctl),
		.mode		= 0644,
		.proc_handler	= proc_douintvec_minmax,
		.extra1		= SYSCTL_ZERO,
		.extra2		= SYSCTL_ONE,
	},
	{
		.procname	= "codectl_callchain",
		.data		= &codectl_callchain_sysctl,
		.maxlen		= sizeof(codectl_callchain_sysctl),
		.mode		= 0644,
		.proc_handler	= proc_douintvec_minmax,
		.extra1		= SYSCTL_ZERO,
		.extra2		= SYSCTL_ONE,
	},
	{
		.procname	= "codectl_max_regions",
		.data		= &codectl_max_regions,
		.maxlen		= sizeof(codectl_max_regions),
		.mode		= 0644,
		.proc_handler	= proc_douintvec_minmax,
		.extra1		= SYSCTL_ZERO,
		.extra2		= (void *)&codectl_most_regions,
	},
};

static int __init codectl_setup(char *str)
{
	bool on;

	if (kstrtobool(str, &on))
		return 0;
	codectl_sysctl = on;

	return 1;
}
__setup("codectl=", codectl_setup);

static int __init codectl_init(void)
{
	register_sysctl_init("kernel", codectl_sysctls);

	return 0;
}
fs_initcall(codectl_init);

bool codectl_enabled(void)
{
	return READ_ONCE(codectl_sysctl);
}

bool codectl_callchain_enabled(void)
{
	return READ_ONCE(codectl_callchain_sysctl);
}

/* As strndup_user(), but charged to the memory cgroup; adds its size to @bytes. */
static char *codectl_copy_string(u64 addr, u32 *bytes)
{
	const char __user *ustr = u64_to_user_ptr(addr);
	char *str;
	long len;

	if (!addr)
		return NULL;

	/* The NUL counts; 0: it cannot be read; over the limit: there is none. */
	len = strnlen_user(ustr, PATH_MAX);
	if (!len)
		return ERR_PTR(-EFAULT);
	if (len > PATH_MAX)
		return ERR_PTR(-ENAMETOOLONG);

	str = kmalloc(len, GFP_KERNEL_ACCOUNT);
	if (!str)
		return ERR_PTR(-ENOMEM);
	if (copy_from_user(str, ustr, len)) {
		kfree(str);
		return ERR_PTR(-EFAULT);
	}
	str[len - 1] = '\0';
	*bytes += kmalloc_size_roundup(len);

	return str;
}

DEFINE_FREE(codectl_claim, struct codectl_claim *, codectl_claim_put(_T))

static struct codectl_claim *codectl_copy_claim(const struct code_elf_info *info)
{
	struct codectl_claim *claim __free(codectl_claim) = NULL;
	char *str;

	if ((info->build_id_len && !info->build_id) ||
	    (info->debug_link_crc && !info->debug_link_pathname))
		return ERR_PTR(-EINVAL);
	if (info->build_id_len > sizeof(claim->build_id))
		return ERR_PTR(-ENAMETOOLONG);
	if (!info->pathname && !info->build_id && !info->debug_link_pathname)
		return NULL;

	claim = kzalloc_obj(*claim, GFP_KERNEL_ACCOUNT);
	if (!claim)
		return ERR_PTR(-ENOMEM);

	refcount_set(&claim->ref, 1);
	claim->bytes = kmalloc_size_roundup(sizeof(*claim));
	str = codectl_copy_string(info->pathname, &claim->bytes);
	if (IS_ERR(str))
		return ERR_CAST(str);
	claim->pathname = str;

	str = codectl_copy_string(info->debug_link_pathname, &claim->bytes);
	if (IS_ERR(str))
		return ERR_CAST(str);
	claim->debug_link = str;
	claim->debug_link_crc = info->debug_link_crc;

	if (info->build_id) {
		claim->build_id_len = info->build_id_len;
		if (copy_from_user(claim->build_id,
				   u64_to_user_ptr(info->build_id),
				   info->build_id_len))
			return ERR_PTR(-EFAULT);
	}

	return no_free_ptr(claim);
}

static int codectl_register(struct mm_struct *mm, struct codectl_region *region)
{
	if (!codectl_note_text(mm, region))
		return -EINVAL;

	return codectl_insert(mm, region, READ_ONCE(codectl_max_regions));
}

/**
 * struct codectl_op - what a call asks for, completely read
 * @region: what to register, with a reference, or NULL
 * @start: if @region is NULL, first byte of the text to unregister
 * @end: end of that text
 */
struct codectl_op {
	struct codectl_region	*region;
	unsigned long		start;
	unsigned long		end;
};

/*
 * Carries out operations, all to register or all to unregister, up to the first that
 * fails.  Returns how many were carried out, and in @err why not all.
 *
 * Registrations are traced without the lock, as that reads their files; what is
 * unregistered is traced under it.  Both kinds in one call would be traced in the wrong
 * order.
 */
static unsigned int codectl_run(struct mm_struct *mm,
				const struct codectl_op *ops, unsigned int nr,
				int *err)
{
	const struct codectl_op *op;

	if (mmap_write_lock_killable(mm)) {
		*err = -EINTR;
		return 0;
	}
	for (op = ops; op < ops + nr; op++) {
		*err = op->region ? codectl_register(mm, op->region) :
				    codectl_erase(mm, op->start, op->end);
		if (*err)
			break;
	}
	mmap_write_unlock(mm);

	nr = op - ops;
	if (ops->region)
		for (op = ops; op < ops + nr; op++)
			codectl_trace_register(mm, task_tgid_nr(current),
					       op->region);

	return nr;
}

static int codectl_check_section(const struct code_elf_info *info)
{
	if (!info->sframe_start && !info->sframe_end)
		return info->sframe_addr ? -EINVAL : 0;
	if (!codectl_range_ok(info->sframe_start, info->sframe_end))
		return -EINVAL;

	return info->sframe_addr > TASK_SIZE_MAX - (info->sframe_end -
						    info->sframe_start) ?
	       -EINVAL : 0;
}

static int codectl_check_elf(const struct code_elf_info *info)
{
	if (info->elf_flags & ~CODE_ELF_HEADER_LATER)
		return -EINVAL;
	if (info->unwind_format != CODE_UNWIND_FORMAT_SFRAME)
		return -EOPNOTSUPP;

	if (!codectl_range_ok(info->elf_start, info->elf_end) ||
	    !codectl_range_ok(info->text_start, info->text_end))
		return -EINVAL;
	/* What is said of the object applies to its text. */
	if (info->text_start < info->elf_start ||
	    info->text_end > info->elf_end)
		return -EINVAL;

	return codectl_check_section(info);
}

static int codectl_read_elf(const void __user *uinfo, size_t usize,
			    struct codectl_op *op)
{
	struct code_elf_info info __uninitialized;
	struct codectl_region *region;
	struct codectl_claim *claim;
	int ret;

	BUILD_BUG_ON(sizeof(struct code_elf_info) != CODE_ELF_INFO_SIZE_VER2);
	BUILD_BUG_ON(offsetof(struct code_elf_info, unwind_format) !=
		     CODE_ELF_INFO_SIZE_VER0);
	BUILD_BUG_ON(offsetof(struct code_elf_info, sframe_addr) !=
		     CODE_ELF_INFO_SIZE_VER1);

	if (usize < CODE_ELF_INFO_SIZE_VER0)
		return -EINVAL;
	ret = copy_struct_from_user(&info, sizeof(info), uinfo, usize);
	if (ret)
		return ret;
	ret = codectl_check_elf(&info);
	if (ret)
		return ret;

	claim = codectl_copy_claim(&info);
	if (IS_ERR(claim))
		return PTR_ERR(claim);

	region = codectl_region_alloc();
	if (!region) {
		codectl_claim_put(claim);
		return -ENOMEM;
	}
	region->claim = claim;
	region->text_start = info.text_start;
	region->text_end = info.text_end;
	region->elf_start = info.elf_start;
	region->elf_end = info.elf_end;
	region->tables.sframe.start = info.sframe_start;
	region->tables.sframe.end = info.sframe_end;
	if (info.sframe_addr)
		region->tables.sframe.bias = info.sframe_addr -
					     info.sframe_start;
	if (info.sframe_end && !(info.elf_flags & CODE_ELF_HEADER_LATER)) {
		ret = sframe_read_header(&region->tables.sframe);
		if (ret) {
			codectl_region_put(region);
			return ret;
		}
	}
	op->region = region;

	return 0;
}

static int codectl_read_unregister(const void __user *uinfo, size_t usize,
				   struct codectl_op *op)
{
	struct code_unregister_info info;
	int ret;

	BUILD_BUG_ON(sizeof(struct code_unregister_info) !=
		     CODE_UNREGISTER_INFO_SIZE_VER0);

	if (usize < CODE_UNREGISTER_INFO_SIZE_VER0)
		return -EINVAL;
	ret = copy_struct_from_user(&info, sizeof(info), uinfo, usize);
	if (ret)
		return ret;
	if (!codectl_range_ok(info.text_start, info.text_end))
		return -EINVAL;
	op->start = info.text_start;
	op->end = info.text_end;

	return 0;
}

/* On success @op has a reference to the region to register. */
static int codectl_read_op(unsigned int option, const void __user *uinfo,
			   size_t usize, struct codectl_op *op)
{
	*op = (struct codectl_op) {};
	if (option > CODE_REGISTER_JIT)
		return -EINVAL;
	if (usize > PAGE_SIZE)
		return -E2BIG;

	switch (option) {
	case CODE_REGISTER_ELF:
		return codectl_read_elf(uinfo, usize, op);
	case CODE_REGISTER_JIT:
		return codectl_read_jit(uinfo, usize, &op->region);
	default:
		return codectl_read_unregister(uinfo, usize, op);
	}
}

static int codectl_single(unsigned int option, const void __user *uinfo,
			  size_t usize)
{
	struct codectl_op op;
	int ret;

	ret = codectl_read_op(option, uinfo, usize, &op);
	if (ret)
		return ret;
	codectl_run(current->mm, &op, 1, &ret);
	if (op.region)
		codectl_region_put(op.region);

	return ret;
}

/*
 * Operations of a batch that take the lock once.  On the stack they are not zeroed
 * first: that takes 50 instructions a call, and most calls have only one.
 */
#define CODECTL_OPS		16

struct codectl_ops {
	unsigned int		nr;
	struct codectl_op	op[CODECTL_OPS];
};

/*
 * Reads entries of a batch, up to the first that is wrong in itself.  @ops has those
 * before it, whatever is returned.
 */
static int codectl_read_ops(u64 entries, unsigned int nr,
			    struct codectl_ops *ops)
{
	struct code_batch_entry entry[CODECTL_OPS] __uninitialized;
	size_t size = min(nr, CODECTL_OPS) * sizeof(*entry);
	size_t left = copy_from_user(entry, u64_to_user_ptr(entries), size);
	const struct code_batch_entry *e;
	int ret;

	nr = (size - left) / sizeof(*entry);
	for (ops->nr = 0; ops->nr < nr; ops->nr++) {
		e = &entry[ops->nr];
		ret = codectl_read_op(e->option, u64_to_user_ptr(e->info),
				      e->info_size, &ops->op[ops->nr]);
		if (ret)
			return ret;
	}

	return left ? -EFAULT : 0;
}

/* In order, each run of one kind under one lock; returns as codectl_run() does. */
static unsigned int codectl_run_ops(struct mm_struct *mm,
				    const struct codectl_ops *ops, int *err)
{
	unsigned int done = 0, end, nr;

	while (done < ops->nr) {
		for (end = done + 1; end < ops->nr; end++)
			if (!ops->op[end].region != !ops->op[done].region)
				break;
		nr = codectl_run(mm, ops->op + done, end - done, err);
		done += nr;
		if (done != end)
			break;
	}

	return done;
}

static void codectl_put_ops(struct codectl_ops *ops)
{
	while (ops->nr--)
		if (ops->op[ops->nr].region)
			codectl_region_put(ops->op[ops->nr].region);
}

static int codectl_batch(const void __user *uinfo, size_t usize)
{
	struct codectl_ops ops __uninitialized;
	unsigned int done = 0, nr;
	struct code_batch batch;
	int ret, err = 0;

	BUILD_BUG_ON(sizeof(struct code_batch) != CODE_BATCH_SIZE_VER0);
	BUILD_BUG_ON(sizeof(struct code_batch_entry) != CODE_BATCH_ENTRY_SIZE);

	if (usize > PAGE_SIZE)
		return -E2BIG;
	if (usize < CODE_BATCH_SIZE_VER0)
		return -EINVAL;
	ret = copy_struct_from_user(&batch, sizeof(batch), uinfo, usize);
	if (ret)
		return ret;
	if (batch.__reserved || batch.nr > CODE_BATCH_MAX)
		return -EINVAL;

	while (done < batch.nr && !err) {
		err = codectl_read_ops(batch.entries +
				       (u64)done * CODE_BATCH_ENTRY_SIZE,
				       batch.nr - done, &ops);
		nr = codectl_run_ops(current->mm, &ops, &ret);
		if (nr < ops.nr)
			err = ret;
		done += nr;
		codectl_put_ops(&ops);
		cond_resched();
	}

	return done ?: err;
}

/**
 * sys_codectl - tell the kernel about code of the calling process
 * @option: one of &enum code_opt
 * @info: the structure for @option
 * @info_size: its size, which is its version
 * @flags: must be 0
 *
 * See include/uapi/linux/codectl.h for the contract.
 *
 * Return: 0, for CODE_BATCH the number of entries that were carried out, for
 * CODE_ATTACH_FILE a descriptor, or a negative error.
 */
SYSCALL_DEFINE4(codectl, unsigned int, option, void __user *, info,
		size_t, info_size, unsigned int, flags)
{
	if (!codectl_enabled() || !arch_unwind_user_has_tables(current_pt_regs()))
		return -ENOSYS;
	if (flags)
		return -EINVAL;

	switch (option) {
	case CODE_BATCH:
		return codectl_batch(info, info_size);
	case CODE_ATTACH_FILE:
		return codectl_attach(info, info_size);
	default:
		return codectl_single(option, info, info_size);
	}
}

struct codectl_exec {
	unsigned long	elf_start;
	unsigned long	elf_end;
	unsigned long	sframe_start;
	unsigned long	sframe_end;
};

static bool codectl_exec_layout(const struct elf64_phdr *phdr,
				unsigned int phnum, unsigned long bias,
				struct codectl_exec *exec)
{
	*exec = (struct codectl_exec) { .elf_start = ULONG_MAX };

	for (; phnum; phnum--, phdr++) {
		unsigned long start = bias + phdr->p_vaddr;
		unsigned long end = start + phdr->p_memsz;

		if (phdr->p_type == PT_LOAD && phdr->p_memsz) {
			exec->elf_start = min(exec->elf_start, start);
			exec->elf_end = max(exec->elf_end, end);
		} else if (phdr->p_type == PT_GNU_SFRAME && !exec->sframe_end) {
			exec->sframe_start = start;
			exec->sframe_end = end;
		}
	}

	exec->elf_start = PAGE_ALIGN_DOWN(exec->elf_start);
	exec->elf_end = PAGE_ALIGN(exec->elf_end);

	return codectl_range_ok(exec->elf_start, exec->elf_end) &&
	       codectl_range_ok(exec->sframe_start, exec->sframe_end);
}

/**
 * codectl_exec_elf() - register an object that execve() has mapped
 * @phdr: its program headers
 * @phnum: their number
 * @bias: what to add to their addresses
 *
 * Registers every executable segment of an object with an SFrame section, so that
 * static programs, the dynamic linker before it runs, and other libcs are covered.
 * Reads nothing from user memory; the section is checked at its first use.  A program
 * can do without it, so a failure does not fail execve().
 *
 * Context: process, in the new address space; may sleep.
 */
void codectl_exec_elf(const struct elf64_phdr *phdr, unsigned int phnum,
		      unsigned long bias)
{
	struct codectl_region *region;
	struct codectl_exec exec;
	struct codectl_op op;
	int err;

	if (!codectl_enabled() ||
	    !codectl_exec_layout(phdr, phnum, bias, &exec))
		return;

	for (; phnum; phnum--, phdr++) {
		if (phdr->p_type != PT_LOAD || !(phdr->p_flags & PF_X))
			continue;

		region = codectl_region_alloc();
		if (!region)
			return;
		region->text_start = bias + phdr->p_vaddr;
		region->text_end = region->text_start + phdr->p_memsz;
		region->elf_start = exec.elf_start;
		region->elf_end = exec.elf_end;
		region->tables.sframe.start = exec.sframe_start;
		region->tables.sframe.end = exec.sframe_end;
		op = (struct codectl_op) { .region = region };

		if (codectl_range_ok(region->text_start, region->text_end))
			codectl_run(current->mm, &op, 1, &err);
		codectl_region_put(region);
	}
}

// SPDX-License-Identifier: GPL-2.0
/*
 * Tables that are attached to files, for the whole system
 *
 * CODE_ATTACH_FILE returns a descriptor, and the table lives as long as that.  The
 * descriptor holds the file, so that the inode, by which mappings are found to have a
 * table, is not reused meanwhile.
 */
#include <linux/anon_inodes.h>
#include <linux/capability.h>
#include <linux/codectl.h>
#include <linux/file.h>
#include <linux/hashtable.h>
#include <linux/init.h>
#include <linux/mutex.h>
#include <linux/overflow.h>
#include <linux/proc_fs.h>
#include <linux/seq_file.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/sysctl.h>
#include <linux/uaccess.h>
#include <linux/unwind_user.h>

#include "attach.h"
#include "registry.h"

#include <trace/events/codectl.h>

/* Serializes attaching and detaching; lookups hold RCU. */
static DEFINE_MUTEX(attach_mutex);
/* Tables are built one at a time: their memory is counted once they are built. */
static DEFINE_MUTEX(attach_build_mutex);
/* Protects @nlink of every attachment. */
static DEFINE_SPINLOCK(attach_names_lock);
static DEFINE_HASHTABLE(attachments, 10);
static LIST_HEAD(attachment_list);
static size_t attached_bytes;
unsigned int codectl_nr_attached __read_mostly;

static struct fsnotify_group *attach_group __ro_after_init;

/* kernel.codectl_attached_kb: memory limit for all of them together. */
static unsigned int attached_max_kb __read_mostly = SZ_256M / SZ_1K;

static const struct ctl_table attach_sysctls[] = {
	{
		.procname	= "codectl_attached_kb",
		.data		= &attached_max_kb,
		.maxlen		= sizeof(attached_max_kb),
		.mode		= 0644,
		.proc_handler	= proc_douintvec,
	},
};

/* Was the file written to without an event, as by io_submit(2)? */
static bool attachment_differs(const struct codectl_attachment *a)
{
	struct timespec64 mtime = inode_get_mtime(a->inode);

	return !timespec64_equal(&a->mtime, &mtime) ||
	       i_size_read(a->inode) != a->file_size;
}

/* Finds an attachment in any state. */
static struct codectl_attachment *attachment_find(const struct inode *inode)
{
	struct codectl_attachment *a;

	hash_for_each_possible_rcu(attachments, a, node, (unsigned long)inode) {
		if (a->inode == inode)
			return a;
	}

	return NULL;
}

/**
 * codectl_attachment_of() - find the table that is attached to a file
 * @inode: what a mapping of the file is backed by
 *
 * Context: any, under RCU, which keeps the attachment.
 * Return: the attachment, or NULL.
 */
const struct codectl_attachment *codectl_attachment_of(const struct inode *inode)
{
	const struct codectl_attachment *a = attachment_find(inode);

	/* Pairs with the cmpxchg() of attach_publish(). */
	return a && smp_load_acquire(&a->state) == ATTACHMENT_LIVE &&
	       !attachment_differs(a) ? a : NULL;
}

/* From now on the table is not used. */
static void attachment_lose(struct codectl_attachment *a)
{
	if (xchg(&a->state, ATTACHMENT_WRITTEN) == ATTACHMENT_LIVE)
		trace_code_detach(a, CODECTL_DETACH_WRITTEN);
}

/* See codectl_link_shared(). */
void __codectl_link_shared(const struct address_space *mapping)
{
	struct codectl_attachment *a;

	guard(rcu)();
	a = attachment_find(mapping->host);
	if (a)
		attachment_lose(a);
}

static void attachment_free_work(struct work_struct *work)
{
	struct codectl_attachment *a =
		container_of(to_rcu_work(work), struct codectl_attachment, work);

	resident_free(a->table);
	kfree(a);
}

/* The last reference is gone: after fsnotify's readers, wait for those of the table. */
static void attachment_free_mark(struct fsnotify_mark *mark)
{
	struct codectl_attachment *a =
		container_of(mark, struct codectl_attachment, mark);

	queue_rcu_work(system_dfl_wq, &a->work);
}

/*
 * Did only a name come or go, which changes no byte?  After any other change, the time
 * may have been set back after a write without an event.  If two names change at once,
 * the second event finds the count unchanged, and the table is lost.
 */
static bool attachment_is_renamed(struct codectl_attachment *a,
				  const struct inode *inode)
{
	unsigned int was;

	guard(spinlock)(&attach_names_lock);
	was = a->nlink;
	a->nlink = READ_ONCE(inode->i_nlink);

	return a->nlink != was && !attachment_differs(a);
}

static int attachment_handle_event(struct fsnotify_mark *mark, u32 mask,
				   struct inode *inode, struct inode *dir,
				   const struct qstr *name, u32 cookie)
{
	struct codectl_attachment *a =
		container_of(mark, struct codectl_attachment, mark);

	if (mask & FS_MODIFY || !attachment_is_renamed(a, inode))
		attachment_lose(a);

	return 0;
}

static const struct fsnotify_ops attach_ops = {
	.handle_inode_event	= attachment_handle_event,
	.free_mark		= attachment_free_mark,
};

/* Lookups may still use the inode, which is itself freed only after a grace period. */
static void attachment_put(struct codectl_attachment *a)
{
	struct file *file = a->file;

	scoped_guard(mutex, &attach_mutex) {
		if (!hlist_unhashed(&a->node)) {
			hash_del_rcu(&a->node);
			WRITE_ONCE(codectl_nr_attached, codectl_nr_attached - 1);
		}
		if (!list_empty(&a->list)) {
			list_del(&a->list);
			attached_bytes -= a->table->bytes;
		}
	}
	fsnotify_destroy_mark(&a->mark, attach_group);
	fsnotify_put_mark(&a->mark);
	if (file)
		fput(file);
}

static int attachment_release(struct inode *inode, struct file *file)
{
	struct codectl_attachment *a = file->private_data;

	/* Nothing was attached. */
	if (!a)
		return 0;

	trace_code_detach(a, CODECTL_DETACH_CLOSED);
	attachment_put(a);

	return 0;
}

static const char *attachment_state(struct codectl_attachment *a)
{
	if (attachment_differs(a))
		attachment_lose(a);

	return READ_ONCE(a->state) == ATTACHMENT_LIVE ? "attached" : "written";
}

static void attachment_show_fdinfo(struct seq_file *m, struct file *file)
{
	struct codectl_attachment *a = file->private_data;
	const struct inode *inode = a->inode;

	seq_printf(m, "id:\t%#llx\ndev:\t%02x:%02x\nino:\t%llu\nrows:\t%u\nbytes:\t%zu\nstate:\t%s\n",
		   a->id, MAJOR(inode->i_sb->s_dev), MINOR(inode->i_sb->s_dev),
		   (u64)inode->i_ino, a->table->nr_rows, a->table->bytes,
		   attachment_state(a));
}

static const struct file_operations attachment_fops = {
	.release	= attachment_release,
	.show_fdinfo	= attachment_show_fdinfo,
	.llseek		= noop_llseek,
};

static int attach_check_segments(const struct codectl_attachment *a)
{
	const struct code_file_segment *s;
	u64 end;

	for (s = a->segments; s < a->segments + a->nr_segments; s++) {
		if (!s->len || check_add_overflow(s->offset, s->len, &end) ||
		    end > MAX_LFS_FILESIZE || s->len > TASK_SIZE_MAX ||
		    s->vaddr > TASK_SIZE_MAX - s->len)
			return -EINVAL;
	}

	return 0;
}

static int attach_check(const struct code_file_info *info)
{
	if (info->__reserved)
		return -EINVAL;
	if (info->unwind_format != CODE_UNWIND_FORMAT_SFRAME)
		return -EOPNOTSUPP;
	if (!info->nr_segments || info->nr_segments > CODE_FILE_MAX_SEGMENTS)
		return -EINVAL;
	if (!info->table_len || info->table > TASK_SIZE_MAX ||
	    info->table_len > TASK_SIZE_MAX - info->table ||
	    info->table_addr > TASK_SIZE_MAX - info->table_len)
		return -EINVAL;

	return 0;
}

/* The file must be a regular one, open for reading. */
static int attach_get_file(struct codectl_attachment *a, int fd)
{
	struct file *file = fget(fd);

	if (!file)
		return -EBADF;
	a->file = file;
	if (!(file->f_mode & FMODE_READ))
		return -EBADF;
	if (!S_ISREG(file_inode(file)->i_mode))
		return -EINVAL;

	/* On overlayfs, the inode that backs the mappings of all its mounts. */
	a->inode = d_real_inode(file_dentry(file));
	if (!a->inode)
		return -EINVAL;

	return 0;
}

/*
 * Done before the table is read, so that a change meanwhile is noticed.  If two tasks
 * attach a table to one file, the mark lets only one pass.
 */
static int attach_watch(struct codectl_attachment *a)
{
	struct inode *inode = (struct inode *)a->inode;
	struct kstat stat;
	int ret;

	a->mark.mask = FS_MODIFY | FS_ATTRIB;
	a->mark.flags |= FSNOTIFY_MARK_FLAG_NO_IREF;
	ret = fsnotify_add_inode_mark(&a->mark, inode, 0);
	if (ret)
		return ret;

	/* Make the file system give the next change another time, however soon it comes. */
	if (is_mgtime(inode))
		fill_mg_cmtime(&stat, STATX_MTIME, inode);
	a->mtime = inode_get_mtime(inode);
	a->file_size = i_size_read(inode);
	scoped_guard(spinlock, &attach_names_lock)
		a->nlink = READ_ONCE(inode->i_nlink);
	scoped_guard(mutex, &attach_mutex) {
		hash_add_rcu(attachments, &a->node, (unsigned long)inode);
		WRITE_ONCE(codectl_nr_attached, codectl_nr_attached + 1);
	}

	/*
	 * Writes through a mapping cause no event.  Whoever maps it from now on finds
	 * the attachment: pairs with codectl_link_shared().
	 */
	smp_mb();

	return mapping_writably_mapped(inode->i_mapping) ? -ETXTBSY : 0;
}

static size_t attach_room(void)
{
	const size_t max = (size_t)READ_ONCE(attached_max_kb) * SZ_1K;
	const size_t used = READ_ONCE(attached_bytes);

	return max > used ? max - used : 0;
}

static int attach_read_table(struct codectl_attachment *a,
			     const struct code_file_info *info)
{
	struct sframe_section sec = {
		.start = info->table,
		.end = info->table + info->table_len,
		.bias = info->table_addr - info->table,
	};
	struct resident_table *table;
	int ret;

	ret = sframe_read_header(&sec);
	if (ret)
		return ret;

	table = resident_build(&sec, attach_room());
	if (IS_ERR(table))
		return PTR_ERR(table);
	a->table = table;

	return 0;
}

/* The limit may have been lowered, or the file written to. */
static int attach_publish(struct codectl_attachment *a)
{
	guard(mutex)(&attach_mutex);
	if (a->table->bytes > attach_room())
		return -ENOSPC;
	/* All of it before the state; pairs with codectl_attachment_of(). */
	if (attachment_differs(a) ||
	    cmpxchg(&a->state, ATTACHMENT_NEW, ATTACHMENT_LIVE) != ATTACHMENT_NEW)
		return -EAGAIN;

	attached_bytes += a->table->bytes;
	list_add_tail(&a->list, &attachment_list);
	trace_code_attach(a);

	return 0;
}

/* Built in parallel, each table would be given all of the room that is left. */
static int attach_build(struct codectl_attachment *a,
			const struct code_file_info *info)
{
	int ret;

	ret = mutex_lock_killable(&attach_build_mutex);
	if (ret)
		return ret;

	ret = attach_read_table(a, info) ?: attach_publish(a);
	mutex_unlock(&attach_build_mutex);

	return ret;
}

/* Fills in all but table and descriptor; on failure the caller releases what there is. */
static int attach_fill(struct codectl_attachment *a,
		       const struct code_file_info *info)
{
	int ret;

	if (copy_from_user(a->segments, u64_to_user_ptr(info->segments),
			   flex_array_size(a, segments, info->nr_segments)))
		return -EFAULT;
	a->nr_segments = info->nr_segments;
	ret = attach_check_segments(a);
	if (!ret)
		ret = attach_get_file(a, info->fd);

	return ret ?: attach_watch(a);
}

static struct codectl_attachment *attach_make(const struct code_file_info *info)
{
	struct codectl_attachment *a;
	int ret;

	a = kzalloc_flex(*a, segments, info->nr_segments, GFP_KERNEL_ACCOUNT);
	if (!a)
		return ERR_PTR(-ENOMEM);
	a->id = codectl_next_id();
	INIT_LIST_HEAD(&a->list);
	INIT_RCU_WORK(&a->work, attachment_free_work);
	fsnotify_init_mark(&a->mark, attach_group);

	ret = attach_fill(a, info) ?: attach_build(a, info);
	if (ret) {
		attachment_put(a);
		return ERR_PTR(ret);
	}

	return a;
}

/**
 * codectl_attach() - CODE_ATTACH_FILE
 * @uinfo: &struct code_file_info
 * @usize: its size
 *
 * Context: process.
 * Return: a descriptor, or a negative error.
 */
long codectl_attach(const void __user *uinfo, size_t usize)
{
	struct codectl_attachment *a;
	struct code_file_info info;
	int ret;

	BUILD_BUG_ON(sizeof(struct code_file_info) != CODE_FILE_INFO_SIZE_VER0);
	BUILD_BUG_ON(sizeof(struct code_file_segment) != CODE_FILE_SEGMENT_SIZE);

	if (usize > PAGE_SIZE)
		return -E2BIG;
	if (usize < CODE_FILE_INFO_SIZE_VER0)
		return -EINVAL;
	ret = copy_struct_from_user(&info, sizeof(info), uinfo, usize);
	if (ret)
		return ret;
	if (!perfmon_capable())
		return -EPERM;
	ret = attach_check(&info);
	if (ret)
		return ret;

	FD_PREPARE(fdf, O_CLOEXEC,
		   anon_inode_getfile("[codectl]", &attachment_fops, NULL, 0));
	if (fdf.err)
		return fdf.err;
	a = attach_make(&info);
	if (IS_ERR(a))
		return PTR_ERR(a);
	fd_prepare_file(fdf)->private_data = a;

	return fd_publish(fdf);
}

/* /proc/codectl_files: what is attached to which file, one line each */
static void *attach_seq_start(struct seq_file *m, loff_t *pos)
{
	mutex_lock(&attach_mutex);

	return seq_list_start(&attachment_list, *pos);
}

static void *attach_seq_next(struct seq_file *m, void *v, loff_t *pos)
{
	return seq_list_next(v, &attachment_list, pos);
}

static void attach_seq_stop(struct seq_file *m, void *v)
{
	mutex_unlock(&attach_mutex);
}

static int attach_seq_show(struct seq_file *m, void *v)
{
	struct codectl_attachment *a =
		list_entry(v, struct codectl_attachment, list);
	const struct inode *inode = a->inode;

	seq_printf(m, "%#llx %02x:%02x %llu %u %zu %s ", a->id,
		   MAJOR(inode->i_sb->s_dev), MINOR(inode->i_sb->s_dev),
		   (u64)inode->i_ino, a->table->nr_rows, a->table->bytes,
		   attachment_state(a));
	seq_file_path(m, a->file, "\n\\");
	seq_putc(m, '\n');

	return 0;
}

static const struct seq_operations attach_seq_ops = {
	.start	= attach_seq_start,
	.next	= attach_seq_next,
	.stop	= attach_seq_stop,
	.show	= attach_seq_show,
};

/* The paths are those of everybody, in whatever container. */
static int attach_seq_open(struct inode *inode, struct file *file)
{
	return perfmon_capable() ? seq_open(file, &attach_seq_ops) : -EPERM;
}

static const struct proc_ops attach_proc_ops = {
	.proc_open	= attach_seq_open,
	.proc_read	= seq_read,
	.proc_lseek	= seq_lseek,
	.proc_release	= seq_release,
};

static int __init attach_init(void)
{
	struct fsnotify_group *group;

	group = fsnotify_alloc_group(&attach_ops, 0);
	if (IS_ERR(group))
		panic("codectl: no memory for attached tables\n");
	attach_group = group;
	register_sysctl_init("kernel", attach_sysctls);
	proc_create("codectl_files", 0400, NULL, &attach_proc_ops);

	return 0;
}
fs_initcall(attach_init);

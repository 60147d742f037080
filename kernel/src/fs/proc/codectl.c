// SPDX-License-Identifier: GPL-2.0
/*
 * /proc/PID/codectl: the registered code of a process
 *
 * A line for each registration and then, for those who may attach tables to files, for
 * each text that has one; or, by ioctl, the registration that covers an address.  Each
 * is of one moment, what is there throughout a pass over the file is shown, and no two
 * lines of either kind overlap.
 *
 * Neither the address space nor a lock is held while waiting for a file that the code
 * is from.
 */
#include <linux/bits.h>
#include <linux/capability.h>
#include <linux/codectl_query.h>
#include <linux/dcache.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/kdev_t.h>
#include <linux/limits.h>
#include <linux/mm.h>
#include <linux/path.h>
#include <linux/ptrace.h>
#include <linux/sched/mm.h>
#include <linux/sched/task.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string_helpers.h>
#include <linux/uaccess.h>

#include "internal.h"

/* What would end a line, or could be taken for an escape. */
#define CODECTL_ESCAPE							\
	"\001\002\003\004\005\006\007\010\011\012\013\014\015\016\017"	\
	"\020\021\022\023\024\025\026\027\030\031\032\033\034\035\036"	\
	"\037\177\\"
/* And in a field that is not the last one. */
#define CODECTL_ESCAPE_FIELD	" " CODECTL_ESCAPE

/* Positions: addresses for registrations; with this bit, for attached tables. */
#define CODECTL_ATTACHED	((loff_t)BIT_ULL(62))
#define CODECTL_END		LLONG_MAX

struct codectl_private {
	struct inode		*inode;
	struct mm_struct	*mm;
	bool			may_attach;
	/* What is shown. */
	union {
		struct code_query	query;
		struct codectl_attached	attached;
	};
};

/* -ESRCH: the address space has no users any more. */
static struct codectl_region *codectl_get_user_next(struct mm_struct *mm,
						    unsigned long addr)
{
	struct codectl_region *region;

	if (!mmget_not_zero(mm))
		return ERR_PTR(-ESRCH);
	region = codectl_get_next(mm, addr);
	mmput(mm);

	return region;
}

static void *codectl_seq_attached(struct codectl_private *priv, loff_t *pos)
{
	if (priv->may_attach && *pos != CODECTL_END &&
	    codectl_get_attached(priv->mm, *pos & ~CODECTL_ATTACHED,
				 &priv->attached) == 1)
		return &priv->attached;
	*pos = CODECTL_END;

	return NULL;
}

static void *codectl_seq_get(struct codectl_private *priv, loff_t *pos)
{
	struct codectl_region *region;

	if (*pos >= CODECTL_ATTACHED)
		return codectl_seq_attached(priv, pos);
	region = codectl_get_user_next(priv->mm, *pos);
	if (IS_ERR_OR_NULL(region)) {
		*pos = region ? CODECTL_END : CODECTL_ATTACHED;
		return codectl_seq_attached(priv, pos);
	}
	codectl_fill_query(region, &priv->query);

	return region;
}

static void codectl_seq_put(struct codectl_private *priv, void *v)
{
	if (v == &priv->attached)
		fput(priv->attached.file);
	else
		codectl_region_put(v);
}

/* The position is the address from which there may be more. */
static void *codectl_start(struct seq_file *m, loff_t *pos)
{
	struct codectl_private *priv = m->private;
	struct task_struct *task;

	if (*pos == CODECTL_END || !priv->mm)
		return NULL;

	task = get_proc_task(priv->inode);
	if (!task)
		return ERR_PTR(-ESRCH);
	put_task_struct(task);

	return codectl_seq_get(priv, pos);
}

static void *codectl_next(struct seq_file *m, void *v, loff_t *pos)
{
	struct codectl_private *priv = m->private;

	*pos = v == &priv->attached ?
	       CODECTL_ATTACHED | priv->attached.text_end :
	       priv->query.text_end;
	codectl_seq_put(priv, v);

	return codectl_seq_get(priv, pos);
}

static void codectl_stop(struct seq_file *m, void *v)
{
	if (!IS_ERR_OR_NULL(v))
		codectl_seq_put(m->private, v);
}

static void codectl_show_file(struct seq_file *m, const struct code_query *q,
			      const struct codectl_origin *origin)
{
	static const char * const who[] = {
		[CODE_NAMES_NONE]	= "none",
		[CODE_NAMES_VERIFIED]	= "verified",
		[CODE_NAMES_CLAIMED]	= "claimed",
	};

	seq_printf(m, " id=0x%llx file=0x%llx dev=%02x:%02x inode=%llu offset=0x%llx names=%s build_id=",
		   q->id, q->file_id, q->dev_major, q->dev_minor, q->inode,
		   q->file_offset, who[q->names]);
	if (origin->build_id_len)
		seq_printf(m, "%*phN", origin->build_id_len, origin->build_id);
	else
		seq_putc(m, '-');
}

static void codectl_show_debug_link(struct seq_file *m, const char *name)
{
	seq_puts(m, " debug_link=");
	if (!name)
		seq_putc(m, '-');
	else if (!strcmp(name, "-"))
		seq_puts(m, "\\055");
	else
		seq_escape_str(m, name, ESCAPE_OCTAL, CODECTL_ESCAPE_FIELD);
}

static void codectl_show_path(struct seq_file *m,
			      const struct codectl_origin *origin)
{
	seq_puts(m, " path=");
	if (origin->file)
		seq_path(m, file_user_path(origin->file), CODECTL_ESCAPE);
	else if (origin->path)
		seq_escape_str(m, origin->path, ESCAPE_OCTAL, CODECTL_ESCAPE);
}

static void codectl_show_jit(struct seq_file *m, const struct code_query *q)
{
	seq_printf(m, "jit fre_size=%d flags=0x%x head=%llx seq=%llx rule=%d,%d,%d,0x%x",
		   CODE_JIT_UNWIND_FRE_SIZE, q->jit_flags, q->unwind_head,
		   q->seq, q->cfa_off, q->ra_off, q->fp_off, q->info);
	if (q->granule_shift)
		seq_printf(m, " slots=%llx pool=%llx pool_len=0x%llx granule_shift=%u",
			   q->slots, q->pool, q->pool_len, q->granule_shift);
}

/* What was registered, in full. */
static void codectl_show_fields(struct seq_file *m,
				const struct codectl_region *region,
				const struct code_query *q)
{
	u64 addr = codectl_sframe_addr(region);

	if (q->kind == CODE_REGISTER_JIT) {
		codectl_show_jit(m, q);
		return;
	}

	seq_printf(m, "elf format=0 elf=%llx-%llx sframe=%llx-%llx",
		   q->elf_start, q->elf_end, q->sframe_start, q->sframe_end);
	if (addr)
		seq_printf(m, " sframe_addr=%llx", addr);
}

/* With the ids that the trace has for them. */
static int codectl_get_names(struct codectl_private *priv, bool wait,
			     const struct codectl_region *region,
			     struct code_query *q, struct codectl_origin *origin)
{
	struct task_struct *task = get_proc_task(priv->inode);
	struct path root = {};
	int ret;

	if (task)
		codectl_get_root(task, &root);
	ret = codectl_get_origin(priv->mm, root.mnt ? &root : NULL,
				 wait || priv->mm == current->mm, region, q,
				 origin);
	path_put(&root);
	if (task)
		put_task_struct(task);

	return ret;
}

static int codectl_show_attached(struct seq_file *m,
				 const struct codectl_attached *attached)
{
	const struct inode *inode = file_user_inode(attached->file);

	seq_printf(m, "%08lx-%08lx attached rows=%u bytes=%zu id=0x%llx file=0x0 dev=%02x:%02x inode=%llu offset=0x%llx names=verified build_id=- path=",
		   attached->text_start, attached->text_end, attached->nr_rows,
		   attached->bytes, attached->id, MAJOR(inode->i_sb->s_dev),
		   MINOR(inode->i_sb->s_dev), (u64)inode->i_ino,
		   attached->offset);
	seq_path(m, file_user_path(attached->file), CODECTL_ESCAPE);
	seq_putc(m, '\n');

	return 0;
}

static int codectl_show(struct seq_file *m, void *v)
{
	struct codectl_private *priv = m->private;
	struct code_query *q = &priv->query;
	bool attached = v == &priv->attached;
	struct codectl_origin origin;
	int ret;

	/* It was not there throughout the pass, and may overlap what the pass has shown. */
	if ((attached ? priv->attached.text_start : q->text_start) <
	    (m->index & ~CODECTL_ATTACHED))
		return SEQ_SKIP;
	if (attached)
		return codectl_show_attached(m, v);

	ret = codectl_get_names(priv, false, v, q, &origin);
	if (ret)
		return ret == -ESRCH ? SEQ_SKIP : ret;

	seq_printf(m, "%08llx-%08llx ", q->text_start, q->text_end);
	codectl_show_fields(m, v, q);
	codectl_show_file(m, q, &origin);
	if (q->kind == CODE_REGISTER_ELF) {
		codectl_show_debug_link(m, origin.debug_link);
		seq_printf(m, " debug_link_crc=0x%x", q->debug_link_crc);
	}
	codectl_show_path(m, &origin);
	seq_putc(m, '\n');
	codectl_put_origin(&origin);

	return 0;
}

static const struct seq_operations codectl_seq_ops = {
	.start	= codectl_start,
	.next	= codectl_next,
	.stop	= codectl_stop,
	.show	= codectl_show,
};

static int codectl_open(struct inode *inode, struct file *file)
{
	struct codectl_private *priv;

	priv = __seq_open_private(file, &codectl_seq_ops, sizeof(*priv));
	if (!priv)
		return -ENOMEM;

	priv->inode = inode;
	priv->may_attach = perfmon_capable();
	priv->mm = proc_mem_open(inode, PTRACE_MODE_READ);
	if (IS_ERR(priv->mm)) {
		int ret = PTR_ERR(priv->mm);

		seq_release_private(inode, file);
		return ret;
	}

	return 0;
}

static int codectl_release(struct inode *inode, struct file *file)
{
	struct seq_file *m = file->private_data;
	struct codectl_private *priv = m->private;

	if (priv->mm)
		mmdrop(priv->mm);

	return seq_release_private(inode, file);
}

/* Cuts nothing: an error if it does not fit, and not given if there is no buffer. */
static int codectl_give(u64 to, u32 *size, const void *from, u32 len)
{
	u32 room = *size;

	*size = room ? len : 0;
	if (!room || !len)
		return 0;
	if (len > room)
		return -ENAMETOOLONG;

	return copy_to_user(u64_to_user_ptr(to), from, len) ? -EFAULT : 0;
}

static int codectl_give_string(u64 to, u32 *size, const char *str)
{
	return codectl_give(to, size, str, str ? strlen(str) + 1 : 0);
}

static int codectl_give_path(u64 to, u32 *size,
			     const struct codectl_origin *origin)
{
	u32 room = min_t(u32, *size, PATH_MAX);
	char *buf, *path;
	int ret;

	if (!room || !origin->file)
		return codectl_give_string(to, size, origin->path);

	buf = kmalloc(room, GFP_KERNEL);
	if (!buf)
		return -ENOMEM;
	path = d_path(file_user_path(origin->file), buf, room);
	ret = IS_ERR(path) ? PTR_ERR(path) :
			     codectl_give_string(to, size, path);
	kfree(buf);

	return ret;
}

static int codectl_query_names(struct codectl_private *priv,
			       const struct codectl_region *region,
			       struct code_query *q)
{
	struct codectl_origin origin;
	int ret;

	ret = codectl_get_names(priv, q->query_flags & CODE_QUERY_WAIT, region,
				q, &origin);
	if (ret)
		return ret;

	ret = codectl_give_path(q->path_addr, &q->path_size, &origin);
	if (!ret)
		ret = codectl_give(q->build_id_addr, &q->build_id_size,
				   origin.build_id, origin.build_id_len);
	if (!ret)
		ret = codectl_give_string(q->debug_link_addr,
					  &q->debug_link_size, origin.debug_link);
	codectl_put_origin(&origin);

	return ret;
}

static int codectl_check_query(const struct code_query *q)
{
	if (q->query_flags & ~(CODE_QUERY_OR_NEXT | CODE_QUERY_FILE |
			       CODE_QUERY_WAIT))
		return -EINVAL;
	if (q->__reserved[0] || q->__reserved[1] || q->__reserved2)
		return -EINVAL;
	if (!q->path_addr != !q->path_size ||
	    !q->build_id_addr != !q->build_id_size ||
	    !q->debug_link_addr != !q->debug_link_size)
		return -EINVAL;

	return 0;
}

/* Touches no mapping unless names are asked for. */
static int codectl_query_region(struct codectl_private *priv,
				struct code_query *q)
{
	struct codectl_region *region = codectl_get_user_next(priv->mm,
							      q->query_addr);
	int ret = 0;

	if (IS_ERR_OR_NULL(region))
		return region ? PTR_ERR(region) : -ENOENT;

	codectl_fill_query(region, q);
	if (!(q->query_flags & CODE_QUERY_OR_NEXT) &&
	    q->query_addr < q->text_start)
		ret = -ENOENT;
	else if ((q->query_flags & CODE_QUERY_FILE) || q->path_size ||
		 q->build_id_size || q->debug_link_size)
		ret = codectl_query_names(priv, region, q);
	codectl_region_put(region);

	return ret;
}

/* From the first output field to the last. */
#define CODECTL_ANSWER		offsetof(struct code_query, text_start)
#define CODECTL_ANSWER_SIZE						\
	(offsetofend(struct code_query, debug_link_size) - CODECTL_ANSWER)

static int codectl_query(struct codectl_private *priv, void __user *uquery)
{
	void __user *uanswer = uquery + CODECTL_ANSWER;
	struct code_query q __uninitialized;
	void *answer = (void *)&q + CODECTL_ANSWER;
	u64 usize;
	int ret;

	BUILD_BUG_ON(sizeof(struct code_query) != CODE_QUERY_SIZE_VER0);

	if (get_user(usize, (u64 __user *)uquery))
		return -EFAULT;
	if (usize > PAGE_SIZE)
		return -E2BIG;
	if (usize < CODE_QUERY_SIZE_VER0)
		return -EINVAL;
	ret = copy_struct_from_user(&q, sizeof(q), uquery, usize);
	if (ret)
		return ret;
	ret = codectl_check_query(&q);
	if (ret)
		return ret;
	if (!priv->mm)
		return -ESRCH;

	ret = codectl_query_region(priv, &q);
	if (ret)
		return ret;

	/* Done byte by byte, this would be a fifth of the whole query. */
	scoped_user_write_access_size(uanswer, CODECTL_ANSWER_SIZE, fault)
		unsafe_copy_to_user(uanswer, answer, CODECTL_ANSWER_SIZE, fault);

	return 0;

fault:
	return -EFAULT;
}

static long codectl_ioctl(struct file *file, unsigned int cmd,
			  unsigned long arg)
{
	struct seq_file *m = file->private_data;
	struct codectl_private *priv = m->private;

	/* The number contains the size of the structure, which may be a later one. */
	if (_IOC_TYPE(cmd) != _IOC_TYPE(CODE_QUERY) ||
	    _IOC_NR(cmd) != _IOC_NR(CODE_QUERY))
		return -ENOIOCTLCMD;

	return codectl_query(priv, (void __user *)arg);
}

const struct file_operations proc_pid_codectl_operations = {
	.open		= codectl_open,
	.read		= seq_read,
	.llseek		= seq_lseek,
	.release	= codectl_release,
	.unlocked_ioctl	= codectl_ioctl,
	.compat_ioctl	= compat_ptr_ioctl,
};

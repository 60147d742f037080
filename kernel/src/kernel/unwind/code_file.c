// SPDX-License-Identifier: GPL-2.0
/*
 * Ids of the files that code comes from
 *
 * The id of a file lives in an fsnotify mark on its inode.  The mark does not hold the
 * inode: an id pins neither inode nor file system, and whatever reuses the address or
 * the inode number of a file that is gone has no id yet.  The same mark is notified
 * when the file is written to or renamed, so that an id that was explained by a path
 * and a build-id stands for these only.
 *
 * The table by id has the files that are not freed yet, the table by inode those whose
 * mark is still there.  Readers hold RCU; code_files_lock is for adding and removing.
 * A stack looks its files up under RCU, writes nothing, and holds none of them
 * afterwards: CPUs that take stacks of one library share no memory that is written to.
 *
 * A file system with a mark reports each access to fsnotify.  So marks are dropped when
 * nobody has asked for a while, unless an instance of the trace has ids in its stacks.
 */
#include <linux/codectl.h>
#include <linux/fs.h>
#include <linux/init.h>
#include <linux/jiffies.h>
#include <linux/rhashtable.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/unwind_user.h>
#include <linux/workqueue.h>

#include "code_file.h"
#include "registry.h"

#define CODE_FILE_EVENTS	(FS_MODIFY | FS_MOVE_SELF)
#define CODE_FILES_IDLE		(10 * HZ)

static struct fsnotify_group *code_file_group __ro_after_init;
static struct code_file *vdso_file __ro_after_init;
static struct rhashtable code_files;
static struct rhltable code_files_by_inode;
static DEFINE_SPINLOCK(code_files_lock);

static const struct rhashtable_params by_id_params = {
	.head_offset		= offsetof(struct code_file, by_id),
	.key_offset		= offsetof(struct code_file, id),
	.key_len		= sizeof_field(struct code_file, id),
	.automatic_shrinking	= true,
};

static const struct rhashtable_params by_inode_params = {
	.head_offset		= offsetof(struct code_file, by_inode),
	.key_offset		= offsetof(struct code_file, inode),
	.key_len		= sizeof_field(struct code_file, inode),
	.automatic_shrinking	= true,
};

static void code_files_age(struct work_struct *work);
static DECLARE_DELAYED_WORK(code_files_work, code_files_age);
static atomic_t code_files_users;
static bool code_files_asked;

static struct code_file *code_file_alloc(const char *path)
{
	size_t size = strlen(path) + 1;
	struct code_file *cf;

	cf = kzalloc_flex(*cf, path, size, GFP_KERNEL_ACCOUNT);
	if (!cf)
		return NULL;
	memcpy(cf->path, path, size);
	cf->id = codectl_next_id();
	INIT_LIST_HEAD(&cf->all);

	return cf;
}

/*
 * From now on it can be looked up by its id, and nothing in it changes any more.  Under
 * code_files_lock, as is the next function.
 */
static void code_file_publish(struct code_file *cf, struct code_file *first)
{
	cf->first = first;
	list_add(&cf->link, &first->all);
	/* If memory is short, the id has no names. */
	rhashtable_insert_fast(&code_files, &cf->by_id, by_id_params);
}

/* Lets it be found by its inode; if memory is short, only by its mark. */
static void code_file_offer(struct code_file *cf)
{
	if (!cf->first->is_gone)
		rhltable_insert(&code_files_by_inode, &cf->by_inode,
				by_inode_params);
}

/* Before the inode is freed, and its memory reused for another one. */
static void code_file_freeing_mark(struct fsnotify_mark *mark,
				   struct fsnotify_group *group)
{
	struct code_file *first = container_of(mark, struct code_file, mark);
	struct code_file *cf;

	guard(spinlock)(&code_files_lock);
	first->is_gone = true;
	list_for_each_entry(cf, &first->all, link)
		rhltable_remove(&code_files_by_inode, &cf->by_inode,
				by_inode_params);
}

/* The last reference is gone. */
static void code_file_free_mark(struct fsnotify_mark *mark)
{
	struct code_file *first = container_of(mark, struct code_file, mark);
	struct code_file *cf, *next;
	LIST_HEAD(all);

	scoped_guard(spinlock, &code_files_lock) {
		list_splice_init(&first->all, &all);
		list_for_each_entry(cf, &all, link)
			rhashtable_remove_fast(&code_files, &cf->by_id,
					       by_id_params);
	}
	list_for_each_entry_safe(cf, next, &all, link)
		kfree_rcu(cf, rcu);
}

static int code_file_handle_event(struct fsnotify_mark *mark, u32 mask,
				  struct inode *inode, struct inode *dir,
				  const struct qstr *name, u32 cookie)
{
	WRITE_ONCE(container_of(mark, struct code_file, mark)->stale, true);

	return 0;
}

static const struct fsnotify_ops code_file_ops = {
	.handle_inode_event	= code_file_handle_event,
	.freeing_mark		= code_file_freeing_mark,
	.free_mark		= code_file_free_mark,
};

/*
 * Not every write is reported to the mark: those through a memfd, by aio, or to a
 * shared mapping are not.
 */
static bool code_file_is_changed(const struct code_file *cf)
{
	struct timespec64 ctime = inode_get_ctime(cf->real);

	return !timespec64_equal(&cf->ctime, &ctime);
}

/* Under RCU; @file is held. */
static const struct code_file *code_file_find(const struct file *file,
					      const char *path)
{
	const struct inode *inode = file_user_inode(file);
	const struct code_file *cf;
	struct rhlist_head *list, *pos;

	list = rhltable_lookup(&code_files_by_inode, &inode, by_inode_params);
	rhl_for_each_entry_rcu(cf, pos, list, by_inode) {
		if (cf->real == file_inode(file) && !strcmp(cf->path, path))
			return READ_ONCE(cf->first->stale) ||
			       code_file_is_changed(cf) ? NULL : cf;
	}

	return NULL;
}

/* The first entry of a file, if the file has not changed since. */
static struct code_file *code_file_find_first(struct inode *inode,
					      const struct file *file)
{
	struct fsnotify_mark *mark;
	struct code_file *first, *cf;
	bool changed;

	mark = fsnotify_find_inode_mark(inode, code_file_group);
	if (!mark)
		return NULL;

	first = container_of(mark, struct code_file, mark);
	scoped_guard(spinlock, &code_files_lock) {
		changed = READ_ONCE(first->stale);
		list_for_each_entry(cf, &first->all, link)
			changed |= cf->real == file_inode(file) &&
				   code_file_is_changed(cf);
	}
	if (!changed)
		return first;

	fsnotify_destroy_mark(mark, code_file_group);
	fsnotify_put_mark(mark);

	return NULL;
}

/*
 * Does not wait in exit or inside execve(), which disables page faults, as others wait
 * for the locks held there.  Returns false if it could not be read without waiting.
 */
static bool code_file_read_build_id(struct file *file, bool wait, u8 *build_id,
				    u8 *len)
{
	u32 size;
	int ret;

	wait = wait && !(current->flags & PF_EXITING) &&
	       !fatal_signal_pending(current) && !pagefault_disabled();
	*len = 0;
	if (!S_ISREG(file_inode(file)->i_mode))
		return true;

	ret = wait ? build_id_parse_file(file, build_id, &size) :
		     build_id_parse_file_nofault(file, build_id, &size);
	if (!ret)
		*len = size;

	/* A temporary failure is no answer. */
	return (wait || ret != -EFAULT) && ret != -EINTR && ret != -ENOMEM &&
	       ret != -EAGAIN;
}

static struct code_file *code_file_create(struct file *file, const char *path)
{
	const struct inode *inode = file_user_inode(file);
	struct code_file *cf;

	cf = code_file_alloc(path);
	if (!cf)
		return NULL;
	cf->inode = inode;
	cf->ino = inode->i_ino;
	cf->dev = inode->i_sb->s_dev;
	cf->real = file_inode(file);
	cf->ctime = inode_get_ctime(cf->real);

	return cf;
}

/*
 * Was the file written to after its build-id was read, but before the mark could
 * notice?
 */
static void code_file_recheck(struct code_file *cf, struct file *file, bool wait)
{
	u8 build_id[BUILD_ID_SIZE_MAX];
	u8 len;

	if (!code_file_read_build_id(file, wait, build_id, &len) ||
	    len != cf->build_id_len || memcmp(build_id, cf->build_id, len))
		WRITE_ONCE(cf->stale, true);
}

/* -EEXIST: somebody else was faster. */
static int code_file_attach(struct code_file *cf, struct inode *inode)
{
	int ret;

	fsnotify_init_mark(&cf->mark, code_file_group);
	cf->mark.mask = CODE_FILE_EVENTS;
	cf->mark.flags |= FSNOTIFY_MARK_FLAG_NO_IREF;
	ret = fsnotify_add_inode_mark(&cf->mark, inode, 0);
	if (ret)
		fsnotify_put_mark(&cf->mark);
	else
		schedule_delayed_work(&code_files_work, CODE_FILES_IDLE);

	return ret;
}

static int code_file_add_first(struct code_file *cf, struct inode *inode,
			       struct file *file, bool wait)
{
	int ret;

	/* The next one to ask gets another id, and with it a build-id. */
	cf->stale = !code_file_read_build_id(file, wait, cf->build_id,
					     &cf->build_id_len);
	scoped_guard(spinlock, &code_files_lock)
		code_file_publish(cf, cf);
	ret = code_file_attach(cf, inode);
	if (ret)
		return ret;

	code_file_recheck(cf, file, wait);
	scoped_guard(spinlock, &code_files_lock)
		code_file_offer(cf);

	return 0;
}

/* Under code_files_lock. */
static struct code_file *code_file_find_other(struct code_file *first,
					      const struct file *file,
					      const char *path)
{
	struct code_file *cf;

	list_for_each_entry(cf, &first->all, link) {
		if (cf->real == file_inode(file) && !strcmp(cf->path, path))
			return cf;
	}

	return NULL;
}

/* For the same contents under another path; fails if they changed meanwhile. */
static bool code_file_copy_build_id(struct code_file *to,
				    struct code_file *first)
{
	struct code_file *cf;

	guard(spinlock)(&code_files_lock);
	list_for_each_entry(cf, &first->all, link) {
		if (cf->real != to->real ||
		    !timespec64_equal(&cf->ctime, &to->ctime))
			continue;
		to->build_id_len = cf->build_id_len;
		memcpy(to->build_id, cf->build_id, sizeof(to->build_id));
		return true;
	}

	return false;
}

/* Takes over @cf.  Somebody else may have been faster. */
static struct code_file *code_file_add(struct code_file *cf,
				       struct code_file *first,
				       struct file *file, bool wait)
{
	struct code_file *old;

	/* Since the time was noted, writes are reported to the mark. */
	if (!code_file_copy_build_id(cf, first) &&
	    !code_file_read_build_id(file, wait, cf->build_id,
				     &cf->build_id_len))
		WRITE_ONCE(first->stale, true);

	scoped_guard(spinlock, &code_files_lock) {
		old = code_file_find_other(first, file, cf->path);
		if (old) {
			kfree(cf);
			return old;
		}
		code_file_publish(cf, first);
		code_file_offer(cf);
		if (++first->nr >= CODE_FILE_MAX_IDS)
			WRITE_ONCE(first->stale, true);
	}

	return cf;
}

/* Takes over the reference to @first, or passes it to what is returned. */
static struct code_file *code_file_get_other(struct code_file *first,
					     struct file *file,
					     const char *path, bool wait)
{
	struct code_file *cf;

	scoped_guard(spinlock, &code_files_lock)
		cf = code_file_find_other(first, file, path);
	if (cf)
		return cf;

	cf = code_file_create(file, path);
	if (cf)
		return code_file_add(cf, first, file, wait);
	code_file_put(first);

	return NULL;
}

static struct code_file *code_file_get_path(struct file *file,
					    const char *path, bool wait)
{
	struct inode *inode = (struct inode *)file_user_inode(file);
	struct code_file *cf;
	int ret;

	do {
		cf = code_file_find_first(inode, file);
		if (cf)
			return code_file_get_other(cf, file, path, wait);

		cf = code_file_create(file, path);
		if (!cf)
			return NULL;
		ret = code_file_add_first(cf, inode, file, wait);
	} while (ret == -EEXIST);

	return ret ? NULL : cf;
}

/**
 * code_file_get() - get the id of a file
 * @file: the file
 * @root: root directory of the process that it is mapped in, or NULL for the caller's
 * @wait: whether to wait for the file
 *
 * Reads the build-id if the file has no id yet.  Without @wait there is no build-id if
 * what is needed is not in memory.
 *
 * Context: process; may sleep, and wait for the file, unless page faults are disabled:
 * no lock held.
 * Return: the file with its id, for code_file_put(), or NULL if there is no memory, or
 * the file system allows no watches.
 */
struct code_file *code_file_get(struct file *file, const struct path *root,
				bool wait)
{
	char *buf __free(kfree) = kmalloc(CODE_PATH_BUF_SIZE, GFP_KERNEL);

	if (!buf)
		return NULL;
	WRITE_ONCE(code_files_asked, true);

	return code_file_get_path(file, code_path_of(file, root, buf), wait);
}

/**
 * code_file_put() - release a file
 * @cf: what code_file_get() returned, or NULL
 */
void code_file_put(struct code_file *cf)
{
	if (cf)
		fsnotify_put_mark(&cf->first->mark);
}

/**
 * code_file_find_id() - get the id of a file that already has one
 * @file: the file, mapped in the current process
 * @buf: buffer of CODE_PATH_BUF_SIZE bytes
 *
 * Context: any that may take no interrupt; writes to no memory but @buf.
 * Return: the id, or 0.
 */
u64 code_file_find_id(const struct file *file, char *buf)
{
	const char *path = code_path_of(file, NULL, buf);
	const struct code_file *cf;

	guard(rcu)();
	cf = code_file_find(file, path);

	return cf ? cf->id : 0;
}

/**
 * code_file_by_id() - find the file with this id
 * @id: the id
 *
 * Context: any, under RCU.
 * Return: the file, valid under RCU, or NULL.
 */
const struct code_file *code_file_by_id(u64 id)
{
	return rhashtable_lookup(&code_files, &id, by_id_params);
}

/**
 * code_file_names() - what the id of a file stands for
 * @cf: the file
 * @names: where to store it
 *
 * Context: any.
 */
void code_file_names(const struct code_file *cf, struct codectl_names *names)
{
	names->id = cf->id;
	names->dev = cf->dev;
	names->ino = cf->ino;
	names->names = CODE_NAMES_VERIFIED;
	names->unit = CODECTL_UNIT_FILE;
	names->build_id_len = cf->build_id_len;
	memcpy(names->build_id, cf->build_id, sizeof(names->build_id));
	strscpy(names->path, cf->path);
}

/**
 * code_file_names_of() - what an id stands for, if it is in memory
 * @id: the id
 * @names: where to store it
 *
 * Context: any.
 * Return: whether it is.
 */
bool code_file_names_of(u64 id, struct codectl_names *names)
{
	const struct code_file *cf;

	guard(rcu)();
	cf = code_file_by_id(id);
	if (cf)
		code_file_names(cf, names);

	return cf;
}

/**
 * codectl_walk_files() - iterate over the files that have an id
 * @func: called for each, must not sleep
 * @data: passed to @func
 *
 * Context: process; may sleep.  If memory is short there are none.
 */
void codectl_walk_files(codectl_names_func_t func, void *data)
{
	struct codectl_names *names __free(kfree) = NULL;
	const struct code_file *cf;
	struct rhashtable_iter iter;

	names = kzalloc_obj(*names);
	if (!names)
		return;

	rhashtable_walk_enter(&code_files, &iter);
	do {
		rhashtable_walk_start(&iter);
		while ((cf = rhashtable_walk_next(&iter)) && !IS_ERR(cf)) {
			code_file_names(cf, names);
			func(names, data);
			if (need_resched())
				break;
		}
		rhashtable_walk_stop(&iter);
		cond_resched();
		/* While the table grows, some may come twice. */
	} while (cf);
	rhashtable_walk_exit(&iter);
}

/**
 * code_file_vdso_id() - the id of the vDSO, which has no file
 *
 * Return: the id, or 0.
 */
u64 code_file_vdso_id(void)
{
	return vdso_file ? vdso_file->id : 0;
}

/* The flag before the marks: whoever asks meanwhile gets new ones, or is too late. */
static void code_files_age(struct work_struct *work)
{
	if (xchg(&code_files_asked, false) || atomic_read(&code_files_users))
		schedule_delayed_work(&code_files_work, CODE_FILES_IDLE);
	else
		fsnotify_clear_marks_by_group(code_file_group,
					      FSNOTIFY_OBJ_TYPE_INODE);
}

/**
 * codectl_keep_ids() - keep the ids of files for as long as their inodes live
 */
void codectl_keep_ids(void)
{
	atomic_inc(&code_files_users);
}

/**
 * codectl_drop_ids() - undo codectl_keep_ids()
 */
void codectl_drop_ids(void)
{
	WRITE_ONCE(code_files_asked, true);
	atomic_dec(&code_files_users);
}

static int __init code_file_init(void)
{
	struct fsnotify_group *group;

	group = fsnotify_alloc_group(&code_file_ops, 0);
	if (IS_ERR(group))
		panic("codectl: no memory for file ids\n");
	code_file_group = group;
	if (rhashtable_init(&code_files, &by_id_params) ||
	    rhltable_init(&code_files_by_inode, &by_inode_params))
		panic("codectl: no memory for file ids\n");

	vdso_file = code_file_alloc("[vdso]");
	if (vdso_file) {
		fsnotify_init_mark(&vdso_file->mark, code_file_group);
		vdso_file->build_id_len =
			arch_unwind_user_vdso_build_id(vdso_file->build_id);
		scoped_guard(spinlock, &code_files_lock)
			code_file_publish(vdso_file, vdso_file);
	}

	return 0;
}
fs_initcall(code_file_init);

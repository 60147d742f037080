// SPDX-License-Identifier: GPL-2.0
/*
 * Ids of the files that code comes from
 *
 * The id of a file lives in an fsnotify mark on its inode, one that does not
 * hold the inode: an id pins neither inode nor file system, and what comes to lie
 * at the address, or under the inode number, of a file that is gone has none yet.
 * The same mark is told when the file is written to or renamed, so that an id
 * that was explained by a path and a build-id stands for these only.
 *
 * The table by id has the marks that are not freed yet: RCU for readers,
 * code_files_lock for who adds and removes.
 */
#include <linux/codectl.h>
#include <linux/fs.h>
#include <linux/hashtable.h>
#include <linux/init.h>
#include <linux/mm_types.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/unwind_user.h>

#include "code_file.h"
#include "registry.h"

#define CODE_FILE_EVENTS	(FS_MODIFY | FS_MOVE_SELF)

static struct fsnotify_group *code_file_group __ro_after_init;
static struct code_file *vdso_file __ro_after_init;
static DEFINE_HASHTABLE(code_files, 10);
static DEFINE_SPINLOCK(code_files_lock);

/**
 * code_path_escape() - make a path fit for lines of text
 * @to: where it is stored
 * @size: bytes at @to, at least 8
 * @path: the path
 *
 * Control characters and the backslash become \\ooo; what does not fit is cut,
 * and ends in "...".
 */
void code_path_escape(char *to, size_t size, const char *path)
{
	const size_t most = size - sizeof("\\ooo...");
	size_t len = 0;

	for (; *path; path++) {
		u8 c = *path;

		if (len > most) {
			strscpy(to + len, "...", size - len);
			return;
		}
		if (c < ' ' || c == 0x7f || c == '\\')
			len += scnprintf(to + len, size - len, "\\%03o", c);
		else
			to[len++] = c;
	}
	to[len] = '\0';
}

static struct code_file *code_file_alloc(const char *path)
{
	size_t size = strlen(path) + 1;
	struct code_file *cf;

	cf = kzalloc_flex(*cf, path, size, GFP_KERNEL_ACCOUNT);
	if (!cf)
		return NULL;
	memcpy(cf->path, path, size);
	cf->id = codectl_next_id();
	cf->first = cf;
	INIT_LIST_HEAD(&cf->other);

	return cf;
}

/* From now on it may be asked for by its id: nothing of it changes any more. */
static void code_file_publish(struct code_file *cf)
{
	guard(spinlock)(&code_files_lock);
	hash_add_rcu(code_files, &cf->node, cf->id);
}

static void code_file_free(struct code_file *cf)
{
	scoped_guard(spinlock, &code_files_lock)
		hlist_del_init_rcu(&cf->node);
	kfree_rcu(cf, rcu);
}

/* The last reference is gone. */
static void code_file_free_mark(struct fsnotify_mark *mark)
{
	struct code_file *first = container_of(mark, struct code_file, mark);
	struct code_file *cf, *next;

	list_for_each_entry_safe(cf, next, &first->other, other)
		code_file_free(cf);
	code_file_free(first);
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
	.free_mark		= code_file_free_mark,
};

/*
 * Not every write is told to the mark: those through a memfd, by aio, or to a
 * shared mapping are not.  And an inode of overlayfs stands for two real ones where
 * a file was mapped before it was copied up: each takes the id from the other.
 */
static bool code_file_is_of(const struct code_file *cf, const struct file *file)
{
	const struct inode *real = file_inode(file);
	struct timespec64 ctime = inode_get_ctime(real);

	return cf->real == real && timespec64_equal(&cf->ctime, &ctime);
}

static struct code_file *code_file_find(struct inode *inode,
					const struct file *file)
{
	struct fsnotify_mark *mark;
	struct code_file *cf;

	mark = fsnotify_find_inode_mark(inode, code_file_group);
	if (!mark)
		return NULL;

	cf = container_of(mark, struct code_file, mark);
	if (!READ_ONCE(cf->stale) && code_file_is_of(cf, file))
		return cf;

	fsnotify_destroy_mark(mark, code_file_group);
	fsnotify_put_mark(mark);

	return NULL;
}

/*
 * Waits for the file only where it is one of the caller's own, and not on the
 * way out: whose file never answers may as well have its own text not answer.
 * Nor inside execve(), which disables page faults, as others wait for its locks.
 * False where it could not be read for that reason.
 */
static bool code_file_read_build_id(struct file *file, struct mm_struct *mm,
				    u8 *build_id, u8 *len)
{
	bool wait = mm == current->mm && !(current->flags & PF_EXITING) &&
		    !fatal_signal_pending(current) && !pagefault_disabled();
	/* All that is looked at is the file. */
	struct vm_area_struct vma = { .vm_file = file };
	u32 size;
	int ret;

	*len = 0;
	if (!S_ISREG(file_inode(file)->i_mode))
		return true;

	ret = wait ? build_id_parse(&vma, build_id, &size) :
		     build_id_parse_nofault(&vma, build_id, &size);
	if (!ret)
		*len = size;

	return wait || ret != -EFAULT;
}

static struct code_file *code_file_create(struct file *file,
					  struct mm_struct *mm,
					  const char *path)
{
	const struct inode *inode = file_user_inode(file);
	struct code_file *cf;

	cf = code_file_alloc(path);
	if (!cf)
		return NULL;
	cf->ino = inode->i_ino;
	cf->dev = inode->i_sb->s_dev;
	cf->real = file_inode(file);
	cf->ctime = inode_get_ctime(cf->real);
	/* Whoever comes next gets another id, and with it a build-id. */
	if (!code_file_read_build_id(file, mm, cf->build_id,
				     &cf->build_id_len))
		cf->stale = true;

	return cf;
}

/*
 * Was the file written to after its build-id was read, and before the mark could
 * notice?
 */
static void code_file_recheck(struct code_file *cf, struct file *file,
			      struct mm_struct *mm)
{
	u8 build_id[BUILD_ID_SIZE_MAX];
	u8 len;

	if (!code_file_read_build_id(file, mm, build_id, &len) ||
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

	return ret;
}

static struct code_file *code_file_get_first(struct file *file,
					     struct mm_struct *mm,
					     const char *path)
{
	struct inode *inode = (struct inode *)file_user_inode(file);
	struct code_file *cf;
	int ret;

	do {
		cf = code_file_find(inode, file);
		if (cf)
			return cf;

		cf = code_file_create(file, mm, path);
		if (!cf)
			return NULL;

		ret = code_file_attach(cf, inode);
		if (!ret) {
			code_file_recheck(cf, file, mm);
			code_file_publish(cf);
			return cf;
		}
	} while (ret == -EEXIST);

	return NULL;
}

static struct code_file *code_file_find_path(struct code_file *first,
					     const char *path)
{
	struct code_file *cf;

	if (!strcmp(first->path, path))
		return first;

	list_for_each_entry(cf, &first->other, other) {
		if (!strcmp(cf->path, path))
			return cf;
	}

	return NULL;
}

/* Takes @cf.  Somebody else may have been faster. */
static struct code_file *code_file_add_path(struct code_file *first,
					    struct code_file *cf)
{
	struct code_file *old;

	scoped_guard(spinlock, &code_files_lock) {
		old = code_file_find_path(first, cf->path);
		if (old) {
			kfree(cf);
			return old;
		}
		list_add(&cf->other, &first->other);
		if (++first->nr_others >= CODE_FILE_MAX_PATHS)
			WRITE_ONCE(first->stale, true);
	}
	code_file_publish(cf);

	return cf;
}

/* Takes the reference to @first, or gives it to what it returns. */
static struct code_file *code_file_get_path(struct code_file *first,
					    const char *path)
{
	struct code_file *cf;

	scoped_guard(spinlock, &code_files_lock)
		cf = code_file_find_path(first, path);
	if (cf)
		return cf;

	cf = code_file_alloc(path);
	if (!cf) {
		code_file_put(first);
		return NULL;
	}
	cf->first = first;
	cf->ino = first->ino;
	cf->dev = first->dev;
	cf->build_id_len = first->build_id_len;
	memcpy(cf->build_id, first->build_id, sizeof(cf->build_id));

	return code_file_add_path(first, cf);
}

/**
 * code_file_get() - the id of a file
 * @file: the file
 * @mm: the address space that it is mapped in
 *
 * Reads the build-id, if the file has no id yet.  Does not wait for the file of
 * another process: if what is needed is not in memory there is no build-id.
 *
 * Context: process; may sleep, and wait for the file, unless page faults are
 * disabled: no lock held.
 * Return: the file with its id, for code_file_put(), or NULL: no memory, or a
 * file system that has nothing watched.
 */
struct code_file *code_file_get(struct file *file, struct mm_struct *mm)
{
	struct code_file *cf;
	char *buf, *path;

	buf = kmalloc(PATH_MAX + CODECTL_PATH_MAX, GFP_KERNEL);
	if (!buf)
		return NULL;
	path = d_path(file_user_path(file), buf, PATH_MAX);
	if (IS_ERR(path))
		path = "";
	code_path_escape(buf + PATH_MAX, CODECTL_PATH_MAX, path);

	path = buf + PATH_MAX;
	cf = code_file_get_first(file, mm, path);
	if (cf)
		cf = code_file_get_path(cf, path);
	kfree(buf);

	return cf;
}

/**
 * code_file_put() - give a file back
 * @cf: what code_file_get() or code_file_vdso() returned, or NULL
 */
void code_file_put(struct code_file *cf)
{
	if (cf)
		fsnotify_put_mark(&cf->first->mark);
}

/**
 * code_file_by_id() - find the file with this id
 * @id: the id
 *
 * Context: any, under RCU.
 * Return: the file, valid under RCU, or NULL.
 */
struct code_file *code_file_by_id(u64 id)
{
	struct code_file *cf;

	hash_for_each_possible_rcu(code_files, cf, node, id) {
		if (cf->id == id)
			return cf;
	}

	return NULL;
}

/**
 * code_file_names() - what the id of a file stands for
 * @cf: the file
 * @names: where it is stored
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
 * codectl_walk_files() - go through the files that have an id
 * @func: what to call for each, which must not sleep
 * @data: what to pass to it
 *
 * Context: process; may sleep.  Without memory there are none.
 */
void codectl_walk_files(codectl_names_func_t func, void *data)
{
	struct codectl_names *names __free(kfree) = NULL;
	const struct code_file *cf;
	unsigned int bucket;

	names = kzalloc_obj(*names);
	if (!names)
		return;

	for (bucket = 0; bucket < HASH_SIZE(code_files); bucket++) {
		scoped_guard(rcu)
			hlist_for_each_entry_rcu(cf, &code_files[bucket], node) {
				code_file_names(cf, names);
				func(names, data);
			}
		cond_resched();
	}
}

/**
 * code_file_vdso() - the vDSO, which has no file
 *
 * Return: what stands for it, for code_file_put(), or NULL.
 */
struct code_file *code_file_vdso(void)
{
	if (vdso_file)
		fsnotify_get_mark(&vdso_file->mark);

	return vdso_file;
}

static int __init code_file_init(void)
{
	struct fsnotify_group *group;

	group = fsnotify_alloc_group(&code_file_ops, 0);
	if (IS_ERR(group))
		panic("codectl: no memory for file ids\n");
	code_file_group = group;

	vdso_file = code_file_alloc("[vdso]");
	if (vdso_file) {
		fsnotify_init_mark(&vdso_file->mark, code_file_group);
		vdso_file->build_id_len =
			arch_unwind_user_vdso_build_id(vdso_file->build_id);
		code_file_publish(vdso_file);
	}

	return 0;
}
fs_initcall(code_file_init);

// SPDX-License-Identifier: GPL-2.0
/*
 * Paths of files that code comes from, as a given process sees them
 */
#include <linux/dcache.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/kernel.h>
#include <linux/path.h>
#include <linux/string.h>

#include "code_file.h"

/**
 * code_path_escape() - make a path fit for lines of text
 * @to: where to store it
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

/* As d_path(), for a process with that root. */
static char *code_path_from(const struct path *path, const struct path *root,
			    char *buf)
{
	static const char deleted[] = " (deleted)";
	bool is_deleted = d_unlinked(path->dentry);
	char *name;

	if (path->dentry->d_op && path->dentry->d_op->d_dname)
		return d_path(path, buf, PATH_MAX);

	name = __d_path(path, root, buf, PATH_MAX - sizeof(deleted));
	if (!name)
		name = d_absolute_path(path, buf, PATH_MAX - sizeof(deleted));
	if (name == ERR_PTR(-EINVAL))
		return d_path(path, buf, PATH_MAX);
	if (!IS_ERR(name) && is_deleted)
		strcat(name, deleted);

	return name;
}

/**
 * code_path_of() - get the path of a file
 * @file: the file
 * @root: root directory of whoever sees it there, or NULL for the caller's
 * @buf: buffer of CODE_PATH_BUF_SIZE bytes
 *
 * Context: any that may take no interrupt; writes to no memory but @buf.
 * Return: the escaped path, in @buf.
 */
const char *code_path_of(const struct file *file, const struct path *root,
			 char *buf)
{
	const struct path *of = file_user_path(file);
	char *path;

	path = root ? code_path_from(of, root, buf) :
		      d_path(of, buf, PATH_MAX);
	if (IS_ERR(path))
		path = "";
	code_path_escape(buf + PATH_MAX, CODECTL_PATH_MAX, path);

	return buf + PATH_MAX;
}

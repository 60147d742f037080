// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../tool.h"
#include "files.h"

static bool was_written_to(const struct file *file)
{
	char *path = format("/proc/self/fdinfo/%d", file->attached), line[128];
	FILE *info = fopen(path, "re");
	bool written = false;

	while (info && !written && fgets(line, sizeof(line), info))
		written = !strcmp(line, "state:\twritten\n");
	if (info)
		fclose(info);
	free(path);
	return written;
}

/* As far as is known without asking the server of the file system. */
static bool is_deleted(const struct file *file)
{
	struct statx st;

	return !statx(file->fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_NLINK, &st) &&
	       !st.stx_nlink;
}

static void close_file(struct files *files, const struct file *file)
{
	if (file->attached >= 0) {
		close(file->attached);
		if (files_is_anybodys(file))
			files->anybodys_bytes -= file->bytes;
	}
	if (file->fd >= 0)
		close(file->fd);
	free(file->name);
}

/* Notes which files somebody has mapped now; false if not all could be looked at. */
static bool look_who_is_mapped(struct files *files)
{
	bool good;

	files->only_looks = true;
	good = files_add_all(files);
	files->only_looks = false;
	return good;
}

static bool any_deleted(const struct files *files)
{
	for (size_t i = 0; i < files->nr; i++)
		if (is_deleted(&files->file[i]))
			return true;
	return false;
}

/* Has nobody had it mapped since @look and, where that counts, for long before? */
static bool is_left_over(const struct file *file, uint64_t look, int unmapped)
{
	if (file->seen >= look)
		return false;
	return is_deleted(file) || (unmapped >= 0 && !file->named &&
				    look - file->seen > unmapped * 1000000000ULL);
}

bool files_drop_stale(struct files *files, int unmapped)
{
	bool looked = unmapped >= 0 || any_deleted(files), any = false;
	size_t kept = 0, old = files->old;
	uint64_t look = files_now();

	looked = looked && look_who_is_mapped(files);
	for (size_t i = 0; i < files->nr; i++) {
		struct file *file = &files->file[i];
		bool superseded = file->fd < 0 && !file->hopeless;
		bool lost = file->attached >= 0 && was_written_to(file);

		if (superseded || lost || (looked && is_left_over(file, look, unmapped))) {
			any |= file->attached >= 0;
			close_file(files, file);
			files->old -= i < old;
		} else {
			files->file[kept++] = *file;
		}
	}
	files->nr = kept;
	return any;
}

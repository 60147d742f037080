// SPDX-License-Identifier: MIT
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

static bool is_deleted(const struct file *file)
{
	struct stat stat;

	return !fstat(file->fd, &stat) && !stat.st_nlink;
}

static void close_file(struct file *file)
{
	if (file->attached >= 0)
		close(file->attached);
	if (file->fd >= 0)
		close(file->fd);
	free(file->name);
}

/* Notes of each whether somebody has it mapped now. */
static void look_who_is_mapped(struct files *files)
{
	struct files mapped = { 0 };
	struct file *file;

	files_add_all(&mapped);
	while (mapped.nr) {
		struct file *now = &mapped.file[--mapped.nr];

		file = files_find(files, now->dev, now->ino);
		if (file)
			file->seen = now->seen;
		close_file(now);
	}
	free(mapped.file);
}

static bool any_deleted(const struct files *files)
{
	for (size_t i = 0; i < files->nr; i++)
		if (is_deleted(&files->file[i]))
			return true;
	return false;
}

bool files_drop_stale(struct files *files, int unmapped)
{
	uint64_t now = files_now();
	bool any_written = false;
	size_t kept = 0;

	if (unmapped >= 0 || any_deleted(files))
		look_who_is_mapped(files);
	for (size_t i = 0; i < files->nr; i++) {
		struct file *file = &files->file[i];
		bool written = file->attached >= 0 && was_written_to(file);
		bool gone = file->seen < now &&
			    (is_deleted(file) || (unmapped >= 0 && !file->named &&
						  now - file->seen > unmapped * 1000000000ULL));

		any_written |= written;
		if ((file->attached < 0 && !file->pending) || written || gone)
			close_file(file);
		else
			files->file[kept++] = *file;
	}
	files->nr = files->old = kept;
	return any_written;
}

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

/* Whether it is to go; @mapped are those that are in use, once somebody asks. */
static bool is_left_over(const struct file *file, struct files *mapped)
{
	if (!is_deleted(file))
		return false;
	if (!mapped->nr)
		files_add_all(mapped);
	return !files_have(mapped, file->dev, file->ino);
}

bool files_drop_stale(struct files *files)
{
	struct files mapped = { 0 };
	bool any_written = false;
	size_t kept = 0;

	for (size_t i = 0; i < files->nr; i++) {
		struct file *file = &files->file[i];
		bool written = file->attached >= 0 && was_written_to(file);

		any_written |= written;
		if (file->attached < 0 || written || is_left_over(file, &mapped))
			close_file(file);
		else
			files->file[kept++] = *file;
	}
	files->nr = files->old = kept;
	while (mapped.nr)
		close_file(&mapped.file[--mapped.nr]);
	free(mapped.file);
	return any_written;
}

// SPDX-License-Identifier: MIT
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "../tool.h"
#include "files.h"

uint64_t files_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ULL + now.tv_nsec;
}

/*
 * Is the file already known?  If so, it was seen just now.  Without a descriptor it may
 * have been changed, or be another one by now.
 */
static bool is_known(struct files *files, dev_t dev, ino_t ino, struct timespec changed)
{
	for (size_t i = 0; i < files->nr; i++) {
		struct file *file = &files->file[i];

		if (file->dev != dev || file->ino != ino)
			continue;
		if (!file->hopeless || !files_differ(file->changed, changed)) {
			file->seen = files_now();
			return true;
		}
		file->hopeless = false;
	}
	return false;
}

static void append(struct files *files, const struct stat *stat, int fd,
		   const char *name, bool named)
{
	if (!(files->nr & (files->nr - 1)))
		files->file = need(reallocarray(files->file,
						files->nr ? 2 * files->nr : 1,
						sizeof(*files->file)));
	files->file[files->nr++] = (struct file){
		.dev = stat->st_dev, .ino = stat->st_ino, .fd = fd,
		.name = escape(name, strlen(name), ""), .named = named,
		.seen = files_now(), .attached = -1,
	};
}

/* Unless it is already known; false with errno, EINVAL if it is no regular file. */
static bool add(struct files *files, const char *path, const char *name, bool named)
{
	/* It may be a pipe or a device. */
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat stat;

	if (fd < 0)
		return false;
	if (fstat(fd, &stat) || !S_ISREG(stat.st_mode)) {
		close(fd);
		errno = EINVAL;
		return false;
	}
	if (is_known(files, stat.st_dev, stat.st_ino, stat.st_ctim))
		close(fd);
	else
		append(files, &stat, fd, name, named);
	return true;
}

bool files_add_named(struct files *files, const char *path)
{
	return add(files, path, path, true);
}

static bool is_owners(const struct files *files, pid_t pid)
{
	uid_t owner;

	return !files->of_one || (owner_of(pid, &owner) && owner == files->owner);
}

/*
 * Is it no file, but a device, which notices that it is opened, or known already?  Found out
 * without asking the server of the file system, which need not answer.
 */
static bool need_not_be_opened(struct files *files, int at)
{
	struct statx st;

	if (statx(at, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC,
		  STATX_TYPE | STATX_INO | STATX_CTIME, &st))
		return false;
	return !S_ISREG(st.stx_mode) ||
	       is_known(files, makedev(st.stx_dev_major, st.stx_dev_minor), st.stx_ino,
			(struct timespec){ st.stx_ctime.tv_sec, st.stx_ctime.tv_nsec });
}

/* @at leads to the file that the process has mapped. */
static bool add_mapped(struct files *files, pid_t pid, int at, const char *name)
{
	char *path;
	bool good;

	/* It may have become another user's since: then what is mapped here would, too. */
	if (need_not_be_opened(files, at) || files->only_looks || !is_owners(files, pid))
		return true;
	path = format("/proc/self/fd/%d", at);
	good = add(files, path, name, false);
	free(path);
	return good;
}

void files_add_mapping(struct files *files, pid_t pid, unsigned long start,
		       unsigned long end, const char *name)
{
	char *path;
	bool good;
	int at;

	/*
	 * The lookup may be served by the process that has it mapped, which need not
	 * answer.
	 */
	if (!is_owners(files, pid))
		return;
	path = format("/proc/%d/map_files/%lx-%lx", pid, start, end);
	at = open(path, O_PATH | O_CLOEXEC);
	good = at >= 0 && add_mapped(files, pid, at, name);
	if (!good && (errno == EPERM || errno == EACCES || errno == EMFILE ||
		      errno == ENFILE)) {
		files->unopened++;
		files->error = errno;
	}
	if (at >= 0)
		close(at);
	free(path);
}

/* A line of /proc/PID/maps: START-END PERMISSIONS OFFSET DEVICE INODE NAME */
static void add_line(struct files *files, pid_t pid, char *line)
{
	unsigned long start, end, inode;
	char permissions[5];
	int name = 0;

	line[strcspn(line, "\n")] = '\0';
	if (sscanf(line, "%lx-%lx %4s %*s %*s %lu %n", &start, &end, permissions,
		   &inode, &name) == 4 && permissions[2] == 'x' && inode)
		files_add_mapping(files, pid, start, end, line + name);
}

bool files_add_process(struct files *files, pid_t pid)
{
	char *path = format("/proc/%d/maps", pid), *line = NULL;
	FILE *maps = fopen(path, "re");
	size_t size = 0;

	free(path);
	if (!maps)
		return false;
	while (getline(&line, &size, maps) > 0)
		add_line(files, pid, line);
	free(line);
	fclose(maps);
	return true;
}

bool files_add_all(struct files *files)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	bool good = proc;

	while (proc && (entry = readdir(proc))) {
		pid_t pid = strtol(entry->d_name, NULL, 10);

		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		errno = 0;
		if (!is_owners(files, pid) || !files_add_process(files, pid))
			good &= errno != EMFILE && errno != ENFILE && errno != ENOMEM;
	}
	if (proc)
		closedir(proc);
	return good;
}

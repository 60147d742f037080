// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "plain.h"

#define DEBUG_DIR	"/usr/lib/debug"
#define DWZ_DIR		".dwz/"

/* Not in linux/magic.h. */
#define CONFIGFS_MAGIC	0x62656570
#define MQUEUE_MAGIC	0x19800202

/*
 * File systems whose regular files are not plain: opening or mapping them has effects.
 * All of them identify themselves.
 */
static bool is_of_the_kernel(int fd)
{
	struct statfs fs;

	if (fstatfs(fd, &fs))
		return false;
	switch ((unsigned int)fs.f_type) {
	case PROC_SUPER_MAGIC:
	case SYSFS_MAGIC:
	case DEBUGFS_MAGIC:
	case TRACEFS_MAGIC:
	case SECURITYFS_MAGIC:
	case EFIVARFS_MAGIC:
	case PSTOREFS_MAGIC:
	case CGROUP_SUPER_MAGIC:
	case CGROUP2_SUPER_MAGIC:
	case BPF_FS_MAGIC:
	case BINFMTFS_MAGIC:
	case MQUEUE_MAGIC:
	case RDTGROUP_SUPER_MAGIC:
	case SELINUX_MAGIC:
	case SMACK_MAGIC:
	case AAFS_MAGIC:
	case XENFS_SUPER_MAGIC:
	case CONFIGFS_MAGIC:
		return true;
	default:
		return false;
	}
}

/*
 * Takes over @path_fd, which is an O_PATH one, or none; false if the file has less than
 * @least bytes.
 */
static bool open_found(struct plain *file, int path_fd, off_t least)
{
	char path[64];
	struct stat stat;

	file->fd = -1;
	if (path_fd < 0)
		return false;
	if (!fstat(path_fd, &stat) && S_ISREG(stat.st_mode) && stat.st_size >= least &&
	    !is_of_the_kernel(path_fd)) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", path_fd);
		/* Do not wait for the holder of a lease on it. */
		file->fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
		file->size = stat.st_size;
		file->inode = stat.st_ino;
		file->uid = stat.st_uid;
		file->mode = stat.st_mode;
	}
	close(path_fd);
	return file->fd >= 0;
}

static int find(int root, const char *path, uint64_t flags)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC | flags, .resolve = RESOLVE_IN_ROOT,
	};

	return syscall(SYS_openat2, root, path, &how, sizeof(how));
}

bool plain_open(struct plain *file, int root, const char *path)
{
	return open_found(file, find(root, path, 0), 1);
}

bool plain_open_entry(struct plain *file, int dir, const char *name)
{
	return open_found(file, openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC), 0);
}

int plain_root(pid_t pid)
{
	char path[64] = "/";

	if (pid)
		snprintf(path, sizeof(path), "/proc/%d/root", pid);
	return open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

int plain_directory(int root, const char *path)
{
	return find(root, path, O_DIRECTORY);
}

/* --------------------------------------------------------------- mapped files */

/* Compares with the kernel's name in map_files; false if it is not @line. */
static bool is_mapping(const char *line, uint32_t major, uint32_t minor, uint64_t inode,
		       char *name, size_t size)
{
	unsigned long long start, end, offset, ino;
	unsigned int maj, min;
	char rights[5];

	if (sscanf(line, "%llx-%llx %4s %llx %x:%x %llu", &start, &end, rights, &offset,
		   &maj, &min, &ino) != 7 ||
	    rights[2] != 'x' || maj != major || min != minor || ino != inode)
		return false;
	snprintf(name, size, "%llx-%llx", start, end);
	return true;
}

/*
 * A line may be longer than @line: at worst its rest names another mapping of the
 * process.
 */
static bool find_mapping(pid_t pid, uint32_t major, uint32_t minor, uint64_t inode,
			 char *name, size_t size)
{
	char path[64], line[512];
	bool found = false;
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	maps = fopen(path, "re");
	while (maps && !found && fgets(line, sizeof(line), maps))
		found = is_mapping(line, major, minor, inode, name, size);
	if (maps)
		fclose(maps);
	return found;
}

bool plain_open_mapped(struct plain *file, pid_t pid, uint32_t major, uint32_t minor,
		       uint64_t inode)
{
	char path[128], name[64];

	file->fd = -1;
	if (!inode || !find_mapping(pid, major, minor, inode, name, sizeof(name)))
		return false;
	snprintf(path, sizeof(path), "/proc/%d/map_files/%s", pid, name);
	return open_found(file, open(path, O_PATH | O_CLOEXEC), 1);
}

/* ------------------------------------------------------- debugging information */

/* Takes over @root. */
static bool open_of_root(struct plain *file, int root, const char *path)
{
	bool good = root >= 0 && plain_open(file, root, path);

	if (root >= 0)
		close(root);
	if (good && !file->uid && !(file->mode & 0022))
		return true;
	if (good)
		close(file->fd);
	file->fd = -1;
	return false;
}

bool plain_open_debug(struct plain *file, const uint8_t *build_id, size_t len)
{
	char path[256];
	int at;

	file->fd = -1;
	if (len < 2 || len > 64)
		return false;
	at = snprintf(path, sizeof(path), DEBUG_DIR "/.build-id/%02x/", build_id[0]);
	for (size_t i = 1; i < len; i++)
		at += snprintf(path + at, sizeof(path) - at, "%02x", build_id[i]);
	snprintf(path + at, sizeof(path) - at, ".debug");
	return open_of_root(file, plain_root(0), path);
}

bool plain_open_shared(struct plain *file, const char *name)
{
	const char *below = strstr(name, DWZ_DIR);

	file->fd = -1;
	return below && open_of_root(file, open(DEBUG_DIR, O_PATH | O_DIRECTORY | O_CLOEXEC),
				     below);
}

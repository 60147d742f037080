// SPDX-License-Identifier: MIT
/*
 * Every name is looked up in an open directory, and no symbolic link is followed below
 * the store, so it does not matter what the name of a directory leads to meanwhile.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../tool.h"
#include "store.h"
#include "table_file.h"

#define FOLDER	(O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

/* The second store, which is only read; or -1. */
static int packaged = -1;

/* Like mkdir -p. */
static void make_folders(const char *path)
{
	char *copy = format("%s", path);

	for (char *slash = copy; (slash = strchr(slash + 1, '/'));) {
		*slash = '\0';
		mkdir(copy, 0755);
		*slash = '/';
	}
	mkdir(copy, 0755);
	free(copy);
}

/* -1 with errno, EPERM if others can write to it. */
static int open_own(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct stat stat;

	if (fd < 0)
		return -1;
	if (!fstat(fd, &stat) && (!stat.st_uid || stat.st_uid == geteuid()) &&
	    !(stat.st_mode & 0022))
		return fd;
	close(fd);
	errno = EPERM;
	return -1;
}

int store_open(const char *path)
{
	int fd;

	make_folders(path);
	fd = open_own(path);
	if (fd < 0 && errno == EPERM)
		die("others can write to the store %s", path);
	if (fd < 0)
		die("cannot open the store %s: %s", path, strerror(errno));
	return fd;
}

void store_look_into(const char *path)
{
	packaged = open_own(path);
}

int store_packaged(void)
{
	return packaged;
}

/* Opens the directory @name in @at; -1 with errno. */
static int open_folder(int at, const char *name, bool make, mode_t mode)
{
	if (make && mkdirat(at, name, mode) && errno != EEXIST)
		return -1;
	return openat(at, name, FOLDER);
}

/* The directory of the table, and its name there as a string of its own. */
static int open_place(int store, const struct store_key *key, char **name, bool make)
{
	char *digits = hex_build_id(key->bytes, key->len);
	int at = store, folder;

	*name = format("%s" STORE_SUFFIX, digits + 2);
	digits[2] = '\0';
	if (key->is_hash)
		at = open_folder(store, STORE_HASHES, make, 0700);
	folder = at < 0 ? -1 : open_folder(at, digits, make, 0755);
	if (at >= 0 && at != store)
		close(at);
	free(digits);
	return folder;
}

static int open_table(int store, const struct store_key *key)
{
	char *name;
	int folder = open_place(store, key, &name, false), fd = -1;

	if (folder >= 0) {
		fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
		close(folder);
	}
	free(name);
	return fd;
}

bool store_has(int store, const struct store_key *key)
{
	int fd = store_read(store, key);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

int store_read(int store, const struct store_key *key)
{
	int fd = open_table(packaged, key);

	if (fd < 0) {
		fd = open_table(store, key);
		if (fd >= 0)
			futimens(fd, NULL);
	}
	return fd;
}

void store_remove(int store, const struct store_key *key)
{
	int fd = open_table(packaged, key), folder;
	char *name;

	if (fd >= 0) {
		close(fd);
		close(packaged);
		packaged = -1;
		return;
	}
	folder = open_place(store, key, &name, false);
	if (folder >= 0) {
		unlinkat(folder, name, 0);
		close(folder);
	}
	free(name);
}

/* Writes all of it under another name, and only then renames it. */
static bool write_in(int folder, const char *name, mode_t mode, const struct object *object,
		     const struct table *table)
{
	unsigned long long random;
	bool good = false;
	char *temporary;
	int fd, error;

	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		return false;
	temporary = format(".%llx" STORE_NEW, random);
	fd = openat(folder, temporary, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		    mode);
	if (fd >= 0) {
		good = table_file_write(fd, object, table) && !fsync(fd) &&
		       !renameat(folder, temporary, folder, name);
		error = errno;
		close(fd);
		if (!good)
			unlinkat(folder, temporary, 0);
		errno = error;
	}
	free(temporary);
	return good;
}

bool store_put(int store, const struct store_key *key, bool secret,
	       const struct object *object, const struct table *table)
{
	char *name;
	int folder = open_place(store, key, &name, true);
	bool good = folder >= 0 &&
		    write_in(folder, name, secret ? 0600 : 0644, object, table);
	int error = errno;

	if (folder >= 0)
		close(folder);
	free(name);
	errno = error;
	return good;
}

bool store_write(const char *path, const struct object *object,
		 const struct table *table)
{
	const char *slash = strrchr(path, '/');
	char *folder_path = slash ? format("%.*s/", (int)(slash - path), path) :
				    format(".");
	int folder = open(folder_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool good = folder >= 0 &&
		    write_in(folder, slash ? slash + 1 : path, 0644, object, table);
	int error = errno;

	if (folder >= 0)
		close(folder);
	free(folder_path);
	errno = error;
	return good;
}

// SPDX-License-Identifier: MIT
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../tool.h"
#include "store.h"

#define DAY		(24 * 60 * 60)
/* Writing a table never takes that long. */
#define ABANDONED	(60 * 60)

/* A file of the store. */
struct entry {
	int folder;		/* index in struct contents */
	char *name;
	uint64_t bytes;
	time_t used;
	bool hash, temporary;
};

struct contents {
	int *folders;
	size_t nr_folders;
	struct entry *entries;
	size_t nr_entries;
};

/* Does it consist of digits, followed by the suffix? */
static bool is_digits(const char *name, const char *suffix)
{
	size_t digits = strspn(name, "0123456789abcdef");

	return digits && !strcmp(name + digits, suffix);
}

static bool is_entry(const char *name)
{
	return *name == '.' ? is_digits(name + 1, STORE_NEW) :
			      is_digits(name, STORE_SUFFIX);
}

/* Does it contain tables, or directories of tables? */
static bool is_folder(const char *name, unsigned int depth)
{
	return (strlen(name) == 2 && is_digits(name, "")) ||
	       (depth == 1 && !strcmp(name, STORE_HASHES));
}

static void add_entry(struct contents *contents, int folder, const char *name, bool hash)
{
	struct stat stat;

	if (!is_entry(name) ||
	    fstatat(contents->folders[folder], name, &stat, AT_SYMLINK_NOFOLLOW) ||
	    !S_ISREG(stat.st_mode))
		return;
	contents->entries = need(reallocarray(contents->entries, contents->nr_entries + 1,
					      sizeof(struct entry)));
	contents->entries[contents->nr_entries++] = (struct entry){
		folder, format("%s", name), 512ULL * stat.st_blocks, stat.st_mtime,
		hash, name[0] == '.',
	};
}

/* Takes @fd; directories are read to a depth of 2, or 3 in sha256. */
static void read_folder(struct contents *contents, int fd, unsigned int depth)
{
	/* What dup() returns would continue where another one has stopped reading. */
	DIR *dir = fdopendir(openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	int index = contents->nr_folders;
	struct dirent *entry;

	contents->folders = need(reallocarray(contents->folders, index + 1, sizeof(int)));
	contents->folders[contents->nr_folders++] = fd;
	while (dir && (entry = readdir(dir))) {
		int sub = -1;

		if (depth < 3 && is_folder(entry->d_name, depth))
			sub = openat(fd, entry->d_name, O_RDONLY | O_DIRECTORY |
				     O_NOFOLLOW | O_CLOEXEC);
		if (sub >= 0)
			read_folder(contents, sub, depth + 1);
		else if (depth > 1)
			add_entry(contents, index, entry->d_name, depth > 2);
	}
	if (dir)
		closedir(dir);
}

static int compare_used(const void *a, const void *b)
{
	const struct entry *one = a, *other = b;

	return (one->used > other->used) - (one->used < other->used);
}

/*
 * Must an entry go, with @bytes in it and those used since, of which @hashed are by
 * hash?  There may be any number of these, for files that anybody has made.
 */
static bool is_due(const struct entry *entry, time_t now, uint64_t bytes, uint64_t hashed,
		   uint64_t most, unsigned long days)
{
	time_t age = now > entry->used ? now - entry->used : 0;

	if (entry->temporary)
		return age > ABANDONED;
	return bytes > most || (entry->hash && hashed > most / 2) ||
	       (unsigned long)age / DAY >= days;
}

bool store_prune(int store, uint64_t bytes, unsigned long days,
		 struct store_pruned *pruned)
{
	struct contents contents = { 0 };
	time_t now = time(NULL);
	uint64_t hashed = 0;
	bool good = true;

	*pruned = (struct store_pruned){ 0 };
	read_folder(&contents, dup(store), 1);
	if (contents.nr_entries)
		qsort(contents.entries, contents.nr_entries, sizeof(struct entry),
		      compare_used);
	for (size_t i = 0; i < contents.nr_entries; i++) {
		pruned->kept_bytes += contents.entries[i].bytes;
		hashed += contents.entries[i].hash ? contents.entries[i].bytes : 0;
	}
	for (size_t i = 0; i < contents.nr_entries; i++) {
		struct entry *entry = &contents.entries[i];

		if (!is_due(entry, now, pruned->kept_bytes, hashed, bytes, days)) {
			pruned->kept++;
		} else if (unlinkat(contents.folders[entry->folder], entry->name, 0) &&
			   errno != ENOENT) {
			good = false;
		} else {
			pruned->removed++;
			pruned->removed_bytes += entry->bytes;
			pruned->kept_bytes -= entry->bytes;
			hashed -= entry->hash ? entry->bytes : 0;
		}
		free(entry->name);
	}
	for (size_t i = 0; i < contents.nr_folders; i++)
		close(contents.folders[i]);
	free(contents.folders);
	free(contents.entries);
	return good;
}

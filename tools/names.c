// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "names.h"
#include "perf_map.h"
#include "tool.h"

struct names {
	struct perf_map map;
	char *text;		/* of the file, which may still grow */
	size_t len;
};

/* Anyone can make a file in /tmp: believe the process's user, and root. */
static bool is_believable(pid_t pid, const struct stat *file)
{
	char *path = format("/proc/%d", pid);
	struct stat process;
	bool gone = stat(path, &process);

	free(path);
	return S_ISREG(file->st_mode) &&
	       (!file->st_uid || file->st_uid == geteuid() ||
		(!gone && file->st_uid == process.st_uid));
}

static void read_text(struct names *names, int fd, size_t size)
{
	ssize_t got = 1;

	if (size > PERF_MAP_MAX_BYTES)
		size = PERF_MAP_MAX_BYTES;
	names->text = need(malloc(size + 1));
	while (names->len < size && got > 0) {
		got = read(fd, names->text + names->len, size - names->len);
		if (got > 0)
			names->len += got;
	}
}

struct names *names_open(pid_t pid)
{
	struct names *names = need(calloc(1, sizeof(*names)));
	char *path = format("/tmp/perf-%d.map", pid);
	struct stat stat;
	int fd;

	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
	free(path);
	if (fd < 0)
		return names;
	if (!fstat(fd, &stat) && is_believable(pid, &stat)) {
		read_text(names, fd, stat.st_size);
		if (!perf_map_parse(&names->map, names->text, names->len))
			die("out of memory");
	}
	close(fd);
	return names;
}

void names_close(struct names *names)
{
	perf_map_free(&names->map);
	free(names->text);
	free(names);
}

struct symbol names_find(const struct names *names, uint64_t address)
{
	const struct perf_name *found = perf_map_find(&names->map, address);

	if (!found)
		return (struct symbol){ 0 };
	return (struct symbol){
		.name	= escape(found->name.at, found->name.len, ""),
		.offset	= address - found->start,
	};
}

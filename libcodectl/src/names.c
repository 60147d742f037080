// SPDX-License-Identifier: MIT
/*
 * Names of functions: kept with the rows, and written to /tmp/perf-PID.map.
 *
 * The writer of a region keeps names, before it publishes the row that they
 * belong to.  The file belongs to the lock.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/membarrier.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "internal.h"

/* A longer name is cut off. */
#define NAME_MAX_LEN	1000
#define LINE_LEN	(NAME_MAX_LEN + 40)

/**
 * struct record - a name
 * @off: first byte of the function, from the start of the text
 * @len: its length
 * @name: its name, ended by a 0
 */
struct record {
	uint32_t off;
	uint32_t len;
	char name[];
};

/* Whether names are written.  Read at each function that is published. */
CODECTL_LINE uint32_t codectl_names_on;

/**
 * struct map_file - the file of names
 * @fd: where it was opened; the program may have closed all it does not know
 * @pid: process that opened it
 * @forked: whether this process is a child of that one
 * @dev: device of the file
 * @ino: inode of the file
 */
struct map_file {
	int fd;
	pid_t pid;
	bool forked;
	dev_t dev;
	ino_t ino;
};

static CODECTL_LINE struct map_file map_file;

static size_t name_len(const char *name)
{
	return strnlen(name, NAME_MAX_LEN);
}

/* The file is one of lines. */
static void copy_name(char *to, const char *name, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++)
		to[i] = (unsigned char)name[i] < ' ' ? ' ' : name[i];
	to[len] = '\0';
}

static size_t record_units(size_t len)
{
	return (sizeof(struct record) + len + 1 + sizeof(uint32_t) - 1) /
	       sizeof(uint32_t);
}

/* Where the name is kept, or 0. */
uint32_t codectl_name_keep(struct codectl_region *region,
			   const struct codectl_func *func)
{
	uint32_t pos = region->names_used;
	struct record *record;
	size_t len, units;

	if (!func->name)
		return 0;

	region->has_names = true;
	len = name_len(func->name);
	units = record_units(len);
	if (units > region->names_max - pos) {
		region->names_lost++;
		return 0;
	}

	record = (void *)(region->names + pos);
	record->off = func->off;
	record->len = func->len;
	copy_name(record->name, func->name, len);
	region->names_used = pos + units;

	return pos;
}

static const struct record *
record_of(const struct codectl_region *region, const struct codectl_cursor *pos)
{
	uint32_t unit = *codectl_row_name(region, pos);

	if (!unit || !codectl_row_size(pos))
		return NULL;

	return (void *)(region->names + unit);
}

/* Under the lock, by the writer of the region. */
void codectl_names_compact(struct codectl_region *region)
{
	size_t len = region->names_used * sizeof(uint32_t);
	struct codectl_cursor pos = { codectl_table(region, 0), 0 };
	const struct record *record;
	uint64_t used = 1;
	uint32_t *copy;
	size_t units;

	copy = mmap(NULL, len, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (copy == MAP_FAILED)
		return;

	for (; codectl_cursor_valid(&pos); codectl_cursor_next(&pos)) {
		record = record_of(region, &pos);
		if (!record)
			continue;
		units = record_units(strlen(record->name));
		if (units > region->names_used - used)
			break;
		memcpy(copy + used, record, units * sizeof(uint32_t));
		*codectl_row_name(region, &pos) = used;
		used += units;
	}
	memcpy(region->names, copy, used * sizeof(uint32_t));
	region->names_used = used;
	munmap(copy, len);
}

static int format_line(char *line, uint64_t start, uint32_t len,
		       const char *name)
{
	return snprintf(line, LINE_LEN, "%llx %x %s\n",
			(unsigned long long)start, len, name);
}

static bool is_open(struct stat *st)
{
	return !fstat(map_file.fd, st) && st->st_dev == map_file.dev &&
	       st->st_ino == map_file.ino;
}

/* Whether a signal would come of the file's getting longer. */
static bool is_too_long(const struct stat *st, size_t len)
{
	struct rlimit limit;

	return !getrlimit(RLIMIT_FSIZE, &limit) &&
	       limit.rlim_cur != RLIM_INFINITY &&
	       st->st_size + len > limit.rlim_cur;
}

static int write_all(const char *from, size_t len)
{
	struct stat st;
	ssize_t done;

	if (!is_open(&st))
		return -EBADF;
	if (is_too_long(&st, len))
		return -EFBIG;

	while (len) {
		done = write(map_file.fd, from, len);
		if (done < 0) {
			if (errno == EINTR)
				continue;
			return -errno;
		}
		from += done;
		len -= done;
	}

	return 0;
}

static int replay(void)
{
	static char buffer[8 * LINE_LEN];
	const struct codectl_region *region;
	const struct record *record;
	struct codectl_cursor pos;
	size_t used = 0;
	int ret = 0;

	for (region = codectl_regions; region; region = region->next) {
		pos = (struct codectl_cursor) { codectl_table(region, 0), 0 };
		for (; codectl_cursor_valid(&pos); codectl_cursor_next(&pos)) {
			record = record_of(region, &pos);
			if (!record)
				continue;
			used += format_line(buffer + used,
					    region->text_start + record->off,
					    record->len, record->name);
			if (used + LINE_LEN <= sizeof(buffer))
				continue;
			ret = write_all(buffer, used);
			if (ret)
				return ret;
			used = 0;
		}
	}

	return write_all(buffer, used);
}

/* When this process started, in nanoseconds of the real time; 0: not known. */
static int64_t start_time(void)
{
	const int64_t second = 1000000000;
	struct timespec real, boot;
	char stat[1024], *field;
	int64_t ticks;
	ssize_t len;
	int fd, i;

	fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	len = read(fd, stat, sizeof(stat) - 1);
	close(fd);
	stat[len > 0 ? len : 0] = '\0';

	/* Field 22, and the second one ends with the last bracket. */
	field = strrchr(stat, ')');
	for (i = 2; field && i < 22; i++)
		field = strchr(field + 1, ' ');
	if (!field)
		return 0;
	ticks = strtoll(field, NULL, 10);

	clock_gettime(CLOCK_REALTIME, &real);
	clock_gettime(CLOCK_BOOTTIME, &boot);

	return (real.tv_sec - boot.tv_sec) * second +
	       (real.tv_nsec - boot.tv_nsec) +
	       ticks * (second / sysconf(_SC_CLK_TCK));
}

/* An earlier process of this number may have left its file. */
static bool is_stale(const struct stat *st)
{
	return st->st_mtim.tv_sec * 1000000000LL + st->st_mtim.tv_nsec <
	       start_time();
}

static int check_file(int fd)
{
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	/* Anybody can make a file of that name. */
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || st.st_nlink != 1)
		return -EPERM;
	if (is_stale(&st) && ftruncate(fd, 0))
		return -errno;

	map_file = (struct map_file) {
		.fd = fd,
		.pid = getpid(),
		.dev = st.st_dev,
		.ino = st.st_ino,
	};

	return 0;
}

static int open_file(void)
{
	char path[64];
	int fd, ret;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW |
		  O_NONBLOCK | O_NOCTTY, 0600);
	if (fd < 0)
		return -errno;
	ret = check_file(fd);
	if (ret)
		close(fd);

	return ret;
}

static void switch_off(void)
{
	struct stat st;

	__atomic_store_n(&codectl_names_on, 0, __ATOMIC_RELAXED);
	if (is_open(&st))
		close(map_file.fd);
}

/* The file of another process, or none any more. */
static bool is_lost(void)
{
	struct stat st;

	return map_file.forked || map_file.pid != getpid() || !is_open(&st);
}

/* The process number alone does not say so: a namespace begins with 1. */
void codectl_names_forked(void)
{
	map_file.forked = true;
}

static int switch_on(void)
{
	int ret = open_file();

	if (ret)
		return ret;

	/*
	 * A function that is published now is either replayed, or its writer
	 * sees that names are on: a barrier in all threads, which pairs with
	 * the order in codectl_region_add().
	 */
	__atomic_store_n(&codectl_names_on, 1, __ATOMIC_SEQ_CST);
	syscall(__NR_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0,
		0);
	syscall(__NR_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
	ret = replay();
	if (ret)
		switch_off();

	return ret;
}

int codectl_perf_map(int on)
{
	int ret = 0;

	codectl_lock();
	if (codectl_names_on && is_lost())
		switch_off();
	if (codectl_names_on && !on)
		switch_off();
	else if (!codectl_names_on && on)
		ret = switch_on();
	codectl_unlock();

	return ret;
}

/* A child has a file of its own, which begins with all that it shares. */
void codectl_name_write(const struct codectl_func *func, uint64_t start)
{
	char name[NAME_MAX_LEN + 1], line[LINE_LEN];

	codectl_lock();
	if (!codectl_names_on)
		goto unlock;
	if (is_lost()) {
		switch_off();
		switch_on();
		goto unlock;
	}
	copy_name(name, func->name, name_len(func->name));
	/* Part of a line would spoil the next one. */
	if (write_all(line, format_line(line, start, func->len, name)))
		switch_off();
unlock:
	codectl_unlock();
}

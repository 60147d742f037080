// SPDX-License-Identifier: MIT
/*
 * The file of names for perf, /tmp/perf-PID.map.
 *
 * All of this is under the lock.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "internal.h"

#define LINE_LEN	(CODECTL_NAME_LEN + 40)

/**
 * struct map_file - the file of names
 * @fd: file descriptor; the program may have closed all files it does not know
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

static struct map_file map_file;

/* Lines that have yet to be written. */
static char buffer[8 * LINE_LEN];
static size_t buffered;

static bool is_on(void)
{
	return codectl_names_bits() & CODECTL_NAMES_MAP;
}

static bool is_open(struct stat *st)
{
	return !fstat(map_file.fd, st) && st->st_dev == map_file.dev &&
	       st->st_ino == map_file.ino;
}

/* Whether making the file longer would raise a signal. */
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

static int flush(void)
{
	size_t len = buffered;

	buffered = 0;

	return write_all(buffer, len);
}

static int put_line(const struct codectl_name *name)
{
	buffered += snprintf(buffer + buffered, LINE_LEN, "%llx %llx %s\n",
			     (unsigned long long)name->start,
			     (unsigned long long)name->len,
			     name->text);
	if (buffered + LINE_LEN <= sizeof(buffer))
		return 0;

	return flush();
}

/* When this process started, in nanoseconds of the real-time clock; 0 if unknown. */
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

	/* Field 22; the second one ends with the last bracket. */
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

/*
 * An earlier process with this PID may have left its file.  Before Linux 6.13 the time
 * of a file is that of the tick before it was written to.
 */
static bool is_stale(const struct stat *st)
{
	struct timespec tick;

	clock_getres(CLOCK_REALTIME_COARSE, &tick);
	return st->st_mtim.tv_sec * 1000000000LL + st->st_mtim.tv_nsec +
	       tick.tv_nsec < start_time();
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

	codectl_names_clear(CODECTL_NAMES_MAP);
	if (is_open(&st))
		close(map_file.fd);
}

/* The file belongs to another process, or is no longer open. */
static bool is_lost(void)
{
	struct stat st;

	return map_file.forked || map_file.pid != getpid() || !is_open(&st);
}

/* The PID alone does not tell: a namespace begins with 1. */
void codectl_map_forked(void)
{
	map_file.forked = true;
}

static int switch_on(void)
{
	int ret = open_file();

	if (ret)
		return ret;

	codectl_names_set(CODECTL_NAMES_MAP);
	buffered = 0;
	ret = codectl_names_replay(CODECTL_MAP, put_line);
	if (!ret)
		ret = flush();
	if (ret)
		switch_off();

	return ret;
}

int codectl_perf_map(int on)
{
	int ret = 0;

	codectl_lock();
	if (is_on() && is_lost())
		switch_off();
	if (is_on() && !on)
		switch_off();
	else if (!is_on() && on)
		ret = switch_on();
	codectl_unlock();

	return ret;
}

/* A child has a file of its own, which begins with all that it shares. */
void codectl_map_check(void)
{
	if (!is_on() || !is_lost())
		return;

	switch_off();
	switch_on();
}

void codectl_map_add(const struct codectl_name *name)
{
	int ret = put_line(name);

	/* Part of a line would spoil the next one. */
	if (ret || flush())
		switch_off();
}

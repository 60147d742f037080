// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "process.h"

#define SECOND		1000000000LL

/* As in the kernel, since 6.9. */
#ifndef PIDFD_THREAD
#define PIDFD_THREAD	O_EXCL
#endif

/* Of /proc/PID/stat, what follows the name, which may contain anything; empty if it has ended. */
static void read_stat(pid_t pid, char *rest, size_t size)
{
	char path[32], text[1024];
	const char *at;
	FILE *file;
	size_t len;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	file = fopen(path, "re");
	len = file ? fread(text, 1, sizeof(text) - 1, file) : 0;
	if (file)
		fclose(file);
	text[len] = '\0';
	at = strrchr(text, ')');
	snprintf(rest, size, "%s", at ? at + 1 : "");
}

/* The @nr-th field of the line, of which the name is the second. */
static uint64_t field(const char *rest, int nr)
{
	unsigned long long value = 0;

	for (; rest && *rest && nr > 3; nr--)
		rest = strchr(rest + 1, ' ');
	if (rest)
		sscanf(rest, "%llu", &value);
	return value;
}

uint64_t process_start(pid_t pid)
{
	char rest[1024];

	read_stat(pid, rest, sizeof(rest));
	return field(rest, 22);
}

uint64_t process_life(pid_t tid)
{
	int thread = syscall(SYS_pidfd_open, tid, PIDFD_THREAD);
	struct stat stat;
	uint64_t life;

	if (thread < 0)
		return 0;
	life = fstat(thread, &stat) ? 0 : stat.st_ino;
	close(thread);
	return life;
}

int process_open(pid_t pid)
{
	return syscall(SYS_pidfd_open, pid, 0);
}

bool process_has_ended(int process)
{
	struct pollfd ended = { .fd = process, .events = POLLIN };

	return process < 0 || poll(&ended, 1, 0) == 1;
}

bool process_runs(pid_t pid, uint64_t *ticks)
{
	char rest[1024];

	read_stat(pid, rest, sizeof(rest));
	*ticks = field(rest, 14) + field(rest, 15);
	return rest[0] && rest[1] == 'R';
}

static int64_t now_by(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return time.tv_sec * SECOND + time.tv_nsec;
}

uint64_t process_start_time(uint64_t start)
{
	const uint64_t since_boot = start * (SECOND / sysconf(_SC_CLK_TCK));

	return now_by(CLOCK_REALTIME) - now_by(CLOCK_BOOTTIME) + since_boot;
}

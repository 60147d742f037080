// SPDX-License-Identifier: MIT
/*
 * Measures what a program and its children cost: instructions, system calls, memory.
 *
 *	measure NAME PROGRAM [ARG...]
 *
 * Runs it twice, since the first run has to read files, and prints for the second run,
 * separated by tabs: NAME; thousands of instructions, which are the microseconds that the
 * processes ran in a guest with -icount at one instruction per nanosecond; system calls;
 * peak memory of the largest process in KiB.  Needs tracefs and CAP_PERFMON.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <spawn.h>
#include <stdio.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define EVENT	"/sys/kernel/tracing/events/raw_syscalls/sys_enter/id"

extern char **environ;

static _Noreturn void die(const char *what)
{
	fprintf(stderr, "measure: %s: %s\n", what, strerror(errno));
	exit(2);
}

/* Counts the system calls of processes that this one starts. */
static int count_calls(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT,
		.size = sizeof(attr),
		.inherit = 1,
	};
	FILE *file = fopen(EVENT, "r");
	unsigned long long id;
	int fd;

	if (!file || fscanf(file, "%llu", &id) != 1)
		die(EVENT);
	fclose(file);
	attr.config = id;
	fd = syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		die("perf_event_open");

	return fd;
}

static uint64_t microseconds(const struct timeval *time)
{
	return time->tv_sec * 1000000ULL + time->tv_usec;
}

static uint64_t calls(int fd)
{
	uint64_t count;

	if (read(fd, &count, sizeof(count)) != sizeof(count))
		die("perf event");

	return count;
}

static void run(char **argv)
{
	int err, status;
	pid_t pid;

	/* Standard input may be a file. */
	lseek(STDIN_FILENO, 0, SEEK_SET);
	err = posix_spawn(&pid, argv[0], NULL, NULL, argv, environ);
	if (err) {
		errno = err;
		die(argv[0]);
	}
	if (waitpid(pid, &status, 0) != pid || status) {
		fprintf(stderr, "measure: %s: status %#x\n", argv[0], status);
		exit(2);
	}
}

/* Of all child processes that have ended. */
static uint64_t spent(long *memory)
{
	struct rusage usage;

	if (getrusage(RUSAGE_CHILDREN, &usage))
		die("getrusage");
	*memory = usage.ru_maxrss;

	return microseconds(&usage.ru_utime) + microseconds(&usage.ru_stime);
}

int main(int argc, char **argv)
{
	uint64_t called, ran;
	long memory;
	int fd;

	if (argc < 3) {
		fprintf(stderr, "usage: measure NAME PROGRAM [ARG...]\n");
		return 2;
	}
	fd = count_calls();
	run(argv + 2);
	called = calls(fd);
	ran = spent(&memory);
	run(argv + 2);
	called = calls(fd) - called;
	ran = spent(&memory) - ran;
	printf("%s\t%llu\t%llu\t%ld\n", argv[1], (unsigned long long)ran,
	       (unsigned long long)called, memory);

	return 0;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * truth_load: write numbers to a trace_marker, each from two functions that encode the number, so
 * that the stack of a write identifies it.
 *
 * usage: truth_load --map
 *        truth_load MARKER SECONDS PROCESSES [COUNT]
 *
 * --map prints the offsets of the functions in this file. Otherwise PROCESSES processes start one
 * thread after the other, each for some writes, move between CPUs, fork, and execute this program
 * again; with COUNT, it only writes COUNT times.
 *
 * The number is in the text, and in the length of the write, which its events show: TRUTH_LENGTH
 * plus the number.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "truth.h"

static int marker;
static const char *marker_path;

/* A separate section gives each function a start and an end. */
#define IN(name)	__attribute__((noinline, section(#name)))

static __attribute__((noinline)) void emit(unsigned int number)
{
	char text[TRUTH_LENGTH + TRUTH_NUMBERS];
	int len = TRUTH_LENGTH + number;

	memset(text, ' ', sizeof(text));
	text[snprintf(text, sizeof(text), "truth=%u", number)] = ' ';
	text[len - 1] = '\n';
	/* the write fails if the buffer keeps the oldest records and is full */
	while (write(marker, text, len) < 0 && errno == EINTR)
		;
}

#define INNER(n)							\
	extern const char __start_truth_inner_##n[], __stop_truth_inner_##n[]; \
	static IN(truth_inner_##n) void inner_##n(unsigned int outer)	\
	{								\
		emit(outer * TRUTH_INNER + 0x##n);			\
		__asm__ volatile("");					\
	}

#define OUTER(n)							\
	extern const char __start_truth_outer_##n[], __stop_truth_outer_##n[]; \
	static IN(truth_outer_##n) void outer_##n(unsigned int inner)	\
	{								\
		inners[inner](0x##n);					\
		__asm__ volatile("");					\
	}

#define ALL(X)	X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)			\
		X(8) X(9) X(a) X(b) X(c) X(d) X(e) X(f)

#define INNER_NAME(n)	inner_##n,
#define OUTER_NAME(n)	outer_##n,
#define INNER_RANGE(n)	{ __start_truth_inner_##n, __stop_truth_inner_##n },
#define OUTER_RANGE(n)	{ __start_truth_outer_##n, __stop_truth_outer_##n },

ALL(INNER)
static void (*const inners[TRUTH_INNER])(unsigned int) = { ALL(INNER_NAME) };
ALL(OUTER)
static void (*const outers[TRUTH_OUTER])(unsigned int) = { ALL(OUTER_NAME) };

static const struct range {
	const char *start, *end;
} ranges[TRUTH_OUTER + TRUTH_INNER] = { ALL(OUTER_RANGE) ALL(INNER_RANGE) };

/* ----------------------------------------------------------------- its map */

static unsigned long file_offset(struct dl_phdr_info *info, const char *at)
{
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		unsigned long off = (unsigned long)at - info->dlpi_addr -
				    p->p_vaddr;

		if (p->p_type == PT_LOAD && off < p->p_memsz)
			return p->p_offset + off;
	}
	exit(3);
}

/* The program itself comes first. */
static int print_map(struct dl_phdr_info *info, size_t size, void *arg)
{
	for (int i = 0; i < TRUTH_OUTER + TRUTH_INNER; i++) {
		unsigned long start = file_offset(info, ranges[i].start);

		printf("%s %d %lx %lx\n", i < TRUTH_OUTER ? "outer" : "inner",
		       i % TRUTH_OUTER, start,
		       start + (ranges[i].end - ranges[i].start));
	}
	return 1;
}

/* --------------------------------------------------------------- its writes */

static unsigned int next_random(unsigned int *seed)
{
	return *seed = *seed * 1103515245 + 12345;
}

static void write_some(unsigned int *seed, int count)
{
	unsigned int number;

	while (count--) {
		number = next_random(seed) >> 16;
		outers[number % TRUTH_OUTER](number / TRUTH_OUTER % TRUTH_INNER);
	}
}

static void change_cpu(unsigned int *seed)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((next_random(seed) >> 16) % sysconf(_SC_NPROCESSORS_ONLN), &set);
	sched_setaffinity(0, sizeof(set), &set);
}

static void *run_thread(void *arg)
{
	unsigned int seed = (unsigned long)arg;
	int turns = 1 + (next_random(&seed) >> 16) % 4;

	while (turns--) {
		change_cpu(&seed);
		write_some(&seed, 1 + (next_random(&seed) >> 16) % 4);
	}
	return NULL;
}

/* Writes before execve(), and more in the next program. */
static void run_child(unsigned int seed)
{
	write_some(&seed, 1);
	execl("/proc/self/exe", "truth_load", marker_path, "0", "0", "3", NULL);
	_exit(3);
}

static bool run_step(unsigned int *seed)
{
	unsigned int next = next_random(seed);
	pthread_t threads[2];
	int nr = 0, status;
	pid_t pid;

	if (next >> 16 & 3) {
		while (nr < 2 && !pthread_create(&threads[nr], NULL, run_thread,
						 (void *)(unsigned long)next_random(seed)))
			nr++;
		while (nr)
			pthread_join(threads[--nr], NULL);
		return true;
	}
	pid = fork();
	if (pid == 0)
		run_child(next);
	/* without a free thread id, just go on */
	return pid < 0 || (waitpid(pid, &status, 0) == pid && status == 0);
}

static int run_process(unsigned int seed, int seconds)
{
	time_t end = time(NULL) + seconds;

	while (time(NULL) < end) {
		write_some(&seed, 1);
		if (!run_step(&seed))
			return 1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	unsigned int seed = getpid() + time(NULL);
	int processes, status, failed = 0;

	if (argc == 2 && !strcmp(argv[1], "--map"))
		return !dl_iterate_phdr(print_map, NULL);
	if (argc < 4)
		return 2;
	marker_path = argv[1];
	marker = open(marker_path, O_WRONLY | O_CLOEXEC);
	if (marker < 0) {
		perror(marker_path);
		return 3;
	}
	if (argc > 4) {
		write_some(&seed, atoi(argv[4]));
		return 0;
	}
	processes = atoi(argv[3]);
	for (int i = 0; i < processes; i++)
		if (fork() == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			_exit(run_process(seed + i * 7919, atoi(argv[2])));
		}
	while (processes--)
		if (wait(&status) < 0 || status)
			failed = 1;
	return failed;
}

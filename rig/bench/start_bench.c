// SPDX-License-Identifier: GPL-2.0
/*
 * The cost of starting a program, from posix_spawn() to the end of wait():
 *
 *	start_bench GROUP CASE X ROUNDS RUNS PROGRAM [ARG...]
 *
 * The figure is that of one start, in the cheapest of ROUNDS of RUNS.  A round includes
 * what is freed later.
 */
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>

#include "bench.h"

extern char **environ;

struct job {
	char **argv;
	int runs;
};

static void start(char **argv)
{
	int err, status;
	pid_t pid;

	err = posix_spawn(&pid, argv[0], NULL, NULL, argv, environ);
	if (err) {
		fprintf(stderr, "%s: %s\n", argv[0], strerror(err));
		exit(2);
	}
	if (waitpid(pid, &status, 0) != pid || status) {
		fprintf(stderr, "%s: status %#x\n", argv[0], status);
		exit(2);
	}
}

static double starts(void *arg)
{
	const struct job *job = arg;
	uint64_t from = ticks();

	for (int i = 0; i < job->runs; i++)
		start(job->argv);
	return (double)(ticks() - from) / job->runs;
}

int main(int argc, char **argv)
{
	struct job job;

	if (argc < 7) {
		fprintf(stderr,
			"usage: start_bench GROUP CASE X ROUNDS RUNS PROGRAM [ARG...]\n");
		return 2;
	}
	job = (struct job) { .argv = argv + 6, .runs = atoi(argv[5]) };
	result(argv[1], argv[2], atol(argv[3]), least(starts, &job, atoi(argv[4])),
	       "insns");
	return 0;
}

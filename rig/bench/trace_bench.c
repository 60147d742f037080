// SPDX-License-Identifier: GPL-2.0
/*
 * The cost of a stack of 64 frames in an instance of the trace, including the records
 * that explain its files: in instructions or, with the argument "cpus", in time while a
 * process on another CPU does the same.  Alternatives are measured alternately.
 */
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "codectl_test.h"
#include "tracefs.h"
#include "bench.h"
#include "chain.h"

#define DEPTH	64
#define STACKS	500
#define ROUNDS	15

/* What the other process does, if there is one. */
enum other { NOTHING, COMPUTES, TRACES, NR_OTHER };

static const char * const beside[NR_OTHER] = {
	"alone", "beside-computing", "beside-tracing",
};

static struct tracefs t;

static void take_stack(void)
{
	chain_call((void *)(long)(DEPTH - CHAIN_ENDS));
}

static double stack_insns(void *)
{
	uint64_t from = ticks();

	take_stack();
	return ticks() - from;
}

/* The event is enabled all the time. */
static void count(void)
{
	double without = least(stack_insns, NULL, 50);

	if (tracefs_write(&t, USER_STACKS, "1"))
		die(USER_STACKS);
	result("trace", "stack", DEPTH, least(stack_insns, NULL, 50) - without,
	       "insns");
}

static _Noreturn void be_other(enum other what, int to)
{
	stay_on(1);
	for (bool told = false;;) {
		if (what == TRACES)
			take_stack();
		if (!told && write(to, "", 1) != 1)
			_exit(1);
		told = true;
	}
}

static pid_t start_other(enum other what)
{
	pid_t pid;
	int fds[2];
	char c;

	if (what == NOTHING)
		return 0;
	if (pipe(fds))
		die("pipe");
	pid = fork();
	if (!pid)
		be_other(what, fds[1]);
	if (pid < 0 || read(fds[0], &c, 1) != 1)
		die("other process");
	close(fds[0]);
	close(fds[1]);
	return pid;
}

/* Returns the time of one stack. */
static double stack_time(enum other what)
{
	pid_t other = start_other(what);
	double from;

	take_stack();
	from = ns_now();
	for (int i = 0; i < STACKS; i++)
		take_stack();
	from = (ns_now() - from) / STACKS;
	if (other) {
		kill(other, SIGKILL);
		waitpid(other, NULL, 0);
	}
	return from;
}

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void time_beside(void)
{
	static double times[NR_OTHER][ROUNDS];

	if (tracefs_write(&t, USER_STACKS, "1"))
		die(USER_STACKS);
	stay_on(0);
	for (int round = 0; round < ROUNDS; round++)
		for (int what = 0; what < NR_OTHER; what++)
			times[what][round] = stack_time(what);
	for (int what = 0; what < NR_OTHER; what++) {
		qsort(times[what], ROUNDS, sizeof(double), compare_doubles);
		result("trace-cpus", beside[what], 0, times[what][ROUNDS / 2],
		       "ns");
	}
}

int main(int argc, char **argv)
{
	if (tracefs_open(&t, "bench") ||
	    tracefs_trace_syscall(&t, MARKER_NR, 0, false))
		die("tracefs");
	if (argc > 1 && !strcmp(argv[1], "cpus"))
		time_beside();
	else
		count();
	return tracefs_close(&t) ? 1 : 0;
}

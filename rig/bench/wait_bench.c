// SPDX-License-Identifier: GPL-2.0
/*
 * The cost of a switch between two processes that wait for each other: untraced; while only longer
 * waits are recorded, and while all are, each without and with the wakers; and with the scheduler's
 * own event for all.
 */
#include <sys/wait.h>

#include "codectl_test.h"
#include "tracefs.h"
#include "bench.h"

#define TRIPS	200
#define ROUNDS	30
/* Two instructions each: with these, 100,000 switches a second at 1 ns per instruction. */
#define COMPUTES	3230
/* Longer than any wait here, in microseconds. */
#define LONG	"1000000"

static struct tracefs t, top;
static int to[2], from[2];

static void compute(void)
{
	long left = COMPUTES;

	asm volatile("1: dec %0\n\tjnz 1b" : "+r"(left));
}

static _Noreturn void answer(void)
{
	char c;

	/* Closing the pipe ends it. */
	close(to[1]);
	while (read(to[0], &c, 1) == 1 && write(from[1], &c, 1) == 1)
		compute();
	_exit(0);
}

/* Each trip is two switches, as both are on one CPU. */
static double switch_insns(void *)
{
	uint64_t start = ticks();
	char c = 0;

	for (int i = 0; i < TRIPS; i++) {
		compute();
		if (write(to[1], &c, 1) != 1 || read(from[0], &c, 1) != 1)
			die("pipe");
	}
	return (double)(ticks() - start) / TRIPS / 2;
}

static void measure(const char *who)
{
	result("wait", who, 0, least(switch_insns, NULL, ROUNDS), "insns");
}

static void set(const struct tracefs *instance, const char *file, const char *text)
{
	if (tracefs_write(instance, file, text))
		die(file);
}

static void record_waits(const char *least_us, bool wakes, const char *who)
{
	set(&top, "code_wait_min_us", least_us);
	set(&t, "events/codectl/task_waited/enable", "1");
	set(&t, "events/codectl/task_wakes/enable", wakes ? "1" : "0");
	measure(who);
	set(&t, "events/codectl/task_wakes/enable", "0");
	set(&t, "events/codectl/task_waited/enable", "0");
	set(&top, "code_wait_min_us", "0");
}

int main(void)
{
	const struct sched_param priority = { .sched_priority = 1 };

	tracefs_top(&top);
	if (tracefs_open(&t, "bench") || pipe(to) || pipe(from))
		die("tracefs");
	stay_on(0);
	/* Neither gets a larger share for having waited. */
	if (sched_setscheduler(0, SCHED_FIFO, &priority))
		die("scheduler");
	if (!fork())
		answer();
	set(&t, USER_STACKS, "1");
	measure("untraced");
	record_waits(LONG, false, "longer-waits");
	record_waits(LONG, true, "longer-waits-and-wakes");
	record_waits("0", false, "all-waits");
	record_waits("0", true, "all-waits-and-wakes");
	set(&t, "events/sched/sched_switch/enable", "1");
	measure("sched_switch");
	set(&t, "events/sched/sched_switch/enable", "0");
	measure("untraced-again");
	close(to[1]);
	wait(NULL);
	return tracefs_close(&t) ? 1 : 0;
}

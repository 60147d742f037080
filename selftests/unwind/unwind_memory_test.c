// SPDX-License-Identifier: GPL-2.0
/*
 * The memory that rules of earlier walks take: who has it, for how long, and when it
 * is given back.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "memory.h"
#include "unwind_fixture.h"

#define SLAB "/sys/kernel/slab/unwind_rules/"
#define PROCESSES 16
#define THREADS 16

/* How many processes have rules; what none has any more is given back before. */
static long processes_with_rules(void)
{
	FILE *shrink = fopen(SLAB "shrink", "we"), *file = fopen(SLAB "objects", "re");
	long nr = -1;

	if (shrink && file && fputs("1", shrink) >= 0 && !fflush(shrink) &&
	    fscanf(file, "%ld", &nr) != 1)
		nr = -1;
	if (shrink)
		fclose(shrink);
	if (file)
		fclose(file);
	return nr;
}

/* Whether so few processes have rules before long. */
static bool rules_are_gone(long before)
{
	double end = now() + scaled_seconds(10);

	while (processes_with_rules() > before) {
		if (now() > end)
			return false;
		usleep(50000);
	}
	return true;
}

/* What the processes do, or the threads; and when one of them last took a stack. */
enum { WALK, STAY, EXIT };
static volatile int *phase;
static volatile double *walked;

/* Sooner than rules go that lie idle, which they do for half a second. */
static double before_idle(void)
{
	return is_slow() ? now() + scaled_seconds(10) : *walked + 0.45;
}

static void *walk_on(void *arg)
{
	while (*phase != EXIT) {
		if (*phase == WALK) {
			*walked = now();
			marker();
		}
		usleep(10000);
	}
	return arg;
}

static int map_phase(void)
{
	phase = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		     -1, 0);
	walked = (double *)phase + 1;
	return phase == MAP_FAILED ? -1 : 0;
}

/* Whether so many processes have rules before long. */
static bool rules_are_there(long wanted)
{
	double end = now() + scaled_seconds(20);

	/* One that has to wait for its turn is without again, for a while. */
	while (processes_with_rules() < wanted)
		if (now() > end)
			return false;
	return true;
}

/* Each does @first, if not NULL, and then what @phase says. */
static void fork_processes(struct __test_metadata *_metadata,
			   FIXTURE_DATA(unwind) * self, pid_t *pids,
			   void (*first)(void))
{
	for (int i = 0; i < PROCESSES; i++) {
		pids[i] = fork();
		ASSERT_LE(0, pids[i]);
		if (pids[i])
			continue;
		/* The parent is to have the last of it. */
		sampler_close(&self->sampler);
		if (first)
			first();
		walk_on(NULL);
		_exit(0);
	}
}

/* They take one stack after the other, each with rules; how many had before. */
static long start_processes(struct __test_metadata *_metadata,
			    FIXTURE_DATA(unwind) * self, pid_t *pids)
{
	long before = processes_with_rules();

	ASSERT_LE(0, before);
	ASSERT_EQ(0, map_phase());
	fork_processes(_metadata, self, pids, NULL);
	EXPECT_TRUE(rules_are_there(before + PROCESSES));
	return before;
}

/* How many there were to wait for. */
static int end_processes(const pid_t *pids)
{
	int nr = 0;

	*phase = EXIT;
	for (int i = 0; i < PROCESSES; i++)
		nr += waitpid(pids[i], NULL, 0) == pids[i];
	return nr;
}

static int walked_once[2];

static void walk_once(void)
{
	marker();
	if (write(walked_once[1], "", 1) != 1)
		_exit(1);
}

/* There may be no other: what it finds is not kept. */
TEST_F(unwind, no_rules_of_a_first_stack)
{
	long before = processes_with_rules();
	pid_t pids[PROCESSES];
	char c;

	ASSERT_LE(0, before);
	ASSERT_EQ(0, map_phase());
	ASSERT_EQ(0, pipe2(walked_once, O_CLOEXEC));
	*phase = STAY;
	fork_processes(_metadata, self, pids, walk_once);
	for (int i = 0; i < PROCESSES; i++)
		ASSERT_EQ(1, read(walked_once[0], &c, 1));
	EXPECT_GE(before, processes_with_rules());
	*phase = WALK;
	EXPECT_TRUE(rules_are_there(before + PROCESSES));
	EXPECT_EQ(PROCESSES, end_processes(pids));
}

TEST_F(unwind, no_rules_of_who_is_not_traced)
{
	pid_t pids[PROCESSES];
	long before = start_processes(_metadata, self, pids);

	sampler_close(&self->sampler);
	EXPECT_TRUE(rules_are_gone(before));
	ASSERT_EQ(0, sampler_open_syscall(&self->sampler, MARKER_NR));
	end_processes(pids);
}

TEST_F(unwind, no_rules_of_who_takes_no_stacks)
{
	pid_t pids[PROCESSES];
	long before = start_processes(_metadata, self, pids);

	*phase = STAY;
	EXPECT_TRUE(rules_are_gone(before));
	end_processes(pids);
}

/* They are the tracer's, not of the memory cgroup of who is traced. */
TEST_F(unwind, rules_are_not_charged)
{
	static const char group[] = "codectl_unwind_memory_test";
	long before = processes_with_rules(), slab;
	pid_t pids[PROCESSES];

	ASSERT_LE(0, before);
	ASSERT_EQ(0, map_phase());
	*phase = STAY;
	ASSERT_TRUE(memory_group_enter(group));
	fork_processes(_metadata, self, pids, NULL);
	slab = memory_group_bytes(group, "slab ");
	ASSERT_LT(0, slab);
	*phase = WALK;
	EXPECT_TRUE(rules_are_there(before + PROCESSES));
	/* Each process has 8 KiB of them. */
	EXPECT_GT(slab + PROCESSES * 4096, memory_group_bytes(group, "slab "));
	EXPECT_EQ(PROCESSES, end_processes(pids));
	memory_group_leave(group);
}

/* Nobody waits for those that have exited. */
TEST_F(unwind, no_rules_of_who_has_exited)
{
	pid_t pids[PROCESSES];
	long before = start_processes(_metadata, self, pids);

	*phase = EXIT;
	for (int i = 0; i < PROCESSES; i++)
		ASSERT_EQ(0, waitid(P_PID, pids[i], NULL, WEXITED | WNOWAIT));
	EXPECT_TRUE(rules_are_gone(before));
	end_processes(pids);
}

/* Whether the rules of processes that stop taking stacks are gone at once. */
static bool rules_are_given_back(long before)
{
	double end;

	*phase = STAY;
	end = before_idle();
	/* What the last walks still have is theirs until they end. */
	do {
		if (sysctl_write("vm/drop_caches", 2) || now() > end)
			return false;
	} while (processes_with_rules() > before);
	return now() < end;
}

/* Memory is wanted for something else. */
TEST_F(unwind, no_rules_where_memory_is_wanted)
{
	pid_t pids[PROCESSES];
	long before = start_processes(_metadata, self, pids);
	bool given_back = false;

	for (int i = 0; i < 20 && !given_back; i++) {
		*phase = WALK;
		ASSERT_TRUE(rules_are_there(before + PROCESSES));
		given_back = rules_are_given_back(before);
	}
	EXPECT_TRUE(given_back);
	end_processes(pids);
}

/* All threads of a process have the same rules. */
TEST_F(unwind, threads_have_one_memory)
{
	long before = processes_with_rules(), most = 0, nr;
	pthread_t threads[THREADS];
	double end;

	ASSERT_LE(0, before);
	ASSERT_EQ(0, map_phase());
	for (int i = 0; i < THREADS; i++)
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, walk_on, NULL));
	/* Of those that are first several may make one. */
	usleep(200000);
	end = now() + 1;
	while (now() < end) {
		nr = processes_with_rules();
		most = nr > most ? nr : most;
	}
	EXPECT_LT(0, most);
	EXPECT_GE(before + 1, most);
	*phase = EXIT;
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

#define CROWD_PROCESSES 500
#define CROWD_THREADS 10

static int crowd_processes(void)
{
	return is_slow() ? CROWD_PROCESSES / 5 : CROWD_PROCESSES;
}

static int crowd(void)
{
	return crowd_processes() * CROWD_THREADS;
}

/*
 * Three pipes: each thread says what it has done, is told to go on by a byte, and to end
 * by the end of the third one.
 */
static int crowd_done[2], crowd_go[2], crowd_end[2];

static void crowd_step(int wait_for)
{
	char byte = 0;

	if (write(crowd_done[1], &byte, 1) == 1)
		while (read(wait_for, &byte, 1) < 0 && errno == EINTR)
			;
}

/* Waits, takes stacks, and waits for its end. */
static void *walk_and_stay(void *arg)
{
	crowd_step(crowd_go[0]);
	for (int i = 0; i < 3; i++)
		marker();
	crowd_step(crowd_end[0]);
	return arg;
}

static _Noreturn void be_crowd(void)
{
	pthread_t threads[CROWD_THREADS - 1];
	int i;

	for (i = 0; i < CROWD_THREADS - 1; i++) {
		if (pthread_create(&threads[i], NULL, walk_and_stay, NULL))
			_exit(1);
	}
	walk_and_stay(NULL);
	for (i = 0; i < CROWD_THREADS - 1; i++)
		pthread_join(threads[i], NULL);
	_exit(0);
}

static int start_crowd(pid_t *pids)
{
	if (pipe2(crowd_done, O_CLOEXEC) || pipe2(crowd_go, O_CLOEXEC) ||
	    pipe2(crowd_end, O_CLOEXEC))
		return -1;
	for (int i = 0; i < crowd_processes(); i++) {
		pids[i] = fork();
		if (pids[i] < 0)
			return -1;
		if (!pids[i]) {
			close(crowd_done[0]);
			close(crowd_go[1]);
			close(crowd_end[1]);
			be_crowd();
		}
	}
	close(crowd_done[1]);
	return 0;
}

/* Whether all of them have come to a step; in @most how many had rules meanwhile. */
static bool crowd_has_done(long *most)
{
	char byte;
	long nr;

	*most = 0;
	for (int i = 0; i < crowd(); i++) {
		if (read(crowd_done[0], &byte, 1) != 1)
			return false;
		nr = i % 100 ? 0 : processes_with_rules();
		*most = nr > *most ? nr : *most;
	}
	return true;
}

static int let_crowd_go(void)
{
	static const char bytes[CROWD_PROCESSES * CROWD_THREADS];

	return write(crowd_go[1], bytes, crowd()) == crowd() ? 0 : -1;
}

/* Of the kernel, that is not given back where it is wanted, in KiB. */
static long kernel_memory(void)
{
	FILE *file = fopen("/proc/meminfo", "re");
	char line[128];
	long kib = -1;

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "SUnreclaim: %ld", &kib) == 1)
			break;
	if (file)
		fclose(file);
	return kib;
}

/*
 * 5,000 threads, or 1,000 where that takes long, that somebody who traces the machine
 * has seen, and sees no more: they have no rules.  Each has a place for stacks, of
 * 4 KiB, which Linux leaves to a thread that perf has asked for one, and nothing else.
 */
TEST_F(unwind, no_rules_of_a_crowd)
{
	static pid_t pids[CROWD_PROCESSES];
	long rules = processes_with_rules(), most, before, between, after;
	struct sampler all;
	int status;

	sampler_close(&self->sampler);
	ASSERT_LE(0, rules);
	ASSERT_EQ(0, start_crowd(pids));
	ASSERT_TRUE(crowd_has_done(&most));
	before = kernel_memory();
	ASSERT_EQ(0, sampler_open_syscall_all(&all, MARKER_NR));
	ASSERT_EQ(0, let_crowd_go());
	ASSERT_TRUE(crowd_has_done(&most));
	EXPECT_LT(rules, most);
	between = kernel_memory();
	sampler_close(&all);
	EXPECT_TRUE(rules_are_gone(rules));
	after = kernel_memory();
	TH_LOG("%ld KiB, traced %ld, and then %ld", before, between, after);
	EXPECT_LT(before + 3 * crowd(), between);
	/* A debug kernel has more to each object. */
	if (!is_slow())
		EXPECT_GT(before + 9 * crowd() / 2, after);
	close(crowd_end[1]);
	for (int i = 0; i < crowd_processes(); i++) {
		ASSERT_EQ(pids[i], waitpid(pids[i], &status, 0));
		EXPECT_EQ(0, status);
	}
	ASSERT_EQ(0, sampler_open_syscall(&self->sampler, MARKER_NR));
}

TEST_HARNESS_MAIN

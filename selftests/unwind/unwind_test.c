// SPDX-License-Identifier: GPL-2.0
/*
 * Complete stacks of code without frame pointers: frames of every shape,
 * callbacks, threads and children.  Built dynamic, static and static-pie.
 */
#include <alloca.h>
#include <pthread.h>
#include <sched.h>
#include <spawn.h>
#include <sys/wait.h>
#include <ucontext.h>

#include "unwind_fixture.h"

static noinline int chain_b(int x)
{
	volatile int pad[8];

	NOTE_FRAME();
	pad[x & 7] = x;
	leaf();
	return pad[x & 7] + 1;
}

static noinline int chain_a(int x)
{
	NOTE_FRAME();
	return chain_b(x + 1) + x;
}

TEST_F(unwind, plain_chain)
{
	NOTE_FRAME();
	EXPECT_EQ(4, chain_a(1));
	EXPECT_TRUE_STACK_TO_START();
	/* leaf(), chain_b(), chain_a() and this function, at the least. */
	EXPECT_LE(4, truth.nr_noted);
	EXPECT_LT(truth.nr_noted, self->stack.nr);
}

static int leaf_calls;

static noinline int compare(const void *a, const void *b)
{
	NOTE_FRAME();
	if (!leaf_calls++)
		leaf();
	else
		truth.nr_noted--;
	return *(const int *)a - *(const int *)b;
}

TEST_F(unwind, through_qsort)
{
	int values[] = { 5, 3, 8, 1, 9, 2, 7 };

	leaf_calls = 0;
	NOTE_FRAME();
	qsort(values, ARRAY_SIZE(values), sizeof(int), compare);
	EXPECT_EQ(1, values[0]);
	EXPECT_TRUE_STACK_TO_START();
}

TEST_F(unwind, through_bsearch)
{
	int values[] = { 1, 2, 3, 5, 7, 8, 9 }, key = 5;

	leaf_calls = 0;
	NOTE_FRAME();
	EXPECT_NE(NULL, bsearch(&key, values, ARRAY_SIZE(values), sizeof(int),
				compare));
	EXPECT_TRUE_STACK_TO_START();
}

static noinline int big_frame(int x)
{
	volatile char buf[70000];

	NOTE_FRAME();
	buf[x] = 1;
	leaf();
	return buf[x];
}

TEST_F(unwind, frame_over_64k)
{
	NOTE_FRAME();
	EXPECT_EQ(1, big_frame(69999));
	EXPECT_TRUE_STACK_TO_START();
}

static noinline uint64_t realigned_frame(int x)
{
	volatile char buf[192] __attribute__((aligned(64)));

	NOTE_FRAME();
	buf[x] = 1;
	leaf();
	return addr_of((char *)buf);
}

TEST_F(unwind, realigned_frame)
{
	NOTE_FRAME();
	EXPECT_EQ(0, realigned_frame(3) % 64);
	EXPECT_TRUE_STACK_TO_START();
}

/* Arguments on the stack and a realigned frame need a register for the CFA. */
static noinline int drap_frame(int a, int b, int c, int d, int e, int f,
			       int g, int h)
{
	volatile char buf[128] __attribute__((aligned(64)));
	volatile char *more = alloca(g * 16);

	NOTE_FRAME();
	buf[a] = b + c + d + e + f;
	more[g] = h;
	leaf();
	return buf[a] + more[g] + h;
}

TEST_F(unwind, realigned_frame_with_stack_arguments)
{
	NOTE_FRAME();
	EXPECT_EQ(5 + 8 + 8, drap_frame(1, 1, 1, 1, 1, 1, 7, 8));
	EXPECT_TRUE_STACK_TO_START();
}

static noinline int alloca_frame(int n)
{
	volatile char *p = alloca(n);

	NOTE_FRAME();
	p[n - 1] = 1;
	leaf();
	return p[n - 1];
}

TEST_F(unwind, alloca_frame)
{
	NOTE_FRAME();
	EXPECT_EQ(1, alloca_frame(12345));
	EXPECT_TRUE_STACK_TO_START();
}

__attribute__((optimize("no-omit-frame-pointer")))
static noinline int fp_frame(int x)
{
	NOTE_FRAME();
	return chain_a(x) + 1;
}

/* What such a frame saves as frame pointer is no frame's address. */
TEST_F(unwind, frame_pointer_in_the_middle)
{
	NOTE_FRAME();
	EXPECT_EQ(5, fp_frame(1));
	EXPECT_TRUE_STACK_TO_START();
}

static noinline int recurse(int depth)
{
	if (depth)
		return recurse(depth - 1) + 1;
	leaf();
	return 0;
}

TEST_F(unwind, deep_recursion)
{
	NOTE_FRAME();
	EXPECT_EQ(400, recurse(400));
	EXPECT_TRUE_STACK_TO_START();
	EXPECT_LT(400, self->stack.nr);
}

TEST_F(unwind, recursion_over_the_limit)
{
	EXPECT_EQ(700, recurse(700));
	truth.nr_noted = 0;
	EXPECT_TRUE_STACK();
	EXPECT_EQ(STACK_MAX, self->stack.nr);
}

static noinline void *thread_main(void *arg)
{
	NOTE_FRAME();
	chain_a(1);
	return NULL;
}

TEST_F(unwind, thread)
{
	pthread_t thread;

	ASSERT_EQ(0, pthread_create(&thread, NULL, thread_main, NULL));
	ASSERT_EQ(0, pthread_join(thread, NULL));
	EXPECT_TRUE_STACK();
	/* leaf, chain_b, chain_a, thread_main, start_thread, clone3 */
	EXPECT_EQ(6, self->stack.nr);
}

static noinline int clone_main(void *arg)
{
	NOTE_FRAME();
	return chain_a(1) - 4;
}

TEST_F(unwind, raw_clone)
{
	char *mem = map_pages(32, PROT_READ | PROT_WRITE);
	int status;
	pid_t pid;

	ASSERT_NE(NULL, mem);
	pid = clone(clone_main, mem + 32 * PAGE, CLONE_VM | SIGCHLD, NULL);
	ASSERT_LT(0, pid);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_TRUE_STACK();
	/* leaf, chain_b, chain_a, clone_main, clone */
	EXPECT_EQ(5, self->stack.nr);
}

static noinline void context_main(void)
{
	NOTE_FRAME();
	chain_a(1);
}

TEST_F(unwind, made_context)
{
	static ucontext_t own, made;

	ASSERT_EQ(0, getcontext(&made));
	made.uc_stack.ss_sp = map_pages(16, PROT_READ | PROT_WRITE);
	made.uc_stack.ss_size = 16 * PAGE;
	made.uc_link = &own;
	makecontext(&made, context_main, 0);
	ASSERT_EQ(0, swapcontext(&own, &made));
	EXPECT_TRUE_STACK();
	/* leaf, chain_b, chain_a, context_main, __start_context */
	EXPECT_EQ(5, self->stack.nr);
}

TEST_F(unwind, forked_child)
{
	struct truth *shared = mmap(NULL, sizeof(*shared),
				    PROT_READ | PROT_WRITE,
				    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int status;
	pid_t pid;

	ASSERT_NE(MAP_FAILED, shared);
	NOTE_FRAME();
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		/* fork() copies no page tables of files. */
		sampler_touch_tables();
		chain_a(1);
		*shared = truth;
		_exit(0);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	truth = *shared;
	EXPECT_TRUE_STACK_TO_START();
	EXPECT_EQ(pid, self->stack.pid);
}

TEST_F(unwind, vfork_child)
{
	pid_t pid, me = getpid();
	int status;

	NOTE_FRAME();
	pid = vfork();
	if (!pid) {
		chain_a(1);
		_exit(0);
	}
	ASSERT_LT(0, pid);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_TRUE_STACK_TO_START();
	EXPECT_NE(me, self->stack.pid);
}

/*
 * The C library's stub has popped its return address by then, and the child
 * overwrites it.
 */
TEST_F(unwind, inside_vfork)
{
	struct sampler sampler;
	struct stack stack;
	pid_t pid;

	ASSERT_EQ(0, sampler_open_syscall(&sampler, __NR_vfork));
	truth_callers();
	pid = vfork();
	if (!pid)
		_exit(0);
	ASSERT_EQ(pid, waitpid(pid, NULL, 0));
	ASSERT_TRUE(sampler_next(&sampler, &stack));
	/* vfork and this function come on top of its callers. */
	EXPECT_EQ(truth.nr + 2, stack.nr);
	EXPECT_TRUE(same_tail(&stack, &truth, truth.nr)) {
		print_stack(&stack, &truth);
	}
	sampler_close(&sampler);
}

static void take_all(struct sampler *sampler, struct stack *last,
		     unsigned int *nr)
{
	for (*nr = 0; sampler_next(sampler, last); )
		++*nr;
}

/* The child runs the C library's code only, up to its execve(). */
TEST_F(unwind, posix_spawn_child)
{
	char *argv[] = { "unwind_test", "--exit", NULL };
	struct sampler sampler;
	struct stack stack;
	pthread_t thread;
	unsigned int nr;
	int status;
	pid_t pid;

	/* A thread's outermost frame is that of the child. */
	ASSERT_EQ(0, pthread_create(&thread, NULL, thread_main, NULL));
	ASSERT_EQ(0, pthread_join(thread, NULL));
	EXPECT_TRUE_STACK();
	ASSERT_EQ(0, sampler_open_syscall(&sampler, __NR_execve));
	ASSERT_EQ(0, posix_spawn(&pid, "/proc/self/exe", NULL, NULL, argv,
				 environ));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	take_all(&sampler, &stack, &nr);
	EXPECT_EQ(1, nr);
	/* execve, its caller in posix_spawn(), clone3 */
	EXPECT_EQ(3, stack.nr);
	EXPECT_GT(64, stack.ip[0] - addr_of(execve));
	EXPECT_EQ(self->stack.ip[self->stack.nr - 1], stack.ip[stack.nr - 1]);
	sampler_close(&sampler);
}

static noinline long marked_syscall(long nr, const void *a, const void *b,
				    const void *c)
{
	uint64_t ip;

	asm volatile("lea 1f(%%rip), %0" : "=r"(ip));
	truth_capture(ip);
	asm volatile("syscall\n1:"
		     : "+a"(nr) : "D"(a), "S"(b), "d"(c)
		     : "rcx", "r11", "memory");
	return nr;
}

/* What is asked for at the entry of execve() is the stack it was called on. */
TEST_F(unwind, before_execve)
{
	char *argv[] = { "unwind_test", "--exit", NULL };
	struct sampler sampler;
	int status;
	pid_t pid;

	ASSERT_EQ(0, sampler_open_syscall(&sampler, __NR_execve));
	NOTE_FRAME();
	pid = vfork();
	if (!pid) {
		marked_syscall(__NR_execve, "/proc/self/exe", argv, environ);
		_exit(1);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	sampler_close(&self->sampler);
	self->sampler = sampler;
	EXPECT_TRUE_STACK_TO_START();
}

TEST_F(unwind, before_exit)
{
	struct sampler sampler;
	int status;
	pid_t pid;

	/* The walk at exit takes no page faults: have the tables in memory. */
	leaf();
	EXPECT_TRUE_STACK_TO_START();
	truth_reset();
	ASSERT_EQ(0, sampler_open_syscall_all(&sampler, __NR_exit_group));
	NOTE_FRAME();
	pid = vfork();
	if (!pid)
		marked_syscall(__NR_exit_group, NULL, NULL, NULL);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	sampler_close(&self->sampler);
	self->sampler = sampler;
	EXPECT_TRUE_STACK_TO_START();
}

static noinline int busy_compare(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;

	return (x > y) - (x < y);
}

static noinline void busy(double seconds)
{
	static int values[4096];
	double end = now() + seconds;

	while (now() < end) {
		for (size_t i = 0; i < ARRAY_SIZE(values); i++)
			values[i] = i * 2654435761U;
		qsort(values, ARRAY_SIZE(values), sizeof(int), busy_compare);
	}
}

/* Any instant: every stack ends in the callers of this function. */
TEST_F(unwind, at_any_instant)
{
	unsigned int nr = 0, bad = 0, plt = 0;
	struct sampler sampler;
	double end = now() + scaled_seconds(60);

	truth_callers();
	ASSERT_EQ(0, sampler_open_clock(&sampler, 500));
	do {
		busy(0.5);
		while (sampler_next(&sampler, &self->stack)) {
			nr++;
			if (same_tail(&self->stack, &truth, truth.nr))
				continue;
			if (in_static_plt(self->stack.ip[0]) ||
			    in_plt_got(self->stack.ip[0]))
				plt++;
			else if (!bad++)
				print_stack(&self->stack, &truth);
		}
	} while (nr < 1000 && now() < end);
	TH_LOG("%u stacks, %u not complete, %u in a misdescribed PLT", nr, bad, plt);
	EXPECT_LT(100, nr);
	EXPECT_EQ(0, bad);
	sampler_close(&sampler);
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "--exit"))
		return 0;
	return test_harness_run(argc, argv);
}

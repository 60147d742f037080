// SPDX-License-Identifier: GPL-2.0
/*
 * Fork while code is published: both processes have what was published before, and
 * each has what it publishes afterwards.
 */
#include <pthread.h>
#include <sched.h>
#include <sys/wait.h>

#include "jit_code.h"
#include "unwind_common.h"

#define MAX_CALLS 16

/* What a child found to be the truth of its stacks, for its parent. */
struct report {
	unsigned int nr;
	struct truth truth[MAX_CALLS];
};

static struct report *report;
static struct jit_region region;

static void *map_shared(void *at, size_t size)
{
	void *p = mmap(at, size, PROT_READ | PROT_WRITE | PROT_EXEC,
		       MAP_SHARED | MAP_ANONYMOUS | (at ? MAP_FIXED : 0), -1,
		       0);

	return p == MAP_FAILED ? NULL : p;
}

FIXTURE(forked)
{
	struct sampler sampler;
	struct stack stack;
};

FIXTURE_SETUP(forked)
{
	REQUIRE_CODECTL();
	report = map_shared(NULL, sizeof(*report));
	ASSERT_NE(NULL, report);
	ASSERT_EQ(0, jit_region_map(&region, 1 << 12, 32, 1 << 20));
}

FIXTURE_TEARDOWN(forked)
{
	sampler_close(&self->sampler);
}

/*
 * This thread, and its children.  Their stacks are in order if all come from one CPU.
 */
static void watch(struct __test_metadata *_metadata,
		  FIXTURE_DATA(forked) * self)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(0, &set);
	ASSERT_EQ(0, sched_setaffinity(0, sizeof(set), &set));
	ASSERT_EQ(0, sampler_open_syscall(&self->sampler, MARKER_NR));
}

static void run_and_report(const uint8_t *function,
			   const struct jit_shape *shape)
{
	jit_run(function, shape);
	report->truth[report->nr++] = truth;
}

/* All that @pid has reported was recorded, and whole. */
static void check_reports(struct __test_metadata *_metadata,
			  FIXTURE_DATA(forked) * self, pid_t pid,
			  unsigned int nr)
{
	unsigned int i = 0;

	ASSERT_EQ(nr, report->nr);
	while (i < nr && sampler_next(&self->sampler, &self->stack)) {
		if (self->stack.pid != pid)
			continue;
		EXPECT_TRUE(stack_is_true(&self->stack, &report->truth[i])) {
			TH_LOG("call %u", i);
			print_stack(&self->stack, &report->truth[i]);
		}
		i++;
	}
	EXPECT_EQ(nr, i);
	sampler_drain(&self->sampler);
}

static void wait_for(struct __test_metadata *_metadata, pid_t pid)
{
	int status;

	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	ASSERT_EQ(0, status);
}

static bool stop;
static unsigned int published, wrong;

/* In another thread, with a sampler of its own. */
static void *publish_and_call(void *arg)
{
	static struct jit_thread me;
	static struct stack stack;
	struct sampler sampler;

	truth_callers();
	me.callers = truth;
	if (sampler_open_syscall(&sampler, MARKER_NR))
		return arg;
	__atomic_store_n(&published, 1, __ATOMIC_RELEASE);
	for (unsigned int i = 0; !__atomic_load_n(&stop, __ATOMIC_RELAXED);
	     i++) {
		const struct jit_shape *shape = jit_shapes[i % NR_JIT_SHAPES];
		uint8_t *function = jit_emit(&region, shape, jit_leaf);
		uint64_t ra;

		if (!function)
			return arg;
		ra = jit_enter(function);
		jit_expect(&me, function, shape, ra);
		if ((!sampler_next(&sampler, &stack) ||
		     !stack_is_true(&stack, &me.truth)) && !wrong++)
			print_stack(&stack, &me.truth);
		__atomic_store_n(&published, published + 1, __ATOMIC_RELEASE);
	}
	return NULL;
}

/*
 * A child is forked at any point of the other thread, which does not exist in it: from
 * then on it is the only writer of its copy.
 */
static void child_of_publisher(uint8_t *const *shared, unsigned int n)
{
	report->nr = 0;
	for (int i = 0; i < NR_JIT_SHAPES; i++)
		run_and_report(shared[i], jit_shapes[i]);
	for (int i = 0; i < NR_JIT_SHAPES; i++) {
		const struct jit_shape *shape =
			jit_shapes[(i + n) % NR_JIT_SHAPES];
		uint8_t *function = jit_emit(&region, shape, jit_leaf);

		if (!function)
			_exit(2);
		run_and_report(function, shape);
	}
	_exit(0);
}

TEST_F(forked, while_another_thread_publishes)
{
	uint8_t *shared[NR_JIT_SHAPES];
	double end = now() + 4;
	pthread_t thread;
	unsigned int n;
	void *ret;

	ASSERT_EQ(0, register_jit(&region.info));
	for (int i = 0; i < NR_JIT_SHAPES; i++)
		shared[i] = jit_emit(&region, jit_shapes[i], jit_leaf);
	ASSERT_EQ(0, pthread_create(&thread, NULL, publish_and_call, &region));
	while (!__atomic_load_n(&published, __ATOMIC_ACQUIRE))
		sched_yield();
	watch(_metadata, self);
	for (n = 0; n < 10 || (n < 100 && now() < end); n++) {
		pid_t pid = fork();

		ASSERT_LE(0, pid);
		if (!pid)
			child_of_publisher(shared, n);
		wait_for(_metadata, pid);
		check_reports(_metadata, self, pid, 2 * NR_JIT_SHAPES);
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	ASSERT_EQ(0, pthread_join(thread, &ret));
	EXPECT_EQ(NULL, ret);
	TH_LOG("%u children, %u functions published beside them", n, published);
	EXPECT_LT(n, published);
	EXPECT_EQ(0, wrong);
}

/* Two pipes, to take turns. */
static int to_child[2], to_parent[2];

static void say(int *fds)
{
	if (write(fds[1], "g", 1) != 1)
		_exit(3);
}

static void hear(int *fds)
{
	char c;

	if (read(fds[0], &c, 1) != 1)
		_exit(4);
}

/* A child that runs what its parent has written after the fork. */
static void check_late(struct __test_metadata *_metadata,
		       FIXTURE_DATA(forked) * self, unsigned int frames)
{
	uint8_t **late = map_shared(NULL, PAGE);
	pid_t pid;

	ASSERT_NE(NULL, late);
	ASSERT_EQ(0, pipe(to_child));
	ASSERT_EQ(0, pipe(to_parent));
	ASSERT_EQ(0, register_jit(&region.info));
	watch(_metadata, self);
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		hear(to_child);
		run_and_report(late[0], &jit_small);
		late[1] = jit_emit(&region, &jit_big, jit_leaf);
		run_and_report(late[1], &jit_big);
		_exit(0);
	}
	late[0] = jit_emit(&region, &jit_small, jit_leaf);
	say(to_child);
	wait_for(_metadata, pid);
	ASSERT_TRUE(sampler_next(&self->sampler, &self->stack));
	EXPECT_TRUE(stack_is_prefix(&self->stack, &report->truth[0]));
	EXPECT_EQ(frames ?: report->truth[0].nr, self->stack.nr);
	ASSERT_TRUE(sampler_next(&self->sampler, &self->stack));
	EXPECT_TRUE(stack_is_true(&self->stack, &report->truth[1]));
	/* And vice versa. */
	jit_run(late[1], &jit_big);
	ASSERT_TRUE(sampler_next(&self->sampler, &self->stack));
	EXPECT_TRUE(stack_is_prefix(&self->stack, &truth));
	EXPECT_EQ(frames ?: truth.nr, self->stack.nr);
}

TEST_F(forked, with_shared_tables)
{
	ASSERT_NE(NULL, map_shared(region.text, region.text_size));
	ASSERT_NE(NULL, map_shared(region.tables, region.table_size));
	jit_table_init(region.tables, region.table_size);
	check_late(_metadata, self, 0);
}

/* The code is there, but only the writer has its rows. */
TEST_F(forked, with_tables_of_its_own)
{
	ASSERT_NE(NULL, map_shared(region.text, region.text_size));
	check_late(_metadata, self, 2);
}

TEST_HARNESS_MAIN

// SPDX-License-Identifier: GPL-2.0
/*
 * Random calls of codectl(2) on text whose mappings change, while stacks are taken
 * through tables that are overwritten, and all reports of registrations are read.
 * FUZZ_SEED and FUZZ_CALLS choose what to do, and for how long; the thread that knows
 * the results of its calls does the same each time.
 */
#include <pthread.h>
#include <sched.h>
#include <spawn.h>
#include <sys/wait.h>

#include "trace_fixture.h"
#include "fuzz.h"
#include "jit_table.h"
#include "memory.h"
#include "proc_file.h"

/* A million calls on an emulated debug kernel. */
#undef TEST_TIMEOUT_DEFAULT
#define TEST_TIMEOUT_DEFAULT 40000

#define OWN_TEXT	0x100000000000UL
#define SHARED_TEXT	0x300000000000UL
#define TABLE_PAGES	4

static struct {
	struct fuzz own;
	struct fuzz shared[2];
	struct stub stub;
	struct sampler clock;
	struct sampler marks;
	volatile bool stop;
	bool good;
	unsigned long stacks;
} run;

static unsigned long number_of(const char *name, unsigned long otherwise)
{
	const char *value = getenv(name);

	return value ? strtoul(value, NULL, 0) : otherwise;
}

/* ----------------------------------------------------------- the other threads */

/* Lets the thread that counts make progress: a round for @calls of its calls. */
static void keep_pace(unsigned long *rounds, unsigned int calls)
{
	while (!run.stop && *rounds > run.own.calls / calls)
		usleep(1000);
	(*rounds)++;
}

/* Its own calls and mappings, on text that another thread does the same with. */
static void *share_text(void *arg)
{
	struct fuzz *f = arg;
	unsigned long rounds = 0;

	while (!run.stop) {
		keep_pace(&rounds, 4);
		switch (fuzz_random(f, 16)) {
		case 0:
			run.good &= fuzz_batch(f);
			break;
		case 1 ... 4:
			run.good &= fuzz_map(f);
			break;
		default:
			run.good &= fuzz_call(f);
		}
	}
	return NULL;
}

/* A page of the tables: it is replaced, or hidden for a while. */
static void change_page(struct fuzz *f)
{
	void *page = run.stub.table + fuzz_random(f, TABLE_PAGES) * PAGE;

	if (fuzz_random(f, 2)) {
		mprotect(page, PAGE, PROT_NONE);
		sched_yield();
		mprotect(page, PAGE, PROT_READ | PROT_WRITE);
		return;
	}
	if (mmap(page, PAGE, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != page)
		run.good = false;
}

static void change_word(struct fuzz *f)
{
	const uint64_t words[] = {
		0, 1, -1UL, KERNEL_ADDR, USER_END - 8, 1UL << 32, 24,
		addr_of(run.stub.table), addr_of(run.stub.text),
		fuzz_random(f, -1UL),
	};
	uint64_t *word = (uint64_t *)run.stub.table;
	/* Mostly where the tables are. */
	uint64_t at = fuzz_random(f, fuzz_random(f, 4) ? 24 : TABLE_PAGES * PAGE / 8);

	word[at] = words[fuzz_random(f, ARRAY_SIZE(words))];
}

/* Valid tables of either kind, which then go wrong word by word. */
static void *change_tables(void *arg)
{
	struct fuzz *f = arg;
	unsigned long rounds = 0;

	while (!run.stop) {
		keep_pace(&rounds, 2);
		switch (fuzz_random(f, 16)) {
		case 0:
			stub_table(&run.stub);
			break;
		case 1:
			stub_jit_table(&run.stub);
			break;
		case 2:
			change_page(f);
			break;
		default:
			change_word(f);
		}
	}
	return NULL;
}

static void check_stacks(struct sampler *sampler)
{
	static struct stack stack;

	while (sampler_next(sampler, &stack)) {
		run.stacks++;
		if (has_kernel_address(&stack)) {
			printf("# a stack with an address of the kernel\n");
			run.good = false;
		}
	}
}

/* In the function that the tables describe, as one kind of code or the other. */
static void *run_stub(void *arg)
{
	struct fuzz *f = arg;
	unsigned long rounds = 0;
	int err;

	while (!run.stop) {
		keep_pace(&rounds, 32);
		run.stub.table_size = 1 + fuzz_random(f, PAGE);
		err = fuzz_random(f, 2) ? stub_register_jit(&run.stub) :
					  stub_register(&run.stub);
		if (err && err != -EINVAL && err != -EOPNOTSUPP && err != -EFAULT)
			run.good = false;
		for (int i = 0; i < 2; i++)
			stub_run(&run.stub, i ? stub_callback : NULL);
		check_stacks(&run.clock);
		check_stacks(&run.marks);
		if (!err && stub_unregister(&run.stub))
			run.good = false;
	}
	return NULL;
}

/* ------------------------------------------------------------ rare operations */

/* The child has what its parent has. */
static bool in_child(void)
{
	pid_t pid = fork();

	if (!pid)
		_exit(!fuzz_check(&run.own));
	return pid > 0 && !exit_status(pid);
}

/* Executing another program removes nothing. */
static bool in_program(void)
{
	char *argv[] = { "fuzz_test", "--exit", NULL }, *env[] = { NULL };
	pid_t pid;

	return !posix_spawn(&pid, "/proc/self/exe", NULL, NULL, argv, env) &&
	       !exit_status(pid);
}

static bool seldom(FIXTURE_DATA(trace) * self, unsigned long step)
{
	if (step % 512 == 0 && !fuzz_check(&run.own))
		return false;
	if (step % 2048 == 0 && !in_child())
		return false;
	if (step % 4096 == 1 && !in_program())
		return false;
	if (step % 4096 == 2)
		return !tracefs_write(&self->t, "code_replay", "1");
	if (step % 2048 == 3)
		return !tracefs_write(&self->t, USER_STACKS, step & 2048 ? "0" : "1");
	return true;
}

static bool step_once(FIXTURE_DATA(trace) * self, unsigned long step, int fd)
{
	unsigned int what = fuzz_random(&run.own, 32);

	if (!(what < 24 ? fuzz_call(&run.own) :
	      what < 25 ? fuzz_batch(&run.own) :
	      what < 28 ? fuzz_map(&run.own) : fuzz_query(&run.own, fd)))
		return false;
	return seldom(self, step);
}

/* --------------------------------------------------------------------- the test */

static long registrations(void)
{
	int fd = proc_open(0);
	char *all = fd < 0 ? NULL : proc_read(fd, NULL);
	long nr = all ? proc_check(all) : -1;

	free(all);
	close(fd);
	return nr;
}

static void set_up(struct __test_metadata *_metadata,
		   FIXTURE_DATA(trace) * self, unsigned long seed)
{
	memset(&run, 0, sizeof(run));
	run.good = true;
	ASSERT_EQ(0, fuzz_init(&run.own, seed, OWN_TEXT));
	ASSERT_EQ(0, fuzz_init(&run.shared[0], seed + 1, SHARED_TEXT));
	ASSERT_EQ(0, fuzz_share(&run.shared[1], seed + 2, &run.shared[0]));
	ASSERT_EQ(0, stub_map(&run.stub, TABLE_PAGES));
	ASSERT_EQ(0, sampler_open_clock(&run.clock, 1000 / scaled_seconds(1)));
	ASSERT_EQ(0, sampler_open_syscall(&run.marks, MARKER_NR));
	ASSERT_EQ(0, tracefs_write_number(&self->t, "buffer_size_kb", 64));
	ASSERT_EQ(0, tracefs_trace_syscall(&self->t, MARKER_NR, 0, false));
	ASSERT_EQ(0, tracefs_write(&self->t, USER_STACKS, "1"));
}

static void clean_up(struct __test_metadata *_metadata)
{
	sampler_close(&run.clock);
	sampler_close(&run.marks);
	stub_unmap(&run.stub);
	EXPECT_TRUE(fuzz_exit(&run.own));
	EXPECT_TRUE(fuzz_exit(&run.shared[0]));
	EXPECT_TRUE(fuzz_exit(&run.shared[1]));
}

static bool run_calls(FIXTURE_DATA(trace) * self, unsigned long calls)
{
	int fd = proc_open(0);
	unsigned long step;
	bool good = true;

	for (step = 0; good && run.good && run.own.calls < calls; step++)
		good = step_once(self, step, fd);
	if (!good)
		printf("# in step %lu\n", step - 1);
	close(fd);
	return good;
}

static void run_all(struct __test_metadata *_metadata,
		    FIXTURE_DATA(trace) * self, unsigned long calls)
{
	struct fuzz tables = { .random = 5 }, stub = { .random = 6 };
	const struct {
		void *(*run)(void *);
		void *arg;
	} other[] = {
		{ share_text, &run.shared[0] }, { share_text, &run.shared[1] },
		{ change_tables, &tables }, { run_stub, &stub },
	};
	pthread_t thread[ARRAY_SIZE(other)];

	for (size_t i = 0; i < ARRAY_SIZE(other); i++)
		ASSERT_EQ(0, pthread_create(&thread[i], NULL, other[i].run,
					    other[i].arg));
	EXPECT_TRUE(run_calls(self, calls));
	run.stop = true;
	for (size_t i = 0; i < ARRAY_SIZE(other); i++)
		ASSERT_EQ(0, pthread_join(thread[i], NULL));
	EXPECT_TRUE(run.good);
}

TEST_F(trace, random_calls)
{
	unsigned long seed = number_of("FUZZ_SEED", 1);
	unsigned long calls = number_of("FUZZ_CALLS", is_slow() ? 5000 : 50000);
	long lines = registrations();
	struct memory before;

	ASSERT_TRUE(memory_now(&before));
	TH_LOG("FUZZ_SEED=%lu FUZZ_CALLS=%lu", seed, calls);
	set_up(_metadata, self, seed);
	run_all(_metadata, self, calls);
	TH_LOG("%lu calls, %lu of them successful; %lu more on shared text; %lu stacks",
	       run.own.calls, run.own.good,
	       run.shared[0].calls + run.shared[1].calls, run.stacks);
	clean_up(_metadata);
	EXPECT_LT(calls / 5, run.own.good);
	EXPECT_LT(0, run.stacks);
	EXPECT_EQ(lines, registrations());
	EXPECT_TRUE(memory_is_back(&before));

	/* The process is as it was: its stacks are whole. */
	ASSERT_EQ(0, tracefs_clear(&self->t));
	ASSERT_EQ(0, tracefs_write(&self->t, USER_STACKS, "1"));
	leaf();
	READ_LOG();
	EXPECT_TRUE_STACK_OF(trace_find(&self->log, NULL, "sys_enter: "));
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "--exit"))
		return 0;
	return test_harness_run(argc, argv);
}

// SPDX-License-Identifier: GPL-2.0
/*
 * Registrations that come and go during lookups: on two CPUs, for a bounded time.
 * What only one thread changes stays exact throughout.
 */
#include <pthread.h>
#include <sched.h>
#include <sys/wait.h>

#include "jit_table.h"
#include "unwind_common.h"

#define SLOTS 64

/* Text that all threads fight for, and text of each of its own. */
static struct {
	uint8_t *shared;
	uint8_t *own;
	struct stub stub;
	volatile bool stop;
	unsigned long rounds[8];
	unsigned long errors;
	/* Stacks that were taken with the stub's table, and without it. */
	volatile unsigned long whole;
	volatile unsigned long cut;
} race;

#define OWN_PAGES 4

/* Mapped before the races begin, or it would be in a hole of the shared text. */
static uint8_t *own_text(void)
{
	static unsigned int taken;
	unsigned int i = __atomic_fetch_add(&taken, 1, __ATOMIC_RELAXED);

	return race.own + i * OWN_PAGES * PAGE;
}

static void error(void)
{
	__atomic_add_fetch(&race.errors, 1, __ATOMIC_RELAXED);
}

static unsigned int next_random(unsigned int *seed)
{
	*seed = *seed * 1103515245 + 12345;
	return *seed >> 16;
}

static uint64_t random_slot(unsigned int *seed)
{
	return addr_of(race.shared) + next_random(seed) % SLOTS * PAGE;
}

/* Whichever wins: one of the errors that say so, or none. */
static void *shared_registrations(void *arg)
{
	unsigned int seed = (uintptr_t)arg;

	for (; !race.stop; race.rounds[0]++) {
		uint64_t at = random_slot(&seed);
		uint64_t end = at + (1 + next_random(&seed) % 4) * PAGE;
		int err;

		if (next_random(&seed) & 1) {
			err = next_random(&seed) & 1 ?
			      register_elf_text(at, end) :
			      register_jit_text(at, end);
			if (err && err != -EEXIST && err != -EINVAL)
				error();
		} else {
			err = unregister_text(at, end);
			if (err && err != -ENOENT)
				error();
		}
	}
	return NULL;
}

/* Nobody else touches these: every answer is known. */
static void *own_registrations(void *arg)
{
	uint8_t *mem = own_text();
	uint64_t at = addr_of(mem);

	for (; !race.stop; race.rounds[1]++) {
		bool jit = race.rounds[1] & 2;

		if ((jit ? register_jit_text(at, at + 2 * PAGE) :
			   register_elf_text(at, at + 2 * PAGE)) ||
		    register_elf_text(at + PAGE, at + 3 * PAGE) != -EEXIST ||
		    register_jit_text(at + PAGE, at + 3 * PAGE) != -EEXIST)
			error();
		if (race.rounds[1] & 1) {
			if (unregister_text(at, at + 2 * PAGE))
				error();
		} else {
			munmap(mem + PAGE, PAGE);
			if (unregister_text(at, at + 2 * PAGE) != -ENOENT)
				error();
			mmap(mem + PAGE, PAGE, PROT_READ | PROT_EXEC,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
		}
	}
	return NULL;
}

static void *mappings(void *arg)
{
	unsigned int seed = (uintptr_t)arg;

	for (; !race.stop; race.rounds[2]++) {
		void *at = (void *)random_slot(&seed);

		switch (next_random(&seed) % 4) {
		case 0:
			munmap(at, PAGE);
			break;
		case 1:
			mprotect(at, PAGE, PROT_READ);
			break;
		case 2:
			mremap(at, PAGE, PAGE,
			       MREMAP_MAYMOVE | MREMAP_FIXED,
			       (void *)random_slot(&seed));
			break;
		default:
			mmap(at, PAGE, PROT_READ | PROT_EXEC,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
			break;
		}
	}
	return NULL;
}

/* A child has its parent's registrations, and may do anything with them. */
static void *forks(void *arg)
{
	uint8_t *mem = own_text();
	uint64_t at = addr_of(mem);

	if (register_text(at, at + PAGE, NULL, 0))
		error();
	for (; !race.stop; race.rounds[3]++) {
		pid_t pid = fork();
		int status;

		if (!pid)
			_exit(unregister_text(at, at + PAGE) ||
			      register_text(at + PAGE, at + 2 * PAGE, NULL, 0));
		if (waitpid(pid, &status, 0) != pid || status)
			error();
	}
	if (unregister_text(at, at + PAGE))
		error();
	return NULL;
}

/* The contents of the table's memory while it is not registered. */
static void make_lie(jit_table *t)
{
	for (int i = 0; i < STUB_ROWS; i++)
		t->fre[i].ra_off = -STUB_FRAME;
}

/*
 * Its table is there, or it is not: the stack is whole, or ends in the stub. The
 * memory of the table is another kind's each time, and in between it holds rows
 * that take what the stub has planted for the return address.
 */
static void *registered_stub(void *arg)
{
	for (; !race.stop; race.rounds[4]++) {
		bool jit = race.rounds[4] % 4;
		int err;

		if (!jit)
			stub_table(&race.stub);
		err = jit ? stub_register_jit(&race.stub) :
			    stub_register(&race.stub);
		if (err)
			error();
		sched_yield();
		if (stub_unregister(&race.stub))
			error();
		if (jit)
			make_lie((void *)race.stub.table);
		sched_yield();
		stub_jit_table(&race.stub);
	}
	return NULL;
}

/*
 * At the marker the stack is known; elsewhere in the stub it only has to be
 * user space's.
 */
static bool is_right(const struct stack *stack)
{
	if (stack->ip[0] != truth.ip[0])
		return !has_kernel_address(stack);
	if (stack->nr == 1) {
		race.cut++;
		return true;
	}
	if (!stack_is_true(stack, &truth))
		return false;
	race.whole++;
	return true;
}

static void *lookups(void *arg)
{
	struct sampler *sampler = arg;
	static struct stack stack;

	for (; !race.stop; race.rounds[5]++) {
		stub_run(&race.stub, NULL);
		while (sampler_next(sampler, &stack)) {
			if (!stub_is_topmost(&race.stub, &stack) ||
			    is_right(&stack))
				continue;
			error();
			print_stack(&stack, &truth);
		}
	}
	return NULL;
}

FIXTURE(race)
{
	struct sampler sampler;
};

FIXTURE_SETUP(race)
{
	REQUIRE_CODECTL();
	memset(&race, 0, sizeof(race));
	race.shared = map_pages(SLOTS + 4, PROT_READ | PROT_EXEC);
	race.own = map_pages(8 * OWN_PAGES, PROT_READ | PROT_EXEC);
	ASSERT_NE(NULL, race.shared);
	ASSERT_NE(NULL, race.own);
	ASSERT_EQ(0, stub_map(&race.stub, 1));
	stub_jit_table(&race.stub);
	stub_plant = addr_of(printf);
	ASSERT_EQ(0, sampler_open_syscall(&self->sampler, MARKER_NR));
}

FIXTURE_TEARDOWN(race)
{
	sampler_close(&self->sampler);
}

/* Is there nothing more to wait for? */
static bool is_done(double start, bool looks_up)
{
	double seconds = now() - start;

	if (seconds < 6)
		return false;
	return !looks_up || (race.whole && race.cut) ||
	       seconds > scaled_seconds(60);
}

static void run_all(struct __test_metadata *_metadata,
		    void *(*const threads[])(void *), void **args,
		    unsigned int nr)
{
	double start = now();
	bool looks_up = false;
	pthread_t thread[8];

	for (unsigned int i = 0; i < nr; i++) {
		looks_up |= threads[i] == lookups;
		ASSERT_EQ(0, pthread_create(&thread[i], NULL, threads[i],
					    args[i]));
	}
	while (!is_done(start, looks_up))
		sched_yield();
	race.stop = true;
	for (unsigned int i = 0; i < nr; i++)
		ASSERT_EQ(0, pthread_join(thread[i], NULL));
	for (unsigned int i = 0; i < 6; i++)
		if (race.rounds[i])
			TH_LOG("rounds of kind %u: %lu", i, race.rounds[i]);
	EXPECT_EQ(0, race.errors);
	if (!looks_up)
		return;
	TH_LOG("%lu stacks were whole, %lu ended in the stub", race.whole,
	       race.cut);
	EXPECT_LT(0, race.whole);
	EXPECT_LT(0, race.cut);
}

TEST_F(race, registrations_and_mappings)
{
	void *(*const threads[])(void *) = {
		shared_registrations, shared_registrations, own_registrations,
		own_registrations, mappings,
	};
	void *args[] = { (void *)1, (void *)2, NULL, NULL, (void *)3 };

	run_all(_metadata, threads, args, ARRAY_SIZE(threads));
	EXPECT_LT(0, race.rounds[0]);
	EXPECT_LT(0, race.rounds[1]);
	EXPECT_LT(0, race.rounds[2]);
}

TEST_F(race, registrations_and_forks)
{
	void *(*const threads[])(void *) = {
		shared_registrations, own_registrations, mappings, forks, forks,
	};
	void *args[] = { (void *)4, NULL, (void *)5, NULL, NULL };

	run_all(_metadata, threads, args, ARRAY_SIZE(threads));
	EXPECT_LT(0, race.rounds[3]);
}

TEST_F(race, registrations_and_lookups)
{
	void *(*const threads[])(void *) = {
		registered_stub, lookups, shared_registrations, mappings,
	};
	void *args[] = { NULL, &self->sampler, (void *)6, (void *)7 };

	run_all(_metadata, threads, args, ARRAY_SIZE(threads));
	EXPECT_LT(0, race.rounds[4]);
	EXPECT_LT(0, race.rounds[5]);
}

TEST_F(race, everything)
{
	void *(*const threads[])(void *) = {
		registered_stub, lookups, shared_registrations,
		own_registrations, mappings, forks,
	};
	void *args[] = { NULL, &self->sampler, (void *)8, NULL, (void *)9,
			 NULL };
	static struct stack stack;
	struct sampler clock;

	ASSERT_EQ(0, sampler_open_clock(&clock, 2000));
	run_all(_metadata, threads, args, ARRAY_SIZE(threads));
	EXPECT_TRUE(sampler_next(&clock, &stack));
	sampler_close(&clock);
	for (unsigned int i = 0; i < ARRAY_SIZE(threads); i++)
		EXPECT_LT(0, race.rounds[i]);
}

TEST_HARNESS_MAIN

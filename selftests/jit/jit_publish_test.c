// SPDX-License-Identifier: GPL-2.0
/*
 * Code that is called as soon as it is published, and code that is replaced
 * while others run: stacks are whole from the first call on.
 */
#include <pthread.h>

#include "jit_code.h"
#include "unwind_common.h"

static const struct jit_shape *shape_of(unsigned int i)
{
	return jit_shapes[i % NR_JIT_SHAPES];
}

FIXTURE(publish)
{
	struct sampler sampler;
	struct stack stack;
	struct jit_region region;
};

FIXTURE_VARIANT(publish)
{
	uint32_t flags;
};

FIXTURE_VARIANT_ADD(publish, ascending) { .flags = 0 };
FIXTURE_VARIANT_ADD(publish, descending) { .flags = CODE_JIT_DESCENDING };

FIXTURE_SETUP(publish)
{
	REQUIRE_CODECTL();
	ASSERT_EQ(0, jit_region_map(&self->region, 64, 64, PAGE));
	self->region.info.jit_flags = variant->flags;
	ASSERT_EQ(0, register_jit(&self->region.info));
	ASSERT_EQ(0, sampler_open_syscall(&self->sampler, MARKER_NR));
}

FIXTURE_TEARDOWN(publish)
{
	sampler_close(&self->sampler);
}

/* Until the region is full; 20000 rows in 60 tables. */
TEST_F(publish, called_at_once)
{
	uint8_t *function;
	unsigned int nr;

	for (nr = 0;; nr++) {
		function = jit_emit(&self->region, shape_of(nr), jit_leaf);
		if (!function)
			break;
		jit_run(function, shape_of(nr));
		ASSERT_TRUE(sampler_next(&self->sampler, &self->stack));
		ASSERT_TRUE(stack_is_true(&self->stack, &truth)) {
			TH_LOG("function %u", nr);
			print_stack(&self->stack, &truth);
		}
	}
	TH_LOG("%u functions", nr);
	EXPECT_LT(2000, nr);
}

/* Two threads; each has a sampler of its own. */
static struct {
	struct jit_region region;
	/* Published functions; released after the function's rows. */
	uint8_t *function[1 << 20];
	unsigned int nr;
	bool stop;
	pthread_mutex_t truth_lock;
	struct jit_thread caller, writer;
	unsigned int calls, complete, cut_off, wrong;
} duo = { .truth_lock = PTHREAD_MUTEX_INITIALIZER };

static bool stopped(void)
{
	return __atomic_load_n(&duo.stop, __ATOMIC_RELAXED);
}

static void *give_up(void)
{
	__atomic_store_n(&duo.stop, true, __ATOMIC_RELAXED);
	return &duo;
}

#define CALLS_MIN 100

/* Later if the machine is busy with other things. */
static void stop_after(double seconds)
{
	double end = now() + seconds;

	while (!stopped() && (now() < end || duo.calls < CALLS_MIN))
		usleep(1000);
	__atomic_store_n(&duo.stop, true, __ATOMIC_RELAXED);
}

/* In the function that is going to call jit_enter() itself. */
#define TAKE_CALLERS(t) do {						\
	pthread_mutex_lock(&duo.truth_lock);				\
	truth_callers();						\
	(t)->callers = truth;						\
	pthread_mutex_unlock(&duo.truth_lock);				\
} while (0)

static void count(const struct stack *stack, const struct truth *t,
		  unsigned int cut_off_at)
{
	if (stack_is_true(stack, t))
		duo.complete++;
	else if (cut_off_at && stack->nr == cut_off_at &&
		 stack_is_prefix(stack, t))
		duo.cut_off++;
	else if (duo.wrong++ < 3)
		print_stack(stack, t);
}

static void *publish_all(void *arg)
{
	unsigned int nr;

	for (nr = 0; nr < ARRAY_SIZE(duo.function) && !stopped(); nr++) {
		duo.function[nr] = jit_emit(&duo.region, shape_of(nr),
					    jit_leaf);
		if (!duo.function[nr])
			break;
		/* Pairs with the acquire of its caller. */
		__atomic_store_n(&duo.nr, nr + 1, __ATOMIC_RELEASE);
	}
	return NULL;
}

/* The newest function there is, if any. */
static const uint8_t *newest(unsigned int *i)
{
	unsigned int nr = __atomic_load_n(&duo.nr, __ATOMIC_ACQUIRE);

	*i = nr - 1;
	return nr ? duo.function[nr - 1] : NULL;
}

static void *call_newest(void *arg)
{
	static struct stack stack;
	struct sampler sampler;
	unsigned int i;

	if (sampler_open_syscall(&sampler, MARKER_NR))
		return give_up();
	TAKE_CALLERS(&duo.caller);
	while (!stopped()) {
		const uint8_t *function = newest(&i);
		uint64_t ra;

		if (!function)
			continue;
		ra = jit_enter(function);
		duo.calls++;
		jit_expect(&duo.caller, function, shape_of(i), ra);
		if (sampler_next(&sampler, &stack))
			count(&stack, &duo.caller.truth, 0);
		else
			duo.wrong++;
	}
	sampler_close(&sampler);
	return NULL;
}

/* At any instruction, not only at the marker. */
static void *call_newest_by_the_clock(void *arg)
{
	static struct stack stack;
	struct sampler sampler;
	unsigned int i;

	TAKE_CALLERS(&duo.caller);
	if (sampler_open_clock(&sampler, 4000))
		return give_up();
	while (!stopped()) {
		const uint8_t *function = newest(&i);

		if (!function)
			continue;
		for (int n = 0; n < 20; n++)
			jit_enter(function);
		duo.calls++;
		while (sampler_next(&sampler, &stack)) {
			if (same_tail(&stack, &duo.caller.callers,
				      duo.caller.callers.nr))
				duo.complete++;
			else if (duo.wrong++ < 3)
				print_stack(&stack, &duo.caller.callers);
		}
	}
	sampler_close(&sampler);
	return NULL;
}

static void run_duo(struct __test_metadata *_metadata, double seconds,
		    void *(*writer)(void *), void *(*caller)(void *))
{
	pthread_t thread[2];
	void *ret;

	ASSERT_EQ(0, pthread_create(&thread[0], NULL, writer, &duo));
	ASSERT_EQ(0, pthread_create(&thread[1], NULL, caller, &duo));
	stop_after(seconds);
	for (int i = 0; i < 2; i++) {
		ASSERT_EQ(0, pthread_join(thread[i], &ret));
		ASSERT_EQ(NULL, ret);
	}
	TH_LOG("%u functions, %u calls: %u complete, %u cut off", duo.nr,
	       duo.calls, duo.complete, duo.cut_off);
	EXPECT_EQ(0, duo.wrong);
}

/* A task's stacks go to all of its events: only the caller's must exist. */
static void check_newest(struct __test_metadata *_metadata,
			 FIXTURE_DATA(publish) * self, uint32_t flags,
			 void *(*caller)(void *))
{
	sampler_close(&self->sampler);
	ASSERT_EQ(0, jit_region_map(&duo.region, 1 << 13, 48, 1 << 20));
	duo.region.info.jit_flags = flags;
	ASSERT_EQ(0, register_jit(&duo.region.info));
	run_duo(_metadata, 2, publish_all, caller);
	EXPECT_LT(10, duo.complete);
	EXPECT_LT(CALLS_MIN, duo.nr);
}

TEST_F(publish, called_by_another_thread)
{
	check_newest(_metadata, self, variant->flags, call_newest);
}

TEST_F(publish, called_by_another_thread_under_the_clock)
{
	check_newest(_metadata, self, variant->flags, call_newest_by_the_clock);
}

/*
 * Compaction and reuse: a function that stays, whose rows move, and one whose
 * place is taken by another shape each time; other rows come and go before.
 */
#define STAYS_AT 256
#define SLOT_AT 512
#define OTHERS 8

static void rewrite_rows(unsigned int i)
{
	const struct jit_shape *shape = shape_of(i);
	jit_table *t = (void *)duo.region.tables;
	unsigned int nr = 0, n;
	jit_row *row = t->fre;

	for (; nr < i % OTHERS; nr++)
		row[nr] = (jit_row) { 16, 16 * nr, .info = CODE_FRE_OUTERMOST };
	n = jit_saved.row_end - jit_saved.row;
	for (unsigned int k = 0; k < n; k++, nr++) {
		row[nr] = jit_saved.row[k];
		row[nr].ip_off += STAYS_AT;
	}
	n = shape->row_end - shape->row;
	for (unsigned int k = 0; k < n; k++, nr++) {
		row[nr] = shape->row[k];
		row[nr].ip_off += SLOT_AT;
	}
	t->used_len = nr * sizeof(*row);
}

static void rewrite(unsigned int i)
{
	uint32_t seq = duo.region.seq;

	__atomic_store_n(&duo.region.seq, seq + 1, __ATOMIC_RELAXED);
	/* Odd before anything changes; pairs with the kernel's last read of it. */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	rewrite_rows(i);
	jit_write(duo.region.text + SLOT_AT, shape_of(i), jit_leaf);
	/* Pairs with the kernel's acquire: whoever sees it even sees all of this. */
	__atomic_store_n(&duo.region.seq, seq + 2, __ATOMIC_RELEASE);
}

/* Calls what it has written: nobody rewrites it then. */
static void *rewrite_and_call(void *arg)
{
	const uint8_t *function = duo.region.text + SLOT_AT;
	static struct stack stack;
	struct sampler sampler;

	if (sampler_open_syscall(&sampler, MARKER_NR))
		return give_up();
	TAKE_CALLERS(&duo.writer);
	for (unsigned int i = 0; !stopped(); i++) {
		uint64_t ra;

		rewrite(i);
		ra = jit_enter(function);
		jit_expect(&duo.writer, function, shape_of(i), ra);
		if (!sampler_next(&sampler, &stack) ||
		    !stack_is_true(&stack, &duo.writer.truth)) {
			print_stack(&stack, &duo.writer.truth);
			return give_up();
		}
		duo.nr++;
		for (unsigned int n = 0; n < i % 64; n++)
			rewrite(i + n);
	}
	sampler_close(&sampler);
	return NULL;
}

/* If the rows cannot be read the stack ends in the function. */
static void *call_what_stays(void *arg)
{
	const uint8_t *function = duo.region.text + STAYS_AT;
	static struct stack stack;
	struct sampler sampler;

	if (sampler_open_syscall(&sampler, MARKER_NR))
		return give_up();
	TAKE_CALLERS(&duo.caller);
	for (; !stopped(); duo.calls++) {
		uint64_t ra = jit_enter(function);

		jit_expect(&duo.caller, function, &jit_saved, ra);
		if (sampler_next(&sampler, &stack))
			count(&stack, &duo.caller.truth, 2);
		else
			duo.wrong++;
	}
	sampler_close(&sampler);
	return NULL;
}

static void map_with_seq(struct __test_metadata *_metadata)
{
	ASSERT_EQ(0, jit_region_map(&duo.region, 1, 1, PAGE));
	duo.region.info.seq = addr_of(&duo.region.seq);
	jit_write(duo.region.text + STAYS_AT, &jit_saved, jit_leaf);
	rewrite(0);
	ASSERT_EQ(0, register_jit(&duo.region.info));
}

TEST(rewritten_under_seq)
{
	REQUIRE_CODECTL();
	map_with_seq(_metadata);
	run_duo(_metadata, 3, rewrite_and_call, call_what_stays);
	EXPECT_LT(0, duo.nr);
	EXPECT_LT(0, duo.complete);
}

static void *change_seq(void *arg)
{
	uint32_t seq = duo.region.seq;

	while (!stopped())
		__atomic_store_n(&duo.region.seq, ++seq, __ATOMIC_RELAXED);
	return NULL;
}

/* The rows are right all the time, but nobody can know. */
TEST(seq_that_never_rests)
{
	REQUIRE_CODECTL();
	map_with_seq(_metadata);
	run_duo(_metadata, 2, change_seq, call_what_stays);
	EXPECT_LT(0, duo.cut_off);
}

TEST_HARNESS_MAIN

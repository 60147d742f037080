// SPDX-License-Identifier: GPL-2.0
/*
 * Frames that were walked before: changes since then are noticed, and unchanged rules
 * are found again.
 */
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "jit_code.h"
#include "granule_map.h"
#include "jit_table_fixture.h"

/* The first walk finds the rules, the others have them. */
static void walk_again(struct __test_metadata *_metadata,
		       FIXTURE_DATA(table) * self, unsigned int topmost,
		       unsigned int below)
{
	stub_rules_kept = true;
	for (int i = 0; i < 3; i++)
		walk(_metadata, self, topmost, below);
}

TEST_F(table, row_that_retires)
{
	jit_table *t = stub_jit_table(&self->stub);

	ASSERT_EQ(0, stub_register_jit(&self->stub));
	walk_again(_metadata, self, COMPLETE, COMPLETE);
	for (int i = 0; i < STUB_ROWS; i++)
		__atomic_store_n(&t->fre[i].size, 0, __ATOMIC_RELAXED);
	walk_again(_metadata, self, NONE);
}

/* The row is replaced by another one. */
TEST_F(table, row_that_is_rewritten)
{
	const jit_row rows[] = { { STUB_SIZE, 0, OUTERMOST },
				 { STUB_SIZE, 0, BODY } };
	struct code_jit_info info = stub_jit_info(&self->stub);
	jit_table *t = table_of(self, &rows[1], 1);
	static uint32_t seq;

	info.seq = addr_of(&seq);
	ASSERT_EQ(0, register_jit(&info));
	walk_again(_metadata, self, COMPLETE, COMPLETE);
	for (int i = 0; i < 4; i++) {
		__atomic_store_n(&seq, seq + 1, __ATOMIC_RELAXED);
		__atomic_thread_fence(__ATOMIC_RELEASE);
		t->fre[0] = rows[i & 1];
		__atomic_store_n(&seq, seq + 1, __ATOMIC_RELEASE);
		if (i & 1)
			walk_again(_metadata, self, COMPLETE, COMPLETE);
		else
			walk_again(_metadata, self, NONE);
	}
}

/* While rows are rewritten nothing is known of them, whatever it was before. */
TEST_F(table, row_under_an_odd_counter)
{
	struct code_jit_info info = stub_jit_info(&self->stub);
	static uint32_t seq;

	stub_jit_table(&self->stub);
	info.seq = addr_of(&seq);
	ASSERT_EQ(0, register_jit(&info));
	walk_again(_metadata, self, COMPLETE, COMPLETE);
	__atomic_store_n(&seq, 1, __ATOMIC_RELAXED);
	walk_again(_metadata, self, NONE);
	__atomic_store_n(&seq, 2, __ATOMIC_RELEASE);
	walk_again(_metadata, self, COMPLETE, COMPLETE);
}

TEST_F(table, row_where_the_default_rule_was)
{
	const struct code_jit_info info = with_default(&self->stub);
	const jit_row row = { STUB_SIZE, 0, OUTERMOST };
	jit_table *t = table_of(self, NULL, 0);

	ASSERT_EQ(0, register_jit(&info));
	walk_again(_metadata, self, COMPLETE, COMPLETE);
	ASSERT_EQ(0, jit_table_append(t, &row, 1));
	walk_again(_metadata, self, NONE);
}

TEST_F(table, counter_that_cannot_be_read)
{
	struct code_jit_info info = stub_jit_info(&self->stub);
	uint32_t *seq = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ASSERT_NE(MAP_FAILED, seq);
	stub_jit_table(&self->stub);
	info.seq = addr_of(seq);
	ASSERT_EQ(0, register_jit(&info));
	walk_again(_metadata, self, COMPLETE, COMPLETE);
	ASSERT_EQ(0, munmap(seq, PAGE));
	walk_again(_metadata, self, NONE);
}

/* A table whose memory is reused by the time a walk that waits for it continues. */
struct reused_table {
	const struct stub *stub;
	int uffd;
	uint8_t page[PAGE];
};

static void *reuse_table(void *reused_table)
{
	struct reused_table *reused = reused_table;
	struct uffdio_copy copy = {
		.dst = addr_of(reused->stub->table), .src = addr_of(reused->page),
		.len = PAGE,
	};
	struct uffd_msg msg;

	if (read(reused->uffd, &msg, sizeof(msg)) != sizeof(msg) ||
	    stub_unregister(reused->stub) || ioctl(reused->uffd, UFFDIO_COPY, &copy))
		return NULL;
	return reused;
}

/* The page has rows still, by which what the stub has planted is the RA. */
TEST_F(table, row_of_a_registration_that_ends_meanwhile)
{
	static struct reused_table reused;
	jit_table *t = stub_jit_table(&self->stub);
	pthread_t thread;
	void *done;

	stub_plant = addr_of(printf);
	ASSERT_EQ(0, stub_register_jit(&self->stub));
	walk_again(_metadata, self, COMPLETE, COMPLETE);
	for (int i = 0; i < STUB_ROWS; i++)
		t->fre[i].ra_off = -STUB_FRAME;
	memcpy(reused.page, t, PAGE);
	reused.stub = &self->stub;
	ASSERT_EQ(0, madvise(t, PAGE, MADV_DONTNEED));
	reused.uffd = watch_page(t);
	ASSERT_LE(0, reused.uffd);
	ASSERT_EQ(0, pthread_create(&thread, NULL, reuse_table, &reused));
	stub_run(&self->stub, NULL);
	ASSERT_EQ(0, pthread_join(thread, &done));
	EXPECT_EQ(&reused, done);
	close(reused.uffd);
	ASSERT_TRUE(sampler_next(&self->sampler, &self->stack));
	EXPECT_EQ(1, self->stack.nr) {
		print_stack(&self->stack, &truth);
	}
}

TEST_F(table, default_rule_of_another_registration)
{
	struct code_jit_info info = with_default(&self->stub);

	info.unwind_head = 0;
	stub_rules_kept = true;
	for (int i = 0; i < 3; i++) {
		walk_region(_metadata, self, &info, COMPLETE, COMPLETE);
		info.info ^= CODE_FRE_OUTERMOST;
		walk_region(_metadata, self, &info, NONE);
		info.info ^= CODE_FRE_OUTERMOST;
	}
}

/*
 * A call ends one range, so that its return address is in the next one: the rule of
 * the first is not that of the second.
 */
TEST_F(table, return_address_in_the_next_range)
{
	struct code_jit_info first = with_default(&self->stub), second = first;

	first.unwind_head = 0;
	first.text_end = first.text_start + self->stub.call_off;
	second = first;
	second.text_start = first.text_end;
	second.text_end = first.text_start + PAGE;
	second.cfa_off = 0;
	second.ra_off = 0;
	second.fp_off = 0;
	second.info = CODE_FRE_OUTERMOST;
	ASSERT_EQ(0, register_jit(&first));
	ASSERT_EQ(0, register_jit(&second));
	walk_again(_metadata, self, 1, COMPLETE);
}

/*
 * The stub calls what calls back: its frame is one that a walk comes to by a rule that
 * is kept.  @nr is what the walk has without the frame in between.
 */
static void walk_through(struct __test_metadata *_metadata,
			 FIXTURE_DATA(table) * self, const uint8_t *between,
			 unsigned int nr)
{
	struct stack *stack = &self->stack;

	stub_rules_kept = true;
	for (int i = 0; i < 3; i++) {
		truth_reset();
		sampler_drain(&self->sampler);
		stub_run(&self->stub, (void (*)(void))between);
		ASSERT_TRUE(sampler_next(&self->sampler, stack));
		ASSERT_LE(3, stack->nr);
		EXPECT_EQ(jit_return_address(between, &jit_small), stack->ip[1]);
		stack->nr--;
		memmove(stack->ip + 1, stack->ip + 2,
			(stack->nr - 1) * sizeof(stack->ip[0]));
		EXPECT_EQ(nr ?: truth.nr, stack->nr);
		EXPECT_EQ(nr ?: truth.nr, common_prefix(stack, &truth))
			print_stack(stack, &truth);
	}
}

/* Registers it three times, and once in between with another rule. */
static void walk_through_changes(struct __test_metadata *_metadata,
				 FIXTURE_DATA(table) * self,
				 struct code_jit_info *info,
				 const uint8_t *between)
{
	for (int i = 0; i < 6; i++) {
		ASSERT_EQ(0, register_jit(info));
		walk_through(_metadata, self, between, i % 2 ? 2 : COMPLETE);
		ASSERT_EQ(0, unregister_text(info->text_start, info->text_end));
		info->info ^= CODE_FRE_OUTERMOST;
	}
}

TEST_F(table, default_rule_of_another_caller)
{
	struct code_jit_info info = with_default(&self->stub);
	static struct jit_region region;
	const uint8_t *between;

	ASSERT_EQ(0, jit_region_map(&region, 1, 1, PAGE));
	ASSERT_EQ(0, register_jit(&region.info));
	between = jit_emit(&region, &jit_small, stub_callback);
	ASSERT_NE(NULL, between);
	info.unwind_head = 0;
	walk_through_changes(_metadata, self, &info, between);
}

/*
 * A call ends a range; what follows it, and what is called, are of another one, which
 * stays: it says nothing of the rule of the call.
 */
TEST_F(table, call_at_the_end_of_another_range)
{
	static const struct fre_spec rows[] = {
		{ 0, FRE_INFO(FRE_SP, 2, FRE_WORD1), { STUB_FRAME, STUB_FP_OFF } },
		{ 0, FRE_INFO(FRE_SP, 1, FRE_WORD1), { 32 } },
	};
	struct stub *stub = &self->stub;
	struct code_jit_info first = with_default(stub);
	uint8_t *after = stub->text + stub->call_off;
	uint8_t *between = stub->text + PAGE / 2;
	const struct fde_spec fdes[] = {
		{ .func = addr_of(after), .size = STUB_SIZE - stub->call_off,
		  .info = FDE_ADDR1, .nr_fres = 1, .fre = &rows[0] },
		{ .func = addr_of(between), .size = STUB_SIZE,
		  .info = FDE_ADDR1, .nr_fres = 1, .fre = &rows[1] },
	};

	ASSERT_EQ(0, mprotect(stub->text, PAGE, PROT_READ | PROT_WRITE));
	jit_write(between, &jit_small, stub_callback);
	ASSERT_EQ(0, mprotect(stub->text, PAGE, PROT_READ | PROT_EXEC));
	stub->table_size = sframe_build(stub->table, stub->table_room, fdes, 2, 0);
	ASSERT_EQ(0, register_text(addr_of(after), addr_of(stub->text) + PAGE,
				   stub->table, stub->table_size));
	first.unwind_head = 0;
	first.text_end = addr_of(after);
	walk_through_changes(_metadata, self, &first, between);
}

static void on_signal(int sig)
{
	marker();
}

static void raise_signal(void)
{
	raise(SIGUSR1);
}

/*
 * A table that covers what follows a call, but not the call: that there was a
 * signal frame before says nothing of this one, which has a frame pointer.
 */
TEST_F(table, nothing_for_a_call_after_a_signal_frame)
{
	const struct fre_spec row = {
		0, FRE_INFO(FRE_SP, 2, FRE_WORD1), { STUB_FRAME, STUB_FP_OFF },
	};
	struct fde_spec fde = stub_fde(&self->stub);

	fde.func += self->stub.call_off;
	fde.size -= self->stub.call_off;
	fde.nr_fres = 1;
	fde.fre = &row;
	stub_table_of(&self->stub, &fde);
	ASSERT_EQ(0, stub_register(&self->stub));
	ASSERT_NE(SIG_ERR, signal(SIGUSR1, on_signal));
	stub_fp_off = STUB_FP_OFF;
	stub_rules_kept = true;
	for (int i = 0; i < 3; i++) {
		truth_reset();
		sampler_drain(&self->sampler);
		stub_run(&self->stub, raise_signal);
		ASSERT_TRUE(sampler_next(&self->sampler, &self->stack));
		EXPECT_TRUE(same_tail(&self->stack, &truth, truth.nr - 1))
			print_stack(&self->stack, &truth);
	}
}

/* rt_sigaction() with a restorer of one's own; 0 or -1. */
static int catch_with_restorer(int sig, void (*handler)(int), const void *restorer)
{
	const struct {
		void (*handler)(int);
		unsigned long flags;
		const void *restorer;
		unsigned long mask;
	} sa = { handler, 0x04000000 /* SA_RESTORER */, restorer, 0 };

	return syscall(__NR_rt_sigaction, sig, &sa, NULL, sizeof(sa.mask));
}

/* The address that the signal interrupts. */
static noinline uint64_t kill_self(int sig)
{
	long nr = __NR_kill;
	uint64_t ip;

	asm volatile("lea 1f(%%rip), %0\n\tsyscall\n1:"
		     : "=&r"(ip), "+a"(nr) : "D"(getpid()), "S"(sig)
		     : "rcx", "r11", "memory");
	return ip;
}

/* Walks from a handler whose restorer is where the call of the stub returned to. */
static void expect_restorer_after_call(struct __test_metadata *_metadata,
				       FIXTURE_DATA(table) * self)
{
	static const uint8_t restorer[] = {
		0x48, 0xc7, 0xc0, __NR_rt_sigreturn, 0, 0, 0, 0x0f, 0x05,
	};
	const struct stub *stub = &self->stub;
	uint8_t *at = stub->text + stub->call_off;
	uint64_t interrupted;

	ASSERT_EQ(0, mprotect(stub->text, PAGE, PROT_READ | PROT_WRITE));
	memcpy(at, restorer, sizeof(restorer));
	ASSERT_EQ(0, mprotect(stub->text, PAGE, PROT_READ | PROT_EXEC));
	ASSERT_EQ(0, catch_with_restorer(SIGUSR1, on_signal, at));
	sampler_drain(&self->sampler);
	interrupted = kill_self(SIGUSR1);
	ASSERT_TRUE(sampler_next(&self->sampler, &self->stack));
	ASSERT_LE(3, self->stack.nr);
	EXPECT_EQ(addr_of(at), self->stack.ip[1]);
	EXPECT_EQ(interrupted, self->stack.ip[2]);
}

/*
 * A row ends with a call, and the next one starts where it returns to.  Once that has
 * retired, a handler may return there: then the rule of the call is not that of the
 * frame any more.
 */
TEST_F(table, restorer_where_a_call_returned_to)
{
	const struct stub *stub = &self->stub;
	const jit_row rows[] = {
		{ stub->call_off, 0, BODY },
		{ STUB_SIZE - stub->call_off, stub->call_off, BODY },
	};
	const struct code_jit_info info = stub_jit_info(stub);
	jit_table *t = table_of(self, rows, 2);

	ASSERT_EQ(0, register_jit(&info));
	walk_again(_metadata, self, COMPLETE, COMPLETE);
	__atomic_store_n(&t->fre[1].size, 0, __ATOMIC_RELAXED);
	expect_restorer_after_call(_metadata, self);
}

/* A function ends with a call, which did not when its row was kept. */
TEST_F(table, restorer_where_a_function_ends)
{
	struct stub *stub = &self->stub;
	const jit_row row = { STUB_SIZE, 0, BODY };
	struct granule_map map;
	struct code_jit_info info;
	jit_record *record;

	memset(stub->table, 0, stub->table_room);
	map = granule_map_init(stub->table, stub->table_room, PAGE, 4);
	record = granule_map_add(&map, 0, STUB_SIZE, &row, 1);
	info = stub_granule_info(stub, &map);
	ASSERT_EQ(0, register_jit(&info));
	walk_again(_metadata, self, COMPLETE, COMPLETE);
	record->seq++;
	record->len = stub->call_off;
	record->fre[0].size = stub->call_off;
	record->seq++;
	expect_restorer_after_call(_metadata, self);
}

/* The call is the end of a range that has no rows, and never will. */
TEST_F(table, restorer_in_the_range_after_a_call)
{
	const struct stub *stub = &self->stub;
	struct code_jit_info first = with_default(stub);
	struct code_jit_info second = stub_jit_info(stub);
	const jit_row row = { STUB_SIZE - stub->call_off, 0, BODY };
	jit_table *t = table_of(self, &row, 1);

	first.unwind_head = 0;
	first.text_end = first.text_start + stub->call_off;
	second.text_start = first.text_end;
	ASSERT_EQ(0, register_jit(&first));
	ASSERT_EQ(0, register_jit(&second));
	walk_again(_metadata, self, COMPLETE, COMPLETE);
	__atomic_store_n(&t->fre[0].size, 0, __ATOMIC_RELAXED);
	expect_restorer_after_call(_metadata, self);
}

/* ------------------------------------------------------------ several at a time */

#define CHAIN_DEPTH 250
#define WALKERS 4
#define WALKS 200
/* Stacks that the buffers of the processors have room for, be it of one alone. */
#define UNREAD 100

/* Together more functions than rules are kept of, with frames of several kinds. */
static uint8_t *emit_chain(struct jit_region *region, int first)
{
	static const struct jit_shape *const shapes[] = {
		&jit_small, &jit_fp, &jit_saved,
	};
	uint8_t *target = (uint8_t *)jit_leaf;

	for (int i = 0; i < CHAIN_DEPTH && target; i++)
		target = jit_emit(region, shapes[(first + i) % 3], target);
	return target;
}

static const uint8_t *chains[2];

static unsigned int nr_read;

/* No faster than they are read. */
static void *walk_chains(void *arg)
{
	for (unsigned int i = 0; i < WALKS; i++) {
		while (i * WALKERS > __atomic_load_n(&nr_read, __ATOMIC_RELAXED) + UNREAD)
			usleep(100);
		jit_call(chains[i & 1], NULL);
	}
	return arg;
}

/*
 * Threads that find, keep and use rules at once: each stack is as one thread has it
 * that finds no rule.
 */
TEST_F(table, threads_find_rules_at_once)
{
	static struct stack right[2], got;
	static struct jit_region region;
	unsigned int nr = 0, wrong = 0;
	pthread_t threads[WALKERS];
	double end;

	ASSERT_EQ(0, jit_region_map(&region, 64, 32, PAGE));
	ASSERT_EQ(0, register_jit(&region.info));
	for (int i = 0; i < 2; i++) {
		chains[i] = emit_chain(&region, i);
		ASSERT_NE(NULL, chains[i]);
		sampler_drain(&self->sampler);
		jit_call(chains[i], NULL);
		ASSERT_TRUE(sampler_next(&self->sampler, &right[i]));
		ASSERT_LT(CHAIN_DEPTH, right[i].nr);
	}
	for (int i = 0; i < WALKERS; i++)
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, walk_chains, NULL));
	end = now() + scaled_seconds(60);
	while (nr < WALKERS * WALKS && now() < end) {
		if (!sampler_next(&self->sampler, &got)) {
			usleep(1000);
			continue;
		}
		__atomic_store_n(&nr_read, ++nr, __ATOMIC_RELAXED);
		wrong += memcmp(got.ip, right[0].ip, CHAIN_DEPTH * 8) &&
			 memcmp(got.ip, right[1].ip, CHAIN_DEPTH * 8);
	}
	__atomic_store_n(&nr_read, WALKERS * WALKS, __ATOMIC_RELAXED);
	for (int i = 0; i < WALKERS; i++)
		pthread_join(threads[i], NULL);
	EXPECT_EQ(WALKERS * WALKS, nr);
	EXPECT_EQ(0, wrong);
	EXPECT_EQ(0, self->sampler.lost);
}

/* Deeper than the number of rules that are kept. */
TEST_F(table, more_frames_than_are_kept)
{
	static struct jit_region region;
	const void *target = jit_leaf;
	const unsigned int depth = 400;

	ASSERT_EQ(0, jit_region_map(&region, 64, 32, PAGE));
	ASSERT_EQ(0, register_jit(&region.info));
	for (unsigned int i = 0; i < depth; i++) {
		target = jit_emit(&region, &jit_small, target);
		ASSERT_NE(NULL, target);
	}
	for (int i = 0; i < 4; i++) {
		sampler_drain(&self->sampler);
		jit_call(target, NULL);
		ASSERT_TRUE(sampler_next(&self->sampler, &self->stack));
		ASSERT_LT(depth, self->stack.nr);
		for (unsigned int n = 2; n < depth; n++)
			ASSERT_EQ(self->stack.ip[n] + (self->stack.ip[1] -
						       self->stack.ip[2]),
				  self->stack.ip[n - 1]);
	}
}

TEST_HARNESS_MAIN

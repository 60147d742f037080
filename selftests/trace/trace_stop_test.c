// SPDX-License-Identifier: GPL-2.0
/* unwind_stop and the reason in a stack: what ends a walk early. */
#include <sched.h>
#include <signal.h>
#include <sys/ucontext.h>

#include "jit_table.h"
#include "trace_fixture.h"

/* Stacks at system call @nr of the task @tid, or of all, and why they end. */
static int ask_for_stops(const struct tracefs *t, long nr, pid_t tid)
{
	return tracefs_trace_syscall(t, nr, tid, false) ?:
	       tracefs_write(t, USER_STACKS, "1") ?:
	       tracefs_enable(t, "codectl/unwind_stop");
}

/* The stack of the only event of the process. */
static void get_stack(struct __test_metadata *_metadata,
		      FIXTURE_DATA(trace) * self, pid_t pid)
{
	const struct trace_entry *e = NULL;
	uint64_t cookie;

	READ_LOG();
	do
		e = trace_find(&self->log, e, "sys_enter: ");
	while (e && e->pid != pid);
	ASSERT_NE(NULL, e);
	cookie = cookie_of(&self->log, e);
	ASSERT_NE(0, cookie);
	ASSERT_TRUE(trace_stack(&self->log, cookie, &self->stack));
	EXPECT_EQ(pid, self->stack.pid);
	EXPECT_TRUE(self->stack.in_order);
}

/* One event with this reason, of the frame @nr - 1; and the stack says so. */
static void expect_stop(struct __test_metadata *_metadata,
			FIXTURE_DATA(trace) * self, const char *reason,
			unsigned int nr)
{
	const struct trace_entry *e;
	struct trace_stop s;

	get_stack(_metadata, self, getpid());
	EXPECT_STREQ(reason, self->stack.stop);
	EXPECT_EQ(nr, self->stack.nr);
	EXPECT_EQ(1, trace_count(&self->log, "unwind_stop: "));
	e = trace_find(&self->log, NULL, "unwind_stop: ");
	ASSERT_NE(NULL, e);
	ASSERT_TRUE(trace_parse_stop(e, &s));
	EXPECT_STREQ(reason, s.reason);
	EXPECT_EQ(nr, s.nr);
	ASSERT_LE(nr, truth.nr);
	EXPECT_EQ(truth.ip[nr - 1], s.ip);
	EXPECT_EQ(0, s.sp % 8);
	EXPECT_LT(addr_of(&s) - (1UL << 20), s.sp);
	EXPECT_GT(addr_of(&s) + (1UL << 20), s.sp);
}

/* The walk ends in the stub, as the topmost frame and below a callback. */
static void expect_stops(struct __test_metadata *_metadata,
			 FIXTURE_DATA(trace) * self, const struct stub *stub,
			 const char *reason)
{
	for (int i = 0; i < 2; i++) {
		truth_reset();
		ASSERT_EQ(0, tracefs_clear(&self->t));
		stub_run(stub, i ? stub_callback : NULL);
		expect_stop(_metadata, self, reason, 1 + i);
	}
}

#define ASK_FOR_STOPS()							\
	ASSERT_EQ(0, ask_for_stops(&self->t, MARKER_NR, getpid()))

#define WITH_STUB() struct stub stub; do {				\
	ASSERT_EQ(0, stub_map(&stub, 1));				\
	ASK_FOR_STOPS();						\
} while (0)

#define EXPECT_STOPS(reason) expect_stops(_metadata, self, &stub, reason)

TEST_F(trace, complete)
{
	const struct trace_entry *e;

	WITH_STUB();
	stub_table(&stub);
	ASSERT_EQ(0, stub_register(&stub));
	stub_run(&stub, stub_callback);
	get_stack(_metadata, self, getpid());
	EXPECT_STREQ("", self->stack.stop);
	EXPECT_EQ(truth.nr, self->stack.nr);
	e = trace_find(&self->log, NULL, "unwind_stop: ");
	EXPECT_EQ(NULL, e);
}

TEST_F(trace, fp_end)
{
	WITH_STUB();
	EXPECT_STOPS("fp-end");
}

/* A table without a rule for the function at all: frame pointers again. */
TEST_F(trace, fp_end_beside_the_table)
{
	struct fde_spec fde;

	WITH_STUB();
	fde = stub_fde(&stub);
	fde.func += STUB_SIZE;
	stub_table_of(&stub, &fde);
	ASSERT_EQ(0, stub_register(&stub));
	EXPECT_STOPS("fp-end");
}

TEST_F(trace, no_rule_in_a_gap)
{
	jit_row row[STUB_ROWS];

	WITH_STUB();
	stub_jit_rows(row, 0);
	jit_table_append(jit_table_init(stub.table, PAGE), row, 2);
	ASSERT_EQ(0, stub_register_jit(&stub));
	EXPECT_STOPS("no-rule");
}

TEST_F(trace, no_rule_by_a_row)
{
	const jit_row row = { .size = STUB_SIZE, .info = CODE_FRE_UNKNOWN };

	WITH_STUB();
	jit_table_append(jit_table_init(stub.table, PAGE), &row, 1);
	ASSERT_EQ(0, stub_register_jit(&stub));
	EXPECT_STOPS("no-rule");
}

/* A table of some later version may be right. */
TEST_F(trace, no_rule_that_is_understood)
{
	WITH_STUB();
	stub_table(&stub);
	ASSERT_EQ(0, stub_register(&stub));
	sframe_attr_at(stub.table, 0)->info = 15;
	EXPECT_STOPS("no-rule");
}

TEST_F(trace, bad_table)
{
	WITH_STUB();
	stub_table(&stub);
	ASSERT_EQ(0, stub_register(&stub));
	sframe_fde_at(stub.table, 0)->fre_off = 1U << 20;
	EXPECT_STOPS("bad-table");
}

/* The second table begins before the first one ends. */
TEST_F(trace, bad_table_in_a_chain)
{
	jit_row row[STUB_ROWS];
	jit_table *first, *second;

	WITH_STUB();
	stub_jit_rows(row, 0);
	first = jit_table_init(stub.table, 512);
	second = jit_table_init(stub.table + 512, 512);
	jit_table_append(first, row, 2);
	jit_table_append(second, row, STUB_ROWS);
	jit_table_link(first, second);
	ASSERT_EQ(0, stub_register_jit(&stub));
	EXPECT_STOPS("bad-table");
}

TEST_F(trace, fault_in_the_table)
{
	WITH_STUB();
	stub_table(&stub);
	ASSERT_EQ(0, stub_register(&stub));
	ASSERT_EQ(0, munmap(stub.table, PAGE));
	EXPECT_STOPS("fault");
}

TEST_F(trace, fault_in_the_table_of_compiled_code)
{
	WITH_STUB();
	stub_jit_table(&stub);
	ASSERT_EQ(0, stub_register_jit(&stub));
	ASSERT_EQ(0, mprotect(stub.table, PAGE, PROT_NONE));
	EXPECT_STOPS("fault");
}

/* With one rule for all of the stub, and no table. */
static int register_rule(const struct stub *stub, int32_t cfa_off, uint8_t info)
{
	struct code_jit_info jit = stub_jit_info(stub);

	jit.unwind_head = 0;
	jit.jit_flags = CODE_JIT_DEFAULT_RULE;
	jit.cfa_off = cfa_off;
	jit.ra_off = -8;
	jit.info = info;
	return register_jit(&jit);
}

TEST_F(trace, fault_in_the_stack)
{
	WITH_STUB();
	stub_fp = USER_END - PAGE;
	ASSERT_EQ(0, register_rule(&stub, 16, 0));
	EXPECT_STOPS("fault");
}

TEST_F(trace, bad_frame_below_the_stack_pointer)
{
	WITH_STUB();
	ASSERT_EQ(0, register_rule(&stub, -8, CODE_FRE_BASE_SP));
	EXPECT_STOPS("bad-frame");
}

/* What is at the stack pointer comes for a return address. */
TEST_F(trace, bad_frame_that_returns_into_nothing)
{
	const uint64_t plants[] = { 0, KERNEL_ADDR, USER_END };

	WITH_STUB();
	ASSERT_EQ(0, register_rule(&stub, 8, CODE_FRE_BASE_SP));
	for (size_t i = 0; i < ARRAY_SIZE(plants); i++) {
		stub_plant = plants[i];
		EXPECT_STOPS("bad-frame");
	}
}

static void on_signal(int sig, siginfo_t *info, void *context)
{
	greg_t *gregs = ((ucontext_t *)context)->uc_mcontext.gregs;
	greg_t saved = gregs[REG_CSGSFS];

	gregs[REG_CSGSFS] = 0;
	marker();
	gregs[REG_CSGSFS] = saved;
}

/* Nothing leads on from what the handler returns to, which nobody called. */
TEST_F(trace, bad_frame_of_a_signal)
{
	const struct sigaction sa = { .sa_sigaction = on_signal,
				      .sa_flags = SA_SIGINFO };

	ASSERT_EQ(0, sigaction(SIGUSR1, &sa, NULL));
	ASK_FOR_STOPS();
	raise(SIGUSR1);
	get_stack(_metadata, self, getpid());
	EXPECT_STREQ("bad-frame", self->stack.stop);
	ASSERT_EQ(2, self->stack.nr);
	EXPECT_TRUE(self->stack.frame[1].exact);
}

TEST_F(trace, changed)
{
	struct code_jit_info jit;
	uint32_t seq = 1;

	WITH_STUB();
	stub_jit_table(&stub);
	jit = stub_jit_info(&stub);
	jit.seq = addr_of(&seq);
	ASSERT_EQ(0, register_jit(&jit));
	EXPECT_STOPS("changed");
	seq = 2;
	ASSERT_EQ(0, tracefs_clear(&self->t));
	stub_run(&stub, NULL);
	get_stack(_metadata, self, getpid());
	EXPECT_STREQ("", self->stack.stop);
}

/* An exiting task does not wait for a page of the table. */
TEST_F(trace, killed)
{
	const struct trace_entry *e;
	struct trace_stop s;
	struct stub stub;
	pid_t pid;

	ASSERT_EQ(0, stub_map(&stub, 1));
	stub_table(&stub);
	ASSERT_EQ(0, stub_register(&stub));
	ASSERT_EQ(0, ask_for_stops(&self->t, __NR_exit_group, 0));
	pid = fork();
	if (!pid) {
		madvise(stub.table, PAGE, MADV_DONTNEED);
		stub_run_exit(&stub);
	}
	ASSERT_LT(0, pid);
	ASSERT_LE(0, exit_status(pid));
	get_stack(_metadata, self, pid);
	EXPECT_STREQ("killed", self->stack.stop);
	EXPECT_EQ(1, self->stack.nr);
	for (e = NULL; (e = trace_find(&self->log, e, "unwind_stop: "));)
		if (e->pid == pid)
			break;
	ASSERT_NE(NULL, e);
	ASSERT_TRUE(trace_parse_stop(e, &s));
	EXPECT_STREQ("killed", s.reason);
	EXPECT_EQ(addr_of(stub.text) + stub.marker_off, s.ip);
}

/* The same with a table that is there. */
TEST_F(trace, exit_with_its_table)
{
	struct stub stub;
	pid_t pid;

	ASSERT_EQ(0, stub_map(&stub, 1));
	stub_table(&stub);
	ASSERT_EQ(0, stub_register(&stub));
	ASSERT_EQ(0, ask_for_stops(&self->t, __NR_exit_group, 0));
	pid = fork();
	if (!pid) {
		*(volatile uint8_t *)stub.table = *stub.table;
		stub_run_exit(&stub);
	}
	ASSERT_LT(0, pid);
	ASSERT_LE(0, exit_status(pid));
	get_stack(_metadata, self, pid);
	EXPECT_LT(1, self->stack.nr);
}

static noinline int recurse(unsigned int depth)
{
	uint64_t ip;

	if (depth)
		return recurse(depth - 1) + 1;
	ip = marker();
	truth_capture(ip);
	return 0;
}

TEST_F(trace, limit)
{
	ASK_FOR_STOPS();
	EXPECT_EQ(600, recurse(600));
	expect_stop(_metadata, self, "limit", STACK_MAX);
	EXPECT_TRUE(trace_stack_is_true(&self->log, &self->stack, &truth));
}

/* A stack that just fits is whole, and so is one with a frame less. */
TEST_F(trace, up_to_the_limit)
{
	unsigned int callers;

	recurse(0);
	callers = truth.nr;
	ASK_FOR_STOPS();
	for (unsigned int nr = STACK_MAX - 1; nr <= STACK_MAX; nr++) {
		ASSERT_EQ(0, tracefs_clear(&self->t));
		recurse(nr - callers);
		ASSERT_EQ(nr, truth.nr);
		get_stack(_metadata, self, getpid());
		EXPECT_EQ(nr, self->stack.nr);
		EXPECT_STREQ("", self->stack.stop);
		EXPECT_EQ(0, trace_count(&self->log, "unwind_stop: "));
	}
}

/* perf and the trace share one walk, and one event of it. */
TEST_F(trace, once_for_all_who_ask)
{
	struct sampler sampler;
	struct stack stack;
	struct stub stub;

	ASSERT_EQ(0, stub_map(&stub, 1));
	ASSERT_EQ(0, sampler_open_syscall(&sampler, MARKER_NR));
	ASK_FOR_STOPS();
	stub_run(&stub, NULL);
	ASSERT_TRUE(sampler_next(&sampler, &stack));
	EXPECT_EQ(1, stack.nr);
	sampler_close(&sampler);
	expect_stop(_metadata, self, "fp-end", 1);
}

TEST_HARNESS_MAIN

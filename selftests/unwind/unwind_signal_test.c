// SPDX-License-Identifier: GPL-2.0
/* Stacks through signal frames, wherever they lie. */
#include <pthread.h>
#include <signal.h>
#include <ucontext.h>

#include "unwind_fixture.h"

static noinline void on_signal(int sig)
{
	NOTE_FRAME();
	leaf();
}

static noinline void on_outer_signal(int sig)
{
	NOTE_FRAME();
	raise(SIGUSR1);
}

static int catch(int sig, void (*handler)(int), int flags)
{
	struct sigaction sa = { .sa_handler = handler, .sa_flags = flags };

	return sigaction(sig, &sa, NULL);
}

TEST_F(unwind, handler)
{
	ASSERT_EQ(0, catch(SIGUSR1, on_signal, 0));
	NOTE_FRAME();
	raise(SIGUSR1);
	EXPECT_TRUE_STACK_TO_START();
}

TEST_F(unwind, nested_handlers)
{
	ASSERT_EQ(0, catch(SIGUSR1, on_signal, 0));
	ASSERT_EQ(0, catch(SIGUSR2, on_outer_signal, 0));
	NOTE_FRAME();
	raise(SIGUSR2);
	EXPECT_TRUE_STACK_TO_START();
}

/* The handler that runs is not the one whose frame is below. */
static noinline void on_signal_and_change(int sig)
{
	NOTE_FRAME();
	catch(sig, SIG_DFL, 0);
	leaf();
}

TEST_F(unwind, handler_that_was_replaced)
{
	ASSERT_EQ(0, catch(SIGUSR1, on_signal_and_change, 0));
	NOTE_FRAME();
	raise(SIGUSR1);
	EXPECT_TRUE_STACK_TO_START();
}

/* A fault interrupts at an address, not after a call. */
static volatile char *fault_at;

static noinline void on_fault(int sig)
{
	NOTE_FRAME();
	leaf();
	mprotect((void *)fault_at, PAGE, PROT_READ | PROT_WRITE);
}

static noinline int touch(volatile char *p)
{
	return *p + 1;
}

TEST_F(unwind, fault_handler)
{
	fault_at = map_pages(1, PROT_NONE);
	ASSERT_NE(NULL, fault_at);
	ASSERT_EQ(0, catch(SIGSEGV, on_fault, 0));
	NOTE_FRAME();
	EXPECT_EQ(1, touch(fault_at));
	EXPECT_TRUE_STACK_TO_START();
}

/* A jump to nowhere: the interrupted frame has no rule, and no code either. */
static noinline void on_wild_jump(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;
	uint64_t *sp = (uint64_t *)uc->uc_mcontext.gregs[REG_RSP];

	marker();
	uc->uc_mcontext.gregs[REG_RIP] = *sp;
	uc->uc_mcontext.gregs[REG_RSP] += 8;
}

TEST_F(unwind, handler_of_a_wild_jump)
{
	struct sigaction sa = { .sa_sigaction = on_wild_jump,
				.sa_flags = SA_SIGINFO };
	void (*nowhere)(void) = map_pages(1, PROT_NONE);

	ASSERT_EQ(0, sigaction(SIGSEGV, &sa, NULL));
	nowhere();
	ASSERT_TRUE(sampler_next(&self->sampler, &self->stack));
	/* The handler, the trampoline and the address; then no rule. */
	EXPECT_LE(3, self->stack.nr);
	EXPECT_EQ(addr_of(nowhere), self->stack.ip[2]);
	EXPECT_FALSE(has_kernel_address(&self->stack));
}

/*
 * A frame that cannot be read: its first word, which the handler returns to, ends
 * a page, and the rest of it is in the next one, which the handler takes away.
 */
static char *volatile frame_rest;
static volatile uintptr_t frame_first;

static noinline void on_signal_without_frame(int sig)
{
	frame_first = (uintptr_t)__builtin_dwarf_cfa() - 8;
	if (!frame_rest)
		return;
	mprotect(frame_rest, PAGE, PROT_NONE);
	marker();
	mprotect(frame_rest, PAGE, PROT_READ | PROT_WRITE);
}

TEST_F(unwind, frame_that_cannot_be_read)
{
	stack_t ss = { .ss_size = 64 * PAGE };
	char *end;

	ss.ss_sp = map_pages(64, PROT_READ | PROT_WRITE);
	ASSERT_NE(NULL, ss.ss_sp);
	ASSERT_EQ(0, catch(SIGUSR1, on_signal_without_frame, SA_ONSTACK));
	ASSERT_EQ(0, sigaltstack(&ss, NULL));
	raise(SIGUSR1);
	end = (char *)(frame_first & -PAGE);
	ss.ss_size -= frame_first + 8 - (uintptr_t)end;
	ASSERT_EQ(0, sigaltstack(&ss, NULL));
	frame_rest = end;
	raise(SIGUSR1);
	EXPECT_EQ((uintptr_t)end, frame_first + 8);
	ASSERT_TRUE(sampler_next(&self->sampler, &self->stack));
	/* The handler, and what it returns to. */
	EXPECT_EQ(2, self->stack.nr);
}

FIXTURE(altstack)
{
	struct sampler sampler;
	struct stack stack;
	char *mem;
};

FIXTURE_VARIANT(altstack)
{
	bool above;
	int flags;
};

#define SS_AUTODISARM_FLAG (1U << 31)

FIXTURE_VARIANT_ADD(altstack, below) { .above = false, .flags = 0 };
FIXTURE_VARIANT_ADD(altstack, above) { .above = true, .flags = 0 };
FIXTURE_VARIANT_ADD(altstack, below_autodisarm)
{
	.above = false, .flags = SS_AUTODISARM_FLAG
};
FIXTURE_VARIANT_ADD(altstack, above_autodisarm)
{
	.above = true, .flags = SS_AUTODISARM_FLAG
};

/* Alternate stack, the thread's stack, alternate stack: in this order. */
#define PART (64 * PAGE)

FIXTURE_SETUP(altstack)
{
	REQUIRE_CODECTL();
	truth_reset();
	ASSERT_EQ(0, sampler_open_syscall(&self->sampler, MARKER_NR));
	self->mem = map_pages(3 * PART / PAGE, PROT_READ | PROT_WRITE);
	ASSERT_NE(NULL, self->mem);
}

FIXTURE_TEARDOWN(altstack)
{
	sampler_close(&self->sampler);
}

struct alt_args {
	stack_t ss;
	int sig;
	int err;
};

static noinline void *alt_main(void *arg)
{
	struct alt_args *args = arg;

	NOTE_FRAME();
	args->err = sigaltstack(&args->ss, NULL);
	if (!args->err)
		raise(args->sig);
	return NULL;
}

static void run_on_altstack(struct __test_metadata *_metadata,
			    FIXTURE_DATA(altstack) * self,
			    const FIXTURE_VARIANT(altstack) * variant, int sig)
{
	struct alt_args args = {
		.ss.ss_sp = self->mem + (variant->above ? 2 * PART : 0),
		.ss.ss_size = PART,
		.ss.ss_flags = variant->flags,
		.sig = sig,
	};
	pthread_attr_t attr;
	pthread_t thread;

	ASSERT_EQ(0, pthread_attr_init(&attr));
	ASSERT_EQ(0, pthread_attr_setstack(&attr, self->mem + PART, PART));
	ASSERT_EQ(0, pthread_create(&thread, &attr, alt_main, &args));
	ASSERT_EQ(0, pthread_join(thread, NULL));
	ASSERT_EQ(0, args.err);
}

TEST_F(altstack, handler)
{
	ASSERT_EQ(0, catch(SIGUSR1, on_signal, SA_ONSTACK));
	run_on_altstack(_metadata, self, variant, SIGUSR1);
	EXPECT_TRUE_STACK();
	EXPECT_LE(6, self->stack.nr);
}

TEST_F(altstack, nested_handlers)
{
	ASSERT_EQ(0, catch(SIGUSR1, on_signal, SA_ONSTACK));
	ASSERT_EQ(0, catch(SIGUSR2, on_outer_signal, SA_ONSTACK));
	run_on_altstack(_metadata, self, variant, SIGUSR2);
	EXPECT_TRUE_STACK();
	EXPECT_LE(8, self->stack.nr);
}

/* The outer handler on the alternate stack, the inner one where it is. */
TEST_F(altstack, nested_handler_on_the_same_stack)
{
	ASSERT_EQ(0, catch(SIGUSR1, on_signal, 0));
	ASSERT_EQ(0, catch(SIGUSR2, on_outer_signal, SA_ONSTACK));
	run_on_altstack(_metadata, self, variant, SIGUSR2);
	EXPECT_TRUE_STACK();
}

static void quiet(int sig)
{
}

/* The trampoline as the topmost frame: at each of its two instructions. */
static void check_trampoline(struct __test_metadata *_metadata,
			     FIXTURE_DATA(unwind) * self, unsigned int off)
{
	uint64_t restorer;
	char mask[8] = { 0 };
	uint64_t ip;

	ASSERT_EQ(0, catch(SIGUSR1, quiet, 0));
	restorer = trampoline_address(SIGUSR1);
	ASSERT_NE(0, restorer);
	sampler_close(&self->sampler);
	ASSERT_EQ(0, sampler_open_breakpoint(&self->sampler,
					     (void *)(restorer + off)));
	mask[(SIGUSR1 - 1) / 8] = 1 << ((SIGUSR1 - 1) % 8);
	ASSERT_EQ(0, syscall(__NR_rt_sigprocmask, 0, mask, NULL, 8));
	ASSERT_EQ(0, syscall(__NR_tgkill, getpid(), gettid(), SIGUSR1));
	memset(mask, 0, sizeof(mask));
	truth_callers();
	/* The signal comes at the end of the system call that admits it. */
	register long mask_size asm("r10") = 8;
	asm volatile("lea 1f(%%rip), %[ip]\n\tsyscall\n1:"
		     : [ip] "=&r"(ip)
		     : "a"(__NR_rt_sigprocmask), "D"(SIG_SETMASK), "S"(mask),
		       "d"(NULL), "r"(mask_size)
		     : "rcx", "r11", "memory");
	ASSERT_TRUE(sampler_next(&self->sampler, &self->stack));
	EXPECT_EQ(restorer + off, self->stack.ip[0]);
	EXPECT_EQ(ip, self->stack.ip[1]);
	EXPECT_EQ(truth.nr + 2, self->stack.nr);
	EXPECT_TRUE(same_tail(&self->stack, &truth, truth.nr)) {
		print_stack(&self->stack, &truth);
	}
}

TEST_F(unwind, in_the_trampoline)
{
	check_trampoline(_metadata, self, 0);
}

TEST_F(unwind, in_the_trampoline_at_its_syscall)
{
	check_trampoline(_metadata, self, 7);
}

TEST_HARNESS_MAIN

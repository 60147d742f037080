// SPDX-License-Identifier: GPL-2.0
/*
 * A signal at every instruction: prologues, epilogues, the C library, PLT
 * entries, the vDSO and the signal trampoline are walked from each of their
 * instructions.
 */
#include <alloca.h>
#include <setjmp.h>
#include <signal.h>
#include <time.h>
#include <ucontext.h>

#include "step_fixture.h"

static volatile int sink;

static noinline int frames_inner(int a, int b, int c, int d, int e, int f,
				 int g)
{
	volatile int pad[16];

	pad[a & 15] = b + c + d + e + f;
	return pad[a & 15] + g;
}

static noinline int frames_saving(int n)
{
	int sum = 0;

	for (int i = 0; i < n; i++)
		sum += frames_inner(i, sum, n, i + sum, n ^ sum, i * n, sum);
	return sum;
}

static noinline int frames_realigned(int n)
{
	volatile char buf[128] __attribute__((aligned(64)));
	volatile char *more = alloca(n * 16);

	buf[n] = frames_inner(n, 1, 2, 3, 4, 5, 6);
	more[n] = buf[n];
	return more[n] + frames_saving(2);
}

/*
 * Not with a realigned frame below it: in such a frame's epilogue gcc's rule
 * for %rbp is wrong for the one instruction after "pop %rbp", in DWARF and so
 * in SFrame.
 */
__attribute__((optimize("no-omit-frame-pointer")))
static noinline int frames_with_fp(int n)
{
	return frames_saving(n) + 1;
}

static noinline int frames_big(int n)
{
	volatile char buf[70016];

	buf[n] = frames_inner(n, 1, 2, 3, 4, 5, 6);
	return buf[n];
}

static noinline void frames(void)
{
	sink = frames_saving(3) + frames_realigned(5) + frames_with_fp(4) +
	       frames_big(70000);
}

TEST_F(unwind, frames_of_every_shape)
{
	step_through(_metadata, self, frames, 150);
}

static noinline int compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

static noinline void library(void)
{
	int values[] = { 5, 3, 8, 1, 9, 2, 7 };
	char buf[64];

	qsort(values, ARRAY_SIZE(values), sizeof(int), compare);
	snprintf(buf, sizeof(buf), "%d %s %.3f", values[3], "text", 1.5);
	sink = strlen(buf) + atoi(buf);
	free(malloc(1000));
}

TEST_F(unwind, c_library)
{
	step_through(_metadata, self, library, 1000);
}

static noinline void vdso(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	sink = ts.tv_sec;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	sink = time(NULL);
}

TEST_F(unwind, vdso)
{
	step_through(_metadata, self, vdso, 30);
}

static noinline void system_calls(void)
{
	sink = getppid();
	sink = read(-1, NULL, 0);
	sink = close(-1);
}

TEST_F(unwind, system_calls)
{
	step_through(_metadata, self, system_calls, 20);
}

static jmp_buf jump_target;

static noinline void jump_back(int value)
{
	volatile char buf[100];

	buf[value] = value;
	longjmp(jump_target, buf[value]);
}

static noinline void jumps(void)
{
	if (!setjmp(jump_target))
		jump_back(3);
	sink = 1;
}

TEST_F(unwind, jumps)
{
	step_through(_metadata, self, jumps, 20);
}

static ucontext_t here;

static noinline void same_context(void)
{
	volatile int again = 0;

	getcontext(&here);
	if (!again++)
		setcontext(&here);
	sink = again;
}

TEST_F(unwind, contexts)
{
	step_through(_metadata, self, same_context, 50);
}

static noinline void quiet(int sig)
{
	sink = sig;
}

static noinline void raising(void)
{
	raise(SIGUSR1);
}

TEST_F(unwind, raising_a_signal)
{
	ASSERT_NE(SIG_ERR, signal(SIGUSR1, quiet));
	step_through(_metadata, self, raising, 10);
}

/* Delivery clears the trap flag: the handler sets it, for its own way back. */
static noinline void step_in_handler(int sig)
{
	step_on();
	sink = sig;
}

TEST_F(unwind, return_from_a_handler)
{
	ASSERT_NE(SIG_ERR, signal(SIGUSR1, step_in_handler));
	truth_callers();
	ASSERT_EQ(0, step_prepare(&self->sampler));
	raise(SIGUSR1);
	step_off();
	/* The end of the handler, and both instructions of the trampoline. */
	EXPECT_LE(3, step_result.steps);
	EXPECT_EQ(0, step_result.none);
	EXPECT_EQ(0, step_result.wrong);
	EXPECT_EQ(0, step_result.untold);
}

TEST_HARNESS_MAIN

// SPDX-License-Identifier: GPL-2.0
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <ucontext.h>

#include "step.h"

#define EFLAGS_TF 0x100

/*
 * The vDSO reads the time again if a tick came in between, which on a slow machine
 * happens at every step.
 */
#define STEP_MAX 4000

struct step_result step_result;
volatile int step_stop;

static struct sampler *step_sampler;
static struct stack step_stack;
static struct truth step_base;

static void compare(void)
{
	bool ends_right = same_tail(&step_stack, &step_base,
				    step_base.nr);

	if (ends_right && stack_is_true(&step_stack, &truth))
		return;
	/*
	 * libgcc may know less than the kernel about an instruction, and then
	 * stops early: the caller's frames are known all the same.
	 */
	if (ends_right && truth.nr < step_stack.nr &&
	    common_prefix(&step_stack, &truth) == truth.nr) {
		step_result.untold++;
		return;
	}
	if (common_prefix(&step_stack, &truth) == truth.nr &&
	    in_static_plt(truth.ip[truth.nr - 1])) {
		step_result.plt++;
		return;
	}
	if (step_result.wrong++ < 3)
		print_stack(&step_stack, &truth);
}

static void on_trap(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;
	uint64_t ip;

	if (step_stop || step_result.steps >= STEP_MAX) {
		uc->uc_mcontext.gregs[REG_EFL] &= ~EFLAGS_TF;
		return;
	}
	ip = marker();
	truth_capture(ip);
	step_result.steps++;
	if (sampler_next(step_sampler, &step_stack))
		compare();
	else
		step_result.none++;
}

int step_prepare(struct sampler *sampler)
{
	struct sigaction sa = {
		.sa_sigaction = on_trap,
		.sa_flags = SA_SIGINFO,
	};

	memset(&step_result, 0, sizeof(step_result));
	step_stop = 0;
	step_sampler = sampler;
	step_base = truth;
	sampler_drain(sampler);
	return sigaction(SIGTRAP, &sa, NULL);
}

// SPDX-License-Identifier: MIT
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ucontext.h>

#include <codectl.h>

#include "step.h"

#define TRAP_FLAG	0x100
#define MAX_FRAMES	512
#define MAX_CALL	8		/* bytes of a call instruction */
#define OPCODE_RET	0xc3

struct frame {
	uint64_t cfa;
	uint64_t fp;			/* the caller's */
};

static struct {
	unsigned long limit, steps, checked, wrong;
	uint64_t wrong_ip;		/* the first */
	uint64_t ip, sp;		/* before the last instruction */
	int depth;
	struct frame frames[MAX_FRAMES];
} step;

static uint64_t word_at(uint64_t address)
{
	return *(const uint64_t *)address;
}

/* The kind of the last instruction, by its effect. */
static bool was_call(uint64_t sp)
{
	return sp == step.sp - 8 && word_at(sp) > step.ip &&
	       word_at(sp) <= step.ip + MAX_CALL;
}

static bool was_return(uint64_t ip, uint64_t sp)
{
	return sp == step.sp + 8 && word_at(step.sp) == ip &&
	       *(const uint8_t *)step.ip == OPCODE_RET;
}

static bool is_right(const struct codectl_rule *rule, uint64_t sp, uint64_t fp)
{
	const struct frame *frame = &step.frames[step.depth - 1];
	uint64_t base = rule->info & CODE_FRE_BASE_SP ? sp : fp;

	if (base + rule->cfa_off != frame->cfa || rule->ra_off != -8 ||
	    (rule->info & ~(CODE_FRE_BASE_SP | CODE_FRE_FP_SAVED)))
		return false;
	if (!(rule->info & CODE_FRE_FP_SAVED))
		return fp == frame->fp;
	/* memory below the stack pointer may be overwritten at any time */
	return frame->cfa + rule->fp_off >= sp &&
	       word_at(frame->cfa + rule->fp_off) == frame->fp;
}

static void check(uint64_t ip, uint64_t sp, uint64_t fp)
{
	struct codectl_rule rule;
	int err = codectl_lookup(ip, &rule);

	if (err == -ENOENT)
		return;
	step.checked++;
	if (!err && step.depth && is_right(&rule, sp, fp))
		return;
	if (!step.wrong++)
		step.wrong_ip = ip;
}

static void on_trap(int sig, siginfo_t *info, void *arg)
{
	greg_t *regs = ((ucontext_t *)arg)->uc_mcontext.gregs;
	uint64_t ip = regs[REG_RIP], sp = regs[REG_RSP], fp = regs[REG_RBP];

	(void)sig;
	(void)info;
	if (was_call(sp) && step.depth < MAX_FRAMES)
		step.frames[step.depth++] = (struct frame){ sp + 8, fp };
	else if (was_return(ip, sp) && step.depth)
		step.depth--;
	step.ip = ip;
	step.sp = sp;
	check(ip, sp, fp);
	if (++step.steps >= step.limit)
		regs[REG_EFL] &= ~TRAP_FLAG;
}

/* Stays below the red zone of the function that this is inlined into. */
static void add_flags(uint64_t set)
{
	asm volatile("lea -128(%%rsp), %%rsp\n\t"
		     "pushfq\n\t"
		     "andq %0, (%%rsp)\n\t"
		     "orq %1, (%%rsp)\n\t"
		     "popfq\n\t"
		     "lea 128(%%rsp), %%rsp"
		     : : "r" (~(uint64_t)TRAP_FLAG), "r" (set) :
		     "cc", "memory");
}

void step_start(unsigned long limit)
{
	struct sigaction action = {
		.sa_sigaction	= on_trap,
		.sa_flags	= SA_SIGINFO,
	};

	step.limit = limit;
	step.ip = (uintptr_t)step_start;
	step.sp = (uintptr_t)&action;
	if (sigaction(SIGTRAP, &action, NULL)) {
		perror("jit-demo: sigaction");
		exit(1);
	}
	add_flags(TRAP_FLAG);
}

void step_stop(void)
{
	add_flags(0);
}

void step_write_log(FILE *file)
{
	fprintf(file, "steps %lu checked %lu wrong %lu first %#lx\n",
		step.steps, step.checked, step.wrong, (long)step.wrong_ip);
}

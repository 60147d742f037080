// SPDX-License-Identifier: MIT
/*
 * selfdump: write recordings of this program's own stack in the format of stackdump -a,
 * as tests of stackcheck.  They are the same each time.
 *
 * usage: selfdump FILE KIND SAMPLES
 *
 * Each sample is of a different process, all children of process 1, which stands for this
 * one; the chain is what libgcc's unwinder finds.  KIND:
 *
 * good: nothing else;
 * wrong: one address in the first chain is wrong;
 * gone: each process has mapped a file that does not exist;
 * exec: each process has executed another program since;
 * others: the chains are of other processes;
 * bare: a function without CFI is on the stack, and the chain ends there;
 * past: as bare, but the chain goes on and is wrong two frames later;
 * compiled: as bare, but that function is in memory of no file;
 * within: samples are in the kernel, and chains begin at the entry point;
 * entry: chains begin at the entry point, but samples are not in the kernel;
 * resumed: samples are in the rt_sigreturn() of a handler, and chains begin where the
 *	handler had interrupted;
 * handler: as resumed, but chains begin somewhere else;
 * signalled: chains begin with a handler and its restorer;
 * ahead: as signalled, but the next address is not that of the sample.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

#include "stackdump.h"

#define MAX_CHAIN	64
#define FIRST		100		/* the first process and time */

static FILE *out;
static const char *kind;
static unsigned long samples;
static unsigned char *stack_end;

/* Calls @function from a frame without CFI, and stores its frame pointer in bare_frame. */
void bare(void (*function)(void));
extern uint64_t *bare_frame;
uint64_t *bare_frame;
__asm__(".text\n.globl bare\n.type bare, @function\nbare:\n"
	"push %rbp\nmov %rsp, %rbp\nmov %rbp, bare_frame(%rip)\n"
	"call *%rdi\npop %rbp\nret\n.size bare, . - bare");

/* The address after the system call of a restorer. */
extern const char sigreturned[];
__asm__(".text\nmov $15, %rax\nsyscall\nsigreturned: nop");

static bool is(const char *name)
{
	return !strcmp(kind, name);
}

static void put(void *record, size_t fixed, enum dump_type type, uint64_t pid, uint64_t time,
		const void *tail, size_t len)
{
	static const char zero[8];
	struct dump_header *header = record;

	*header = (struct dump_header){
		.type = type, .size = fixed + len + (-len & 7), .time = time, .pid = pid,
	};
	fwrite(record, fixed, 1, out);
	if (len)
		fwrite(tail, len, 1, out);
	fwrite(zero, -len & 7, 1, out);
}

static void put_map(unsigned long start, unsigned long end, unsigned long pgoff,
		    const char *name)
{
	struct dump_map map = { .start = start, .len = end - start, .pgoff = pgoff };

	put(&map, sizeof(map), DUMP_MAP, 1, 0, name, strlen(name) + 1);
}

static void put_maps(void)
{
	unsigned long start, end, pgoff, vdso = getauxval(AT_SYSINFO_EHDR);
	char line[4608], flags[5], name[4096];
	struct dump_vdso record = { 0 };
	FILE *f = fopen("/proc/self/maps", "r");

	while (f && fgets(line, sizeof(line), f)) {
		strcpy(name, "//anon");
		if (sscanf(line, "%lx-%lx %4s %lx %*s %*s %4095[^\n]", &start, &end, flags,
			   &pgoff, name) < 4)
			continue;
		if (!strcmp(name, "[stack]"))
			stack_end = (unsigned char *)end;
		if (flags[2] != 'x')
			continue;
		if (is("compiled") && start <= (unsigned long)bare && (unsigned long)bare < end)
			strcpy(name, "//anon");
		put_map(start, end, pgoff, name);
		if (start != vdso)
			continue;
		record.len = end - start;
		put(&record, sizeof(record), DUMP_VDSO, 0, 0, (void *)start, record.len);
	}
	if (f)
		fclose(f);
	if (is("gone"))
		put_map(0x1000, 0x2000, 0, "/nowhere/file");
}

/* Adds a frame: the callers of the caller, one per call. */
static _Unwind_Reason_Code add_frame(struct _Unwind_Context *context, void *arg)
{
	struct dump_chain *chain = arg;

	if (chain->nr < MAX_CHAIN && _Unwind_GetIP(context))
		chain->ips[chain->nr++] = _Unwind_GetIP(context);
	return _URC_NO_REASON;
}

static void put_process(const struct dump_sample *sample, const void *stack,
			const struct dump_chain *chain, unsigned int i)
{
	uint64_t pid = FIRST + i, time = FIRST + 10 * i;
	struct dump_fork fork = { .parent = 1 };
	struct dump_exec exec;
	struct dump_sample of_it = *sample;
	struct dump_chain empty = *chain;
	uint64_t ips[MAX_CHAIN + 2];

	of_it.cookie = empty.cookie = 7;
	memcpy(ips, chain->ips, chain->nr * sizeof(*ips));
	if (is("wrong") && !i)
		ips[1]++;
	if (is("signalled") || is("ahead")) {
		memmove(ips + 2, ips, chain->nr * sizeof(*ips));
		ips[0] = (uintptr_t)bare;
		ips[1] = (uintptr_t)sigreturned;
		ips[2] += is("ahead");
		empty.nr += 2;
	}
	/* Not in the order of their times, as if from the buffers of several CPUs. */
	put(&empty, sizeof(empty), DUMP_CHAIN, pid + (is("others") ? 1000 : 0), time + 3, ips,
	    empty.nr * sizeof(*ips));
	if (is("exec"))
		put(&exec, sizeof(exec), DUMP_EXEC, pid, time + 1, NULL, 0);
	put(&of_it, sizeof(of_it), DUMP_SAMPLE, pid, time + 2, stack, sample->stack_len);
	put(&fork, sizeof(fork), DUMP_FORK, pid, time, NULL, 0);
}

static void __attribute__((noinline)) dump(void)
{
	static const int reg[DUMP_NR_REGS] = {
		REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP,
		REG_R8, REG_R9, REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP,
	};
	static union {
		struct dump_chain chain;
		uint64_t words[MAX_CHAIN + 8];
	} c;
	struct dump_sample sample = { .user_mode = 1 };
	static unsigned char stack[65536];
	unsigned char *top = __builtin_frame_address(0);
	ucontext_t context;

	if (getcontext(&context))
		abort();
	for (int i = 0; i < DUMP_NR_REGS; i++)
		sample.regs[i] = context.uc_mcontext.gregs[reg[i]];
	_Unwind_Backtrace(add_frame, &c.chain);
	c.chain.ips[0] = sample.regs[16];
	if (is("bare"))
		c.chain.nr = 2;
	if (is("past")) {
		c.chain.ips[2] = bare_frame[1];
		c.chain.ips[3] = (uintptr_t)put;
		c.chain.nr = 4;
	}
	if (is("within") || is("entry")) {
		sample.user_mode = is("entry");
		c.chain.ips[0] = getauxval(AT_ENTRY);
		c.chain.nr = 1;
	}
	if (is("resumed") || is("handler")) {
		sample.user_mode = 0;
		sample.regs[7] = (uintptr_t)&context;
		sample.regs[16] = (uintptr_t)sigreturned;
		c.chain.ips[0] = context.uc_mcontext.gregs[REG_RIP] + is("handler");
	}
	/* The dump includes the callers' frames. */
	if (top > stack_end - 2048)
		top = stack_end - 2048;
	sample.stack_len = top + 2048 - (unsigned char *)sample.regs[7];
	memcpy(stack, (void *)sample.regs[7], sample.stack_len);
	for (unsigned int i = 0; i < samples; i++)
		put_process(&sample, stack, &c.chain, i);
}

static void __attribute__((noinline)) descend(int n)
{
	if (n)
		descend(n - 1);
	else if (is("bare") || is("past") || is("compiled"))
		bare(dump);
	else
		dump();
	__asm__ volatile("");
}

int main(int argc, char **argv)
{
	struct dump_end end = { 0 };

	if (argc != 4)
		return 2;
	kind = argv[2];
	samples = strtoul(argv[3], NULL, 10);
	out = fopen(argv[1], "w");
	if (!out)
		return 1;
	put_maps();
	descend(4);
	put(&end, sizeof(end), DUMP_END, 0, UINT64_MAX, NULL, 0);
	return fclose(out) ? 1 : 0;
}

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * User call chains of the calling process, taken through perf_event_open(2): one
 * event and one ring per CPU, inherited by the threads and children that are created
 * after sampler_open_*().
 */
#ifndef CODECTL_SAMPLER_H
#define CODECTL_SAMPLER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/types.h>

#define SAMPLER_MAX_CPUS 8
/* What kernel/unwind/deferred.c keeps of one stack. */
#define STACK_MAX 502

struct sampler {
	int nr;
	unsigned int samples;	/* PERF_RECORD_SAMPLE seen by sampler_next() */
	unsigned int lost;	/* records that did not fit the ring */
	struct {
		int fd;
		void *ring;
	} cpu[SAMPLER_MAX_CPUS];
};

struct stack {
	uint64_t cookie;
	uint32_t pid;
	uint32_t tid;
	uint64_t time;
	unsigned int nr;
	uint64_t ip[STACK_MAX];
};

/*
 * Whether stacks are taken at once, in an interrupt, as perf record -g does, and not
 * on the way back to user space.  Set by what a program is linked with: now.c.
 */
extern bool sampler_at_once;
void sampler_touch_tables(void);

/*
 * Each returns 0 or a negative errno:
 * a stack at the entry to each system call @nr;
 * the same for every process, whose own events end before its exit does;
 * @hz stacks per second of CPU time;
 * a stack before each execution of the instruction at @addr.
 */
int sampler_open_syscall(struct sampler *s, long nr);
int sampler_open_syscall_all(struct sampler *s, long nr);
int sampler_open_clock(struct sampler *s, unsigned int hz);
int sampler_open_breakpoint(struct sampler *s, const void *addr);
void sampler_close(struct sampler *s);

/* The oldest stack of some ring, false when there is none. */
bool sampler_next(struct sampler *s, struct stack *stack);
/* Forget everything recorded so far. */
void sampler_drain(struct sampler *s);

/* A system call that nothing else in these tests makes. */
#define MARKER_NR __NR_getpgrp

/* Takes a stack; returns the address that the innermost frame must have. */
static inline __attribute__((always_inline)) uint64_t marker(void)
{
	long nr = MARKER_NR;
	uint64_t ip;

	asm volatile("lea 1f(%%rip), %0\n\tsyscall\n1:"
		     : "=&r"(ip), "+a"(nr) : : "rcx", "r11", "memory");
	return ip;
}

#endif /* CODECTL_SAMPLER_H */

/* SPDX-License-Identifier: GPL-2.0 */
/* User stacks as BPF programs take them, with bpf_get_stack(). */
#ifndef CODECTL_BPF_STACK_H
#define CODECTL_BPF_STACK_H

#include <linux/perf_event.h>

#include "sampler.h"

#define BPF_STACK_FRAMES 100

/* Shared by a program and its user, including children of that user. */
struct bpf_stack {
	uint64_t pid;		/* the process to take stacks of */
	uint64_t taken;		/* number of stacks taken */
	int64_t bytes;		/* size of the last one, or a negative errno */
	uint64_t ip[BPF_STACK_FRAMES];
};

struct bpf_taker {
	int map;
	int event;
	struct bpf_stack *shared;
};

/* For the calling process, until another one is stored.  -1 on failure. */
int bpf_taker_open(struct bpf_taker *taker);
void bpf_taker_close(struct bpf_taker *taker);
/* Has a program of @type take stacks at an event, in any process. */
int bpf_taker_run_at(struct bpf_taker *taker, struct perf_event_attr *attr,
		     int type);
/* The same at the start of a function of the kernel. */
int bpf_taker_run_in(struct bpf_taker *taker, const char *function);
/* The last stack; false if there is none. */
bool bpf_taker_read(const struct bpf_taker *taker, struct stack *stack);

#endif /* CODECTL_BPF_STACK_H */

/* SPDX-License-Identifier: MIT */
/* C functions that programs can call. */
#ifndef RUNTIME_H
#define RUNTIME_H

#include <stddef.h>
#include <stdint.h>

struct engine;

/* Their arguments are the engine and then those of the program. */
struct builtin {
	const char *name;
	int nr_params;
	void *function;
};

enum { BUILTIN_DIV, BUILTIN_MOD, BUILTIN_POLL, NR_BUILTINS = 8 };

extern const struct builtin builtins[NR_BUILTINS];

/* The state of one run of a program. */
struct run {
	char *output;
	size_t output_len, output_size;
	int64_t *arena;			/* memory for arrays */
	size_t arena_used;
	unsigned int depth;		/* calls from C into compiled code */
};

/* Size of the arrays of one run, in words. */
#define ARENA_WORDS	(1UL << 20)

void run_open(struct run *run);
/* Drops the output and the arrays of the last run. */
void run_reset(struct run *run);
void run_close(struct run *run);

#endif /* RUNTIME_H */

/* SPDX-License-Identifier: MIT */
/* The functions in C that programs can call. */
#ifndef RUNTIME_H
#define RUNTIME_H

#include <stddef.h>
#include <stdint.h>

struct engine;

/* They get the engine and then what the program gives. */
struct builtin {
	const char *name;
	int nr_params;
	void *function;
};

enum { BUILTIN_DIV, BUILTIN_MOD, BUILTIN_POLL, NR_BUILTINS = 8 };

extern const struct builtin builtins[NR_BUILTINS];

/* What belongs to one run of a program. */
struct run {
	char *output;
	size_t output_len, output_size;
	int64_t *arena;			/* where arrays are */
	size_t arena_used;
	unsigned int depth;		/* calls from C into compiled code */
};

/* Words for the arrays of one run. */
#define ARENA_WORDS	(1UL << 20)

void run_open(struct run *run);
/* Forgets what the last run printed and made. */
void run_reset(struct run *run);
void run_close(struct run *run);

#endif /* RUNTIME_H */

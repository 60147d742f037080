/* SPDX-License-Identifier: MIT */
#ifndef WALK_H
#define WALK_H

/*
 * The test's own record of compiled methods, which a signal handler can read.
 */

#include <jvmti.h>
#include <stdbool.h>
#include <stdint.h>

#define MAX_INLINED	64

/**
 * struct place - a place in compiled code, and the methods that are inlined there
 * @pc: its address
 * @nr: how many methods, the innermost first, the compiled one last
 * @methods: their ids
 */
struct place {
	uint64_t pc;
	uint32_t nr;
	jmethodID *methods;
};

/**
 * struct compiled - a compiled method
 * @start: its first byte
 * @end: the end of its instructions; its stubs come after it
 * @blob_end: the end of these
 * @method: the compiled method
 * @id: the VM's number of the compilation
 * @nr_places: places
 * @places: sorted by address
 */
struct compiled {
	uint64_t start;
	uint64_t end;
	uint64_t blob_end;
	jmethodID method;
	uint32_t id;
	uint32_t nr_places;
	struct place *places;
};

/* The code cache is [low, high). */
bool methods_open(uint64_t low, uint64_t high);
void methods_load(jmethodID method, uint64_t start, uint64_t size, const void *inlining);
void methods_unload(uint64_t start);

/* NULL: no method is known at that address.  Async-signal-safe. */
const struct compiled *methods_find(uint64_t ip);

/* The methods inlined where the call before @ip returns to, or at @ip; NULL: unknown. */
const struct place *methods_place(const struct compiled *compiled, uint64_t ip, bool exact);

#endif /* WALK_H */

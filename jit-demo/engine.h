/* SPDX-License-Identifier: MIT */
/*
 * Runs programs.  Each thread has one engine with its own region of code.  Compiled code has the
 * engine in %r14.
 */
#ifndef ENGINE_H
#define ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ast.h"
#include "emit.h"
#include "heap.h"
#include "runtime.h"

#define MAX_PROGRAMS	16
/* Maximum number of loaded programs, unless all stay loaded. */
#define FEW_PROGRAMS	3
#define NR_SLOTS	(MAX_PROGRAMS * MAX_FUNCTIONS)
#define NR_CODES	(3 * NR_SLOTS + 16)

/* Number of calls after which a function is compiled again. */
#define TIER_1_CALLS	200

struct code {
	int64_t active;		/* number of frames, counted by the code itself */
	uint8_t *start;
	uint32_t len;		/* 0: not in use */
	uint32_t id;		/* never reused */
	int tier;
	bool retiring;		/* no more calls; frames may remain */
};

/* A function of a loaded program; calls go through @entry. */
struct slot {
	void *entry;
	void *stub;
	int64_t countdown;
	const struct function *function;
	struct code *stub_code;
	struct code *code;
};

struct place {
	const struct program *program;
	int first_slot;
};

struct engine_options {
	bool descending;	/* the code grows down */
	bool granules;		/* rows in a granule map */
	bool keep;		/* never reuse an address */
	bool reuse_at_once;	/* fill holes even while compiled code runs */
};

struct engine_stat {
	unsigned long compiled[3];	/* by tier */
	unsigned long retired, reused, flushed;
	unsigned long most_tables;
};

/* One line of the log. */
struct code_record {
	uint64_t start;
	uint32_t len, id, mark_off, mark_from, mark_to;
	char name[2 * MAX_NAME + 16];
};

struct engine {
	/* used by compiled code */
	struct slot slots[NR_SLOTS];
	struct code codes[NR_CODES];
	void *glue[NR_BUILTINS];
	void *lazy;
	const uint32_t *names;		/* codectl_names_word() */

	int64_t (*enter)(struct engine *engine, void *entry,
			 const int64_t *args);
	struct engine_options options;
	struct codectl_region *region;
	struct heap heap;
	uint8_t *edge;			/* the end of code that stays forever */
	struct place places[MAX_PROGRAMS];
	unsigned int nr_places, next_place;
	unsigned int next_code, nr_retiring;
	/* functions that were compiled twice */
	uint64_t hot[MAX_PROGRAMS];
	struct run run;
	struct engine_stat stat;
	struct code_record *log;
	size_t log_len, log_size;
	struct emit emit;
};

struct engine *engine_open(const struct engine_options *options);
void engine_close(struct engine *engine);

/* Loads a program, unless it is loaded, and calls its main(). */
void engine_run(struct engine *engine, const struct program *program);

/* Calls a function from C. */
int64_t engine_call(struct engine *engine, int slot, const int64_t *args,
		    int nr);

/* Compiles the function of a slot; compiled code calls it through its stub. */
void *engine_compile(struct engine *engine, int slot);

/* Does compiled code have frames on the stack of this thread? */
static inline bool engine_runs(const struct engine *engine)
{
	return engine->run.depth > 0;
}

_Noreturn void engine_fail(const char *what);

/* Offsets from %r14. */
#define ENGINE_OFF(member)	((int32_t)offsetof(struct engine, member))

static inline int32_t slot_off(int slot, size_t member)
{
	return ENGINE_OFF(slots) + slot * sizeof(struct slot) + member;
}

static inline int32_t active_off(const struct engine *engine,
				 const struct code *code)
{
	return (const char *)&code->active - (const char *)engine;
}

#endif /* ENGINE_H */

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Compiled code: functions of several shapes that are copied into a region and
 * call what they are given.  Their truth comes from the assembler's DWARF; the kernel
 * has rows written by hand.
 */
#ifndef CODECTL_JIT_CODE_H
#define CODECTL_JIT_CODE_H

#include "jit_table.h"

struct jit_shape {
	const uint8_t *code;
	const uint8_t *code_end;
	const uint8_t *call;	/* the instruction after its call */
	const jit_row *row;
	const jit_row *row_end;
	bool by_fp;		/* its CFA is told by FP */
	bool saves_fp;
	bool loses_fp;		/* has its first argument in %rbp */
};

/*
 * A small frame; one of 69696 bytes; a frame pointer; %rbp saved and used for
 * something else; the same, told as lost; %rbp far above the CFA.
 */
extern const struct jit_shape jit_small, jit_big, jit_fp, jit_saved, jit_lost,
			      jit_above;
#define NR_JIT_SHAPES 6
extern const struct jit_shape *const jit_shapes[NR_JIT_SHAPES];

/* Every offset is derived from the tables: a fork at any time does no harm. */
struct jit_region {
	uint8_t *text;
	size_t text_size;
	uint8_t *tables;
	size_t table_size;	/* of each */
	unsigned int nr_tables;
	struct code_jit_info info;
	uint32_t seq;
};

/* 0 or -1; the first table is there, and nothing is registered. */
int jit_region_map(struct jit_region *r, size_t text_pages,
		   unsigned int nr_tables, size_t table_size);
void jit_region_unmap(struct jit_region *r);

/*
 * Publishes a function after all others; it calls @target, with its own arguments.
 * NULL if text or tables are full.
 */
uint8_t *jit_emit(struct jit_region *r, const struct jit_shape *shape,
		  const void *target);
/* Writes only the code, anywhere. */
void jit_write(uint8_t *at, const struct jit_shape *shape, const void *target);
/* The same, and registers it with libgcc. */
uint8_t *jit_make(struct jit_region *r, const struct jit_shape *shape,
		  const void *target);
void jit_describe(const uint8_t *at, const struct jit_shape *shape);

/* The row that covers @at, NULL if none does. */
jit_row *jit_row_at(const struct jit_region *r, const void *at);

static inline uint64_t jit_return_address(const uint8_t *at,
					  const struct jit_shape *shape)
{
	return addr_of(at) + (shape->call - shape->code);
}

/* Calls it; %rbp is saved, whatever happens to it. */
void jit_call(const uint8_t *function, const void *arg);

/*
 * The same, with the truth of the stack at the marker in jit_leaf() afterwards;
 * @function calls nothing else.
 */
void jit_run(const uint8_t *function, const struct jit_shape *shape);
void jit_leaf(void);

/*
 * For threads, only one of which can use the truth at a time: each has its own, from
 * the callers of the function that calls jit_enter().
 */
struct jit_thread {
	struct truth callers;
	struct truth truth;
};

/* Calls @function; returns where it returns to in the caller. */
uint64_t jit_enter(const uint8_t *function);
/* The stack that there was at the marker. */
void jit_expect(struct jit_thread *t, const uint8_t *function,
		const struct jit_shape *shape, uint64_t ra);

#endif /* CODECTL_JIT_CODE_H */

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A function in anonymous memory, so that only the table of a test describes it.  It
 * saves %rbp and sets it to 0, unless a test wants something else there, so that a
 * walk by frame pointers ends at it.
 */
#ifndef CODECTL_STUB_H
#define CODECTL_STUB_H

#include <stddef.h>
#include <stdint.h>

#include "sframe_build.h"
#include "truth.h"

#define STUB_SIZE	64
/* In the body, at the marker and at the call: bytes from SP to the CFA. */
#define STUB_FRAME	48
#define STUB_FP_OFF	(-16)

struct stub {
	uint8_t *text;		/* one page; the function starts it */
	uint8_t *table;		/* @table_pages pages */
	size_t table_room;
	size_t table_size;
	unsigned int marker_off; /* of the instruction after the marker */
	unsigned int call_off;	/* of the instruction after the call */
};

/* 0 or -1; nothing is registered yet. */
int stub_map(struct stub *stub, unsigned int table_pages);
void stub_unmap(struct stub *stub);

/* The rules of the whole function, right at every instruction of it. */
extern const struct fre_spec stub_rows[];
extern const unsigned int stub_nr_rows;

/* Writes the valid table for it; the right function of one; another one. */
void stub_table(struct stub *stub);
struct fde_spec stub_fde(const struct stub *stub);
void stub_table_of(struct stub *stub, const struct fde_spec *fde);
/* Has the table at @addr from now on; 0 or -1. */
int stub_table_at(struct stub *stub, uint64_t addr, size_t pages);
/* Moves its page of text; 0 or -1. */
int stub_text_at(struct stub *stub, void *addr);
/* Has it in a file instead, which only another mapping could write to; 0 or -1. */
int stub_text_in_file(struct stub *stub);
int stub_register(const struct stub *stub);
/* What stub_register() says, for what says more. */
struct code_elf_info stub_elf_info(const struct stub *stub);
/* With CODE_ELF_HEADER_LATER. */
int stub_register_unread(const struct stub *stub);
int stub_unregister(const struct stub *stub);

/*
 * Runs it once: a stack is taken in it or, if @callback is not NULL, by what
 * it calls.  Afterwards the truth of the stack taken in it is in @truth.
 */
void stub_run(const struct stub *stub, void (*callback)(void));

/* Exits in it, in place of the marker. */
void stub_run_exit(const struct stub *stub);

/* Whether the kernel may take what it has found in tables before. */
extern bool stub_rules_kept;

/* What the stub has in the word at its SP. */
extern uint64_t stub_plant;
/* If that is the CFA instead. */
extern bool stub_plant_cfa;
/* What it has in %rbp; or, if that is not 0, how far %rbp is from the CFA. */
extern uint64_t stub_fp;
extern int64_t stub_fp_off;

bool stub_is_topmost(const struct stub *stub, const struct stack *stack);

/* Takes a stack below the stub. */
void stub_callback(void);

#endif /* CODECTL_STUB_H */

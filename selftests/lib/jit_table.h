/* SPDX-License-Identifier: GPL-2.0 */
/* Tables of the rows of compiled code, and regions that have them. */
#ifndef CODECTL_JIT_TABLE_H
#define CODECTL_JIT_TABLE_H

#include "codectl_test.h"
#include "stub.h"

typedef struct code_jit_unwind_fre jit_row;
typedef struct code_jit_unwind_table jit_table;

/* An empty table that takes @room bytes at @mem. */
jit_table *jit_table_init(void *mem, size_t room);
unsigned int jit_table_rows(const jit_table *table);
/* The rows, and then used_len with release; -1 without change if it is full. */
int jit_table_append(jit_table *table, const jit_row *row, unsigned int nr);
void jit_table_link(jit_table *table, const jit_table *next);

/* 0 or a negative errno. */
int register_jit(const struct code_jit_info *info);
/* Its code is outermost, all of it. */
int register_jit_text(uint64_t start, uint64_t end);

/* The rows of the stub, whose first byte is at @ip_off. */
#define STUB_ROWS 5
void stub_jit_rows(jit_row row[STUB_ROWS], uint32_t ip_off);
void jit_rows_reverse(jit_row *row, unsigned int nr);
/* The valid table, in place of the SFrame section. */
jit_table *stub_jit_table(const struct stub *stub);
/* The stub's page of text as a region with the table that is there. */
struct code_jit_info stub_jit_info(const struct stub *stub);
int stub_register_jit(const struct stub *stub);

#endif /* CODECTL_JIT_TABLE_H */

/* SPDX-License-Identifier: MIT */
/*
 * Output formats of reports.  Write errors are left to the stream.
 */
#ifndef WRITERS_H
#define WRITERS_H

#include <stdio.h>

#include "tree.h"

/* A function, source line or group with its own weight and that including its callees. */
struct row {
	uint32_t group, label;	/* node and label of the tree */
	uint64_t self[2], total[2];
};

struct rows {
	struct row *list;
	size_t nr, room;
};

enum row_order { BY_SELF, BY_TOTAL };

/* Those that are large enough, by size, or by difference. */
struct rows rows_new(const struct tree *tree, bool diff, enum row_order order);

/* The groups of @row, separated by commas, as the caller's string. */
char *row_group(const struct tree *tree, const struct row *row);

/* @tree is of TREE_FILES or TREE_LINES. */
void table_print(const struct tree *tree, bool diff, enum row_order order, FILE *to);

/*
 * Stacks with files and offsets, the innermost frame first, to @to unless that is NULL;
 * returns the number of different ones.
 */
size_t listing_write(const struct selection *selection, FILE *to);

/* @tree is of TREE_FUNCTIONS. */
void folded_write(const struct tree *tree, bool diff, FILE *to);
void flamegraph_write(const struct tree *tree, bool diff, FILE *to);

void pprof_write(const struct selection *selection, FILE *to);
void speedscope_write(const struct selection *selection, const char *name, FILE *to);

/* Everything that the others print. */
void json_write(const struct selection *selection, bool diff, FILE *to);

#endif

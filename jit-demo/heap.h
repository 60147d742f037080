/* SPDX-License-Identifier: MIT */
/*
 * Where code goes: memory that is filled from one end to the other, and holes
 * in what was filled, which are filled on demand only.
 */
#ifndef HEAP_H
#define HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HEAP_HOLES	1024

struct hole {
	uint8_t *start;
	size_t len;
};

struct heap {
	uint8_t *start, *end;
	uint8_t *edge;			/* between what was filled and the rest */
	bool descending;		/* filled from the end down */
	int nr_holes;
	struct hole holes[HEAP_HOLES];	/* sorted, no two of them adjacent */
};

/* Anonymous memory: perf(1) only has names for code there. */
void heap_open(struct heap *heap, size_t len, bool descending);
void heap_close(struct heap *heap);

/* From the rest, or NULL if that is too small. */
void *heap_extend(struct heap *heap, size_t len);
/* From a hole, or NULL. */
void *heap_reuse(struct heap *heap, size_t len);
void heap_free(struct heap *heap, void *start, size_t len);

/* What was filled since the edge was at @edge is free. */
void heap_rewind(struct heap *heap, uint8_t *edge);
size_t heap_rest(const struct heap *heap);

#endif /* HEAP_H */

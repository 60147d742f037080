/* SPDX-License-Identifier: MIT */
/*
 * Memory for code: it is filled from one end to the other; holes in the filled part are only
 * filled on demand.
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
	uint8_t *edge;			/* between the filled part and the rest */
	bool descending;		/* filled from the end down */
	int nr_holes;
	struct hole holes[HEAP_HOLES];	/* sorted, no two of them adjacent */
};

/* Anonymous memory: perf(1) uses perf maps only for such code. */
void heap_open(struct heap *heap, size_t len, bool descending);
void heap_close(struct heap *heap);

/* Allocates from the rest; NULL if that is too small. */
void *heap_extend(struct heap *heap, size_t len);
/* Allocates from a hole, or returns NULL. */
void *heap_reuse(struct heap *heap, size_t len);
void heap_free(struct heap *heap, void *start, size_t len);

/* Frees everything filled since the edge was at @edge. */
void heap_rewind(struct heap *heap, uint8_t *edge);
size_t heap_rest(const struct heap *heap);

#endif /* HEAP_H */

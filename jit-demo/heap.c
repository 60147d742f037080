// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "heap.h"

#define HEAP_ALIGN	16

static size_t round_up(size_t len)
{
	return (len + HEAP_ALIGN - 1) & -(size_t)HEAP_ALIGN;
}

void heap_open(struct heap *heap, size_t len, bool descending)
{
	heap->start = mmap(NULL, len, PROT_READ | PROT_WRITE | PROT_EXEC,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (heap->start == MAP_FAILED) {
		perror("jit-demo: memory for code");
		exit(1);
	}
	heap->end = heap->start + len;
	heap->descending = descending;
	heap->edge = descending ? heap->end : heap->start;
	heap->nr_holes = 0;
}

void heap_close(struct heap *heap)
{
	munmap(heap->start, heap->end - heap->start);
}

size_t heap_rest(const struct heap *heap)
{
	return heap->descending ? heap->edge - heap->start :
				  heap->end - heap->edge;
}

void *heap_extend(struct heap *heap, size_t len)
{
	uint8_t *start;

	len = round_up(len);
	if (heap_rest(heap) < len)
		return NULL;
	if (heap->descending) {
		heap->edge -= len;
		return heap->edge;
	}
	start = heap->edge;
	heap->edge += len;
	return start;
}

static void remove_hole(struct heap *heap, int i)
{
	heap->nr_holes--;
	memmove(&heap->holes[i], &heap->holes[i + 1],
		(heap->nr_holes - i) * sizeof(heap->holes[0]));
}

void *heap_reuse(struct heap *heap, size_t len)
{
	struct hole *hole;
	uint8_t *start;

	len = round_up(len);
	for (int i = 0; i < heap->nr_holes; i++) {
		hole = &heap->holes[i];
		if (hole->len < len)
			continue;
		start = hole->start;
		hole->start += len;
		hole->len -= len;
		if (!hole->len)
			remove_hole(heap, i);
		return start;
	}
	return NULL;
}

/* Merges the hole with the next one if they are adjacent. */
static void join_holes(struct heap *heap, int i)
{
	struct hole *hole = &heap->holes[i];

	if (i < 0 || i + 1 >= heap->nr_holes ||
	    hole->start + hole->len != hole[1].start)
		return;
	hole->len += hole[1].len;
	remove_hole(heap, i + 1);
}

/* If there are too many holes, the memory is lost until a rewind. */
void heap_free(struct heap *heap, void *start, size_t len)
{
	int i = 0;

	if (heap->nr_holes == HEAP_HOLES)
		return;
	while (i < heap->nr_holes && heap->holes[i].start < (uint8_t *)start)
		i++;
	memmove(&heap->holes[i + 1], &heap->holes[i],
		(heap->nr_holes - i) * sizeof(heap->holes[0]));
	heap->holes[i] = (struct hole){ start, round_up(len) };
	heap->nr_holes++;
	join_holes(heap, i);
	join_holes(heap, i - 1);
}

void heap_rewind(struct heap *heap, uint8_t *edge)
{
	heap->edge = edge;
	heap->nr_holes = 0;
}

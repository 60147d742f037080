/* SPDX-License-Identifier: MIT */
#ifndef VM_H
#define VM_H

/*
 * What HotSpot reports about its code cache in the tables it exports for debuggers.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

/* Code heaps: three, or one without SegmentedCodeCache. */
#define MAX_HEAPS	8

struct vm_heap {
	uint64_t start;
	uint64_t end;
	unsigned int segment_shift;
};

/**
 * struct vm_blob - a piece of the code cache
 * @start: its first byte of code
 * @end: the end of its code
 * @name: the VM's name for its kind
 * @frame_size: bytes of a frame, with the return address; 0: none
 * @frame_complete: offset of the first instruction after the prologue
 * @osr_entry: offset of the entry of a method that is entered in a loop, or 0
 * @method: the VM's Method, or 0
 * @id: the VM's number of its compilation, or 0
 */
struct vm_blob {
	uint64_t start;
	uint64_t end;
	const char *name;
	uint32_t frame_size;
	uint32_t frame_complete;
	uint32_t osr_entry;
	uint64_t method;
	uint32_t id;
};

/**
 * struct vm_codelet - a piece of the interpreter
 * @start: its first byte of code
 * @end: its end
 * @name: the VM's name for it
 */
struct vm_codelet {
	uint64_t start;
	uint64_t end;
	const char *name;
};

/*
 * Finds the VM's tables in the object that contains @function.  Return: NULL, or the name of an
 * indispensable field that this VM lacks.
 */
const char *vm_find(const void *function);

/* Return: the number of heaps, the last of which has the stubs; 0: there are none yet. */
unsigned int vm_heaps(struct vm_heap *heaps);

/* Describes the blob that contains @address. */
bool vm_blob_at(uint64_t address, struct vm_blob *blob);

/* Moves to the next piece of the interpreter; to the first one if @codelet is all zero. */
bool vm_next_codelet(struct vm_codelet *codelet);

#endif /* VM_H */

/* SPDX-License-Identifier: MIT */
/*
 * What stackdump writes and stackcheck reads: a sequence of records, each a
 * header, a body of u64 words and, for some, bytes padded to a multiple of 8.
 * The byte order is that of x86-64.  Only the times of records tell their order.
 */
#ifndef STACKDUMP_H
#define STACKDUMP_H

#include <stdint.h>

enum dump_type {
	DUMP_MAP	= 1,	/* struct dump_map, then its name */
	DUMP_SAMPLE	= 2,	/* struct dump_sample, then the stack from sp up */
	DUMP_CHAIN	= 3,	/* struct dump_chain, then its addresses */
	DUMP_VDSO	= 4,	/* struct dump_vdso, then the image */
	DUMP_END	= 5,	/* struct dump_end; a file without it is cut off */
	DUMP_FORK	= 6,	/* struct dump_fork */
	DUMP_EXEC	= 7,	/* struct dump_exec */
};

struct dump_header {
	uint32_t type;
	uint32_t size;		/* of the record, this header included */
	uint64_t time;		/* 0: before the first event */
	uint64_t pid;
};

/* A new executable mapping. */
struct dump_map {
	struct dump_header header;
	uint64_t start;
	uint64_t len;
	uint64_t pgoff;
	char name[];
};

/* The registers by their DWARF numbers, 16 being the instruction pointer. */
#define DUMP_NR_REGS	17

struct dump_sample {
	struct dump_header header;
	uint64_t cookie;	/* that of its chain */
	uint64_t user_mode;	/* 0: taken in the kernel */
	uint64_t regs[DUMP_NR_REGS];
	uint64_t stack_len;
	unsigned char stack[];
};

/* The deferred chain; it follows the samples that it is for. */
struct dump_chain {
	struct dump_header header;
	uint64_t cookie;
	uint64_t nr;
	uint64_t ips[];
};

/* A new process, which has its parent's mappings. */
struct dump_fork {
	struct dump_header header;
	uint64_t parent;
};

/* A process that has lost its earlier mappings. */
struct dump_exec {
	struct dump_header header;
};

struct dump_vdso {
	struct dump_header header;
	uint64_t len;
	unsigned char image[];
};

struct dump_end {
	struct dump_header header;
	uint64_t lost;		/* records that did not fit into the ring buffer */
	uint64_t status;	/* wait status of the command */
};

#endif /* STACKDUMP_H */

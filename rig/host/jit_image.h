/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory with tables of compiled code, unchanged: jit_seeds writes it and
 * jit_image_fuzz reads it.  It is at a fixed address, so that pointers in it are right.
 */
#ifndef JIT_IMAGE_H
#define JIT_IMAGE_H

#include <uapi/linux/codectl.h>

#define JIT_IMAGE_BASE	0x200000000000UL
#define JIT_IMAGE_MAX	(1UL << 16)
#define JIT_IMAGE_TEXT	1024

/**
 * struct jit_image - the header before the memory
 * @head: offset of the first table in the memory
 * @seq: offset of the counter; 0: none
 * @fault: number of bytes at the end that cannot be read
 * @flags: CODE_JIT_*
 * @rule: the default rule
 */
struct jit_image {
	__u16				head;
	__u16				seq;
	__u16				fault;
	__u16				flags;
	struct code_jit_unwind_fre	rule;
};

#endif /* JIT_IMAGE_H */

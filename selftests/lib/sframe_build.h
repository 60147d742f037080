/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Writes SFrame version 3 sections, and leaves every field within reach of a
 * test that wants it wrong.
 */
#ifndef CODECTL_SFRAME_BUILD_H
#define CODECTL_SFRAME_BUILD_H

#include <stddef.h>
#include <stdint.h>

#define SFRAME_MAGIC		0xdee2
#define SFRAME_VERSION		3
#define SFRAME_F_SORTED		0x1
#define SFRAME_F_PCREL		0x4
#define SFRAME_ABI_AMD64	3

struct sframe_header {
	uint16_t magic;
	uint8_t version;
	uint8_t flags;
	uint8_t abi;
	int8_t fixed_fp_off;
	int8_t fixed_ra_off;
	uint8_t auxhdr_len;
	uint32_t num_fdes;
	uint32_t num_fres;
	uint32_t fre_len;
	uint32_t fde_off;
	uint32_t fre_off;
} __attribute__((packed));

struct sframe_fde {
	int64_t func_off;	/* from this field */
	uint32_t func_size;
	uint32_t fre_off;
} __attribute__((packed));

struct sframe_attr {
	uint16_t num_fres;
	uint8_t info;
	uint8_t info2;
	uint8_t rep_size;
} __attribute__((packed));

/* sframe_attr.info: size of FRE start offsets (0, 1, 2: 1, 2, 4 bytes) */
#define FDE_ADDR1	0
#define FDE_ADDR2	1
#define FDE_ADDR4	2
#define FDE_PCMASK	(1 << 4)
#define FDE_SIGNAL	(1 << 7)
/* sframe_attr.info2 */
#define FDE_FLEX	1

/* FRE info: base register, number and size (0, 1, 2: 1, 2, 4 bytes) of words */
#define FRE_FP		0
#define FRE_SP		1
#define FRE_WORD1	0
#define FRE_WORD2	1
#define FRE_WORD4	2
#define FRE_INFO(base, count, size) ((size) << 5 | (count) << 1 | (base))

/* Control word of a flexible FDE */
#define FLEX_CTL(reg, deref, reg_p) ((reg) << 3 | (deref) << 1 | (reg_p))
#define DWARF_RBX	3
#define DWARF_RBP	6
#define DWARF_RSP	7

#define MAX_WORDS 6

struct fre_spec {
	uint32_t start;
	uint8_t info;
	int32_t word[MAX_WORDS];
};

struct fde_spec {
	uint64_t func;
	uint32_t size;
	uint8_t info;
	uint8_t info2;
	uint8_t rep_size;
	unsigned int nr_fres;
	const struct fre_spec *fre;
};

/*
 * Writes a section of @nr functions to @dst, which is where it is going to be
 * registered; @auxhdr_len bytes of 0xa5 follow the header.  Returns its size,
 * 0 if @room is not enough.
 */
size_t sframe_build(void *dst, size_t room, const struct fde_spec *fde,
		    unsigned int nr, uint8_t auxhdr_len);

struct sframe_fde *sframe_fde_at(void *section, unsigned int i);
struct sframe_attr *sframe_attr_at(void *section, unsigned int i);
/* The first row of function @i. */
uint8_t *sframe_fre_at(void *section, unsigned int i);

#endif /* CODECTL_SFRAME_BUILD_H */

/* SPDX-License-Identifier: MIT */
/*
 * Call frame information: the programs of .eh_frame, as rows.
 */
#ifndef CODECTL_CFI_H
#define CODECTL_CFI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "codectl.h"

/**
 * struct cfi_reader - bytes that are read in sequence
 * @at: the next one
 * @end: after the last one
 * @bad: there were too few bytes, or what was read makes no sense
 */
struct cfi_reader {
	const uint8_t *at;
	const uint8_t *end;
	bool bad;
};

/**
 * struct cfi_cie - what functions have in common
 * @code_align: factor of distances in the code
 * @data_align: factor of offsets from the CFA
 * @ra_reg: the column of the return address
 * @fde_encoding: DW_EH_PE_* of addresses
 * @has_augmentation: functions have data of their own before their program
 * @is_signal: their frames are those of signal handlers
 * @program: the rules at the entry of each
 */
struct cfi_cie {
	uint64_t code_align;
	int64_t data_align;
	uint64_t ra_reg;
	uint8_t fde_encoding;
	bool has_augmentation;
	bool is_signal;
	struct cfi_reader program;
};

/**
 * struct cfi_fde - a function
 * @start: its first byte
 * @len: its length
 * @cie: what it has in common with others
 * @program: how the rules change
 */
struct cfi_fde {
	uint64_t start;
	uint64_t len;
	struct cfi_cie cie;
	struct cfi_reader program;
};

uint64_t codectl_cfi_read(struct cfi_reader *r, size_t size);
uint64_t codectl_cfi_read_uleb(struct cfi_reader *r);
int64_t codectl_cfi_read_sleb(struct cfi_reader *r);
uint64_t codectl_cfi_read_encoded(struct cfi_reader *r, uint8_t encoding);

size_t codectl_cfi_rows(const struct cfi_fde *fde,
			struct code_jit_unwind_fre *rows, size_t max);

#endif /* CODECTL_CFI_H */

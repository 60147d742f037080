/* SPDX-License-Identifier: GPL-2.0 */
/* A random call, which is made right, and then may be made wrong. */
#ifndef CODECTL_FUZZ_CALL_H
#define CODECTL_FUZZ_CALL_H

#include "fuzz.h"

/* Results as bits; 0 is success, and EOPNOTSUPP is too large a number. */
#define BIT(err) (1ULL << ((err) == EOPNOTSUPP ? 63 : (err)))

/* Of the first version of each structure, and of the last. */
static const size_t sizes[][2] = {
	[CODE_UNREGISTER] = { CODE_UNREGISTER_INFO_SIZE_VER0,
			      CODE_UNREGISTER_INFO_SIZE_VER0 },
	[CODE_REGISTER_ELF] = { CODE_ELF_INFO_SIZE_VER0,
				CODE_ELF_INFO_SIZE_VER2 },
	[CODE_REGISTER_JIT] = { CODE_JIT_INFO_SIZE_VER0,
				CODE_JIT_INFO_SIZE_VER2 },
};

/**
 * struct call - a call
 * @kind: what it was made as
 * @option: as passed
 * @flags: as passed
 * @size: as passed
 * @info: as passed, if @bad_info; else a copy of @arg is, which ends where
 *	nothing can be read
 * @bad_info: whether @info cannot be read
 * @arg: the structure
 * @wrong: errors for what is wrong with it; 0: nothing is
 * @any: it is unknown what is wrong: any documented result will do
 */
struct call {
	unsigned int kind;
	unsigned int option;
	unsigned int flags;
	size_t size;
	const void *info;
	bool bad_info;
	union {
		struct code_elf_info elf;
		struct code_jit_info jit;
		struct code_unregister_info unregister;
		uint8_t byte[2 * PAGE];
	} arg;
	uint64_t wrong;
	bool any;
};

static inline bool one_in(struct fuzz *f, unsigned int n)
{
	return !fuzz_random(f, n);
}

static inline uint64_t random_bits(struct fuzz *f)
{
	return fuzz_random(f, -1ULL) >> fuzz_random(f, 64);
}

/* Makes one or two things in it wrong. */
void fuzz_make_wrong(struct fuzz *f, struct call *c);

#endif /* CODECTL_FUZZ_CALL_H */

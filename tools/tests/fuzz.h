/* SPDX-License-Identifier: MIT */
/*
 * What the libFuzzer targets share.
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <stdint.h>

#include "check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The fuzzer keeps the input. */
static inline void require(bool good)
{
	if (!good)
		abort();
}

#endif

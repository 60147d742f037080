// SPDX-License-Identifier: MIT
/*
 * libFuzzer target for /proc/kallsyms: a symbol found for an address starts at or before it.
 */
#include "fuzz.h"
#include "kernel_names.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = exact_copy(data, size);
	struct kernel_names *names = kernel_names_parse(text, size);
	const char *function, *module;
	uint64_t distance;

	for (unsigned int bit = 0; bit < 64; bit++) {
		uint64_t address = -1ULL >> bit | 1ULL << 63;

		if (!kernel_names_find(names, address, &function, &module, &distance))
			continue;
		require(*function && distance <= address - (1ULL << 63));
		require(!strpbrk(function, "\n\t"));
		require(!module || *module);
	}
	kernel_names_free(names);
	free(text);
	return 0;
}

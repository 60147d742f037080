// SPDX-License-Identifier: MIT
/*
 * libFuzzer target for the unprivileged reader of an ELF file and its debugging information: it
 * ends, and its result has the form of an answer.
 */
#include "answer.h"
#include "elf_names.h"
#include "fuzz.h"

const char *__asan_default_options(void);

/* libdw leaks memory, which is freed when the process ends. */
const char *__asan_default_options(void)
{
	return "detect_leaks=0";
}

static void check_find(struct elf_names *names, uint32_t unit, uint64_t offset)
{
	struct symbol symbol = elf_names_find(names, unit, offset);

	require(!symbol.nr_inlined || symbol.inlined);
	for (size_t i = 0; i < symbol.nr_inlined; i++)
		require(symbol.inlined[i].name);
	symbol_free(&symbol);
}

/* The file also serves as its separate debugging information. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct image images[NR_IMAGES];
	struct elf_names *names;
	struct elf_wanted wanted;

	for (size_t i = 0; i < NR_IMAGES; i++)
		images[i] = (struct image){ exact_copy(data, size), size };
	names = elf_names_open(images, NULL, 0);
	if (names) {
		elf_names_wanted(names, &wanted);
		require(wanted.image <= NR_IMAGES && wanted.build_id_len <= NAMES_MAX_BUILD_ID);
		for (uint64_t offset = 0; offset < size; offset += 37) {
			check_find(names, UNIT_FILE, offset);
			check_find(names, UNIT_OBJECT, offset);
		}
		elf_names_close(names);
	}
	for (size_t i = 0; i < NR_IMAGES; i++)
		free(images[i].data);
	return 0;
}

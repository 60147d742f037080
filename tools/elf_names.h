/* SPDX-License-Identifier: MIT */
/*
 * Names of functions in an ELF file in memory, by its symbols and its debugging
 * information. Run by a process without privileges: the file may be hostile, and the
 * libraries that read it are large.
 */
#ifndef ELF_NAMES_H
#define ELF_NAMES_H

#include "symbol.h"

/* The file; its separate debugging information; what that shares with others (dwz). */
enum { IMAGE_FILE, IMAGE_DEBUG, IMAGE_SHARED, NR_IMAGES };

struct image {
	void *data;		/* NULL if there is none */
	size_t size;
};

#define NAMES_MAX_BUILD_ID	64

/* What is still needed: an image, or NR_IMAGES for none. */
struct elf_wanted {
	uint32_t image;
	uint32_t build_id_len;
	uint8_t build_id[NAMES_MAX_BUILD_ID];
	char name[1024];	/* of IMAGE_SHARED, as the file has it */
};

struct elf_names;

/*
 * NULL if the file is no ELF file, or does not have the build-id, if its length is not
 * 0. Images with other build-ids than the file asks for are ignored.
 */
struct elf_names *elf_names_open(struct image images[NR_IMAGES], const uint8_t *build_id,
				 size_t build_id_len);
void elf_names_close(struct elf_names *names);

void elf_names_wanted(const struct elf_names *names, struct elf_wanted *wanted);

/* That of the file, and how long it is: 0 if it has none. */
size_t elf_names_build_id(const struct elf_names *names, const void **bits);

/*
 * What is at an offset, in the file or from the start of the object in memory,
 * depending on @unit.  The texts are demangled but not escaped.  To be freed by
 * symbol_free().
 */
struct symbol elf_names_find(struct elf_names *names, uint32_t unit, uint64_t offset);

#endif

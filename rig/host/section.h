/* SPDX-License-Identifier: GPL-2.0 */
#ifndef HOST_SECTION_H
#define HOST_SECTION_H

#include <libelf.h>
#include <linux/types.h>

/**
 * struct elf_section - a section of an ELF file
 * @data: its contents
 * @ident: the file's e_ident
 * @addr: its address
 * @size: its size in bytes
 */
struct elf_section {
	Elf_Data *data;
	const unsigned char *ident;
	u64 addr;
	u64 size;
};

Elf *elf_open(const char *path);
bool elf_section(Elf *elf, const char *name, struct elf_section *found);
bool section_is_linked(const char *path);
char *section_read(const char *path, size_t *size);

#endif /* HOST_SECTION_H */

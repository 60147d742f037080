// SPDX-License-Identifier: GPL-2.0
/* Reads the SFrame section of an ELF file, linked or not. */
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "section.h"

static char *read_at(FILE *file, long off, size_t size)
{
	char *buf = malloc(size + 1);

	if (!buf || fseek(file, off, SEEK_SET) ||
	    fread(buf, 1, size, file) != size) {
		free(buf);
		return NULL;
	}
	buf[size] = '\0';

	return buf;
}

static const Elf64_Shdr *find_section(const Elf64_Ehdr *ehdr,
				      const Elf64_Shdr *shdr, FILE *file)
{
	const Elf64_Shdr *names = &shdr[ehdr->e_shstrndx], *found = NULL;
	char *str = read_at(file, names->sh_offset, names->sh_size);
	unsigned int i;

	for (i = 0; str && i < ehdr->e_shnum; i++) {
		if (shdr[i].sh_name < names->sh_size &&
		    !strcmp(str + shdr[i].sh_name, ".sframe"))
			found = &shdr[i];
	}
	free(str);

	return found;
}

/* A block of exactly @size bytes, or NULL. */
char *section_read(const char *path, size_t *size)
{
	const Elf64_Shdr *found;
	Elf64_Shdr *shdr = NULL;
	Elf64_Ehdr ehdr;
	char *data = NULL;
	FILE *file = fopen(path, "re");

	if (!file)
		return NULL;
	if (fread(&ehdr, sizeof(ehdr), 1, file) == 1 &&
	    !memcmp(ehdr.e_ident, ELFMAG, SELFMAG) &&
	    ehdr.e_ident[EI_CLASS] == ELFCLASS64)
		shdr = (void *)read_at(file, ehdr.e_shoff,
				       ehdr.e_shnum * sizeof(*shdr));
	found = shdr ? find_section(&ehdr, shdr, file) : NULL;
	if (found) {
		*size = found->sh_size;
		data = read_at(file, found->sh_offset, *size);
	}
	free(shdr);
	fclose(file);

	return data;
}

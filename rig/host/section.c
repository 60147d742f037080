// SPDX-License-Identifier: GPL-2.0
/* Reads sections of an ELF file, linked or not. */
#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "section.h"

/* Completely in memory, without the file; or NULL. */
Elf *elf_open(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	Elf *elf;

	if (fd < 0)
		return NULL;
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	if (elf)
		elf_cntl(elf, ELF_C_FDREAD);
	close(fd);

	return elf;
}

bool elf_section(Elf *elf, const char *name, struct elf_section *found)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr shdr;
	size_t names;

	if (elf_getshdrstrndx(elf, &names))
		return false;
	while ((scn = elf_nextscn(elf, scn))) {
		const char *is;

		if (!gelf_getshdr(scn, &shdr))
			return false;
		is = elf_strptr(elf, names, shdr.sh_name);
		if (!is || strcmp(is, name))
			continue;
		*found = (struct elf_section) {
			.data = elf_getdata(scn, NULL),
			.ident = (void *)elf_getident(elf, NULL),
			.addr = shdr.sh_addr, .size = shdr.sh_size,
		};
		return found->data && found->data->d_buf;
	}

	return false;
}

/* Whether @path is a program or a library with an SFrame section. */
bool section_is_linked(const char *path)
{
	Elf *elf = elf_open(path);
	struct elf_section sec;
	GElf_Ehdr ehdr;
	bool linked;

	linked = elf && elf_kind(elf) == ELF_K_ELF && gelf_getehdr(elf, &ehdr) &&
		 (ehdr.e_type == ET_EXEC || ehdr.e_type == ET_DYN) &&
		 elf_section(elf, ".sframe", &sec);
	elf_end(elf);

	return linked;
}

/* A copy of the SFrame section in a block of exactly @size bytes, or NULL. */
char *section_read(const char *path, size_t *size)
{
	Elf *elf = elf_open(path);
	struct elf_section sec;
	char *data = NULL;

	if (elf && elf_section(elf, ".sframe", &sec))
		data = malloc(sec.size);
	if (data) {
		*size = sec.size;
		memcpy(data, sec.data->d_buf, sec.size);
	}
	elf_end(elf);

	return data;
}

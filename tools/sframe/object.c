// SPDX-License-Identifier: MIT
#include <elf.h>
#include <gelf.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>

#include "object.h"

#define PAGE		4096ULL

static bool is_ours(Elf *elf, struct object *object)
{
	GElf_Ehdr header;

	if (elf_kind(elf) != ELF_K_ELF || !gelf_getehdr(elf, &header) ||
	    header.e_ident[EI_CLASS] != ELFCLASS64 ||
	    header.e_ident[EI_DATA] != ELFDATA2LSB ||
	    header.e_machine != EM_X86_64 ||
	    (header.e_type != ET_EXEC && header.e_type != ET_DYN))
		return false;
	object->type = header.e_type;
	return true;
}

/* NT_GNU_BUILD_ID among the notes in @data. */
static bool find_build_id(Elf_Data *data, struct object *object)
{
	size_t at = 0, name, desc;
	GElf_Nhdr note;

	while (data && (at = gelf_getnote(data, at, &note, &name, &desc))) {
		if (note.n_type != NT_GNU_BUILD_ID ||
		    note.n_namesz != sizeof(ELF_NOTE_GNU) ||
		    memcmp((char *)data->d_buf + name, ELF_NOTE_GNU, note.n_namesz) ||
		    !note.n_descsz || note.n_descsz > MAX_BUILD_ID)
			continue;
		memcpy(object->build_id, (char *)data->d_buf + desc, note.n_descsz);
		object->build_id_len = note.n_descsz;
		return true;
	}
	return false;
}

static bool add_segment(const GElf_Phdr *segment, struct object *object)
{
	if (segment->p_filesz > segment->p_memsz ||
	    segment->p_memsz > MAX_ADDRESS ||
	    segment->p_vaddr > MAX_ADDRESS - segment->p_memsz)
		return false;
	if (object->table_addr < segment->p_vaddr + segment->p_memsz)
		object->table_addr = segment->p_vaddr + segment->p_memsz;
	if (!(segment->p_flags & PF_X) || !segment->p_filesz)
		return true;
	if (object->nr_segments == MAX_SEGMENTS)
		return false;
	object->segments[object->nr_segments++] = (struct segment){
		segment->p_offset, segment->p_filesz, segment->p_vaddr,
	};
	return true;
}

static Elf_Data *read_notes(Elf *elf, const GElf_Phdr *segment)
{
	return elf_getdata_rawchunk(elf, segment->p_offset, segment->p_filesz,
				    segment->p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR);
}

/* False if they are malformed. */
static bool read_segments(Elf *elf, struct object *object)
{
	GElf_Phdr segment;
	bool has_id = false;
	size_t nr;

	if (elf_getphdrnum(elf, &nr))
		return false;
	for (size_t i = 0; i < nr; i++) {
		if (!gelf_getphdr(elf, i, &segment))
			return false;
		if (segment.p_type == PT_LOAD && !add_segment(&segment, object))
			return false;
		if (segment.p_type == PT_NOTE && !has_id)
			has_id = find_build_id(read_notes(elf, &segment), object);
	}
	object->table_addr = (object->table_addr + PAGE - 1) & -PAGE;
	return true;
}

static Elf *open_elf(void *image, size_t size, struct object *object)
{
	Elf *elf;

	*object = (struct object){ .error = OBJECT_NOT_ELF };
	elf_version(EV_CURRENT);
	elf = elf_memory(image, size);
	if (!elf || !is_ours(elf, object))
		return elf;
	object->error = !read_segments(elf, object) ? OBJECT_MALFORMED :
			!object->nr_segments ? OBJECT_NO_CODE : OBJECT_READ;
	return elf;
}

Elf *object_open(void *image, size_t size, struct object *object)
{
	Elf *elf = open_elf(image, size, object);

	if (!object->error)
		return elf;
	elf_end(elf);
	return NULL;
}

// SPDX-License-Identifier: MIT
#include <elf.h>
#include <errno.h>
#include <gelf.h>
#include <libelf.h>
#include <string.h>

#include "table_file.h"

/* Binutils 2.46; the elf.h of the machine may not have it. */
#ifndef SHT_GNU_SFRAME
#define SHT_GNU_SFRAME	0x6ffffff4
#endif

static const char names[] = "\0.note.gnu.build-id\0.note.codectl\0.sframe\0.shstrtab";

enum { NAME_BUILD_ID = 1, NAME_SEGMENTS = 20, NAME_SFRAME = 34, NAME_NAMES = 42 };

struct content {
	unsigned int name, type, flags;
	uint64_t addr, align;
	const void *data;
	size_t size;
};

/* Notes, all of them aligned to 4 bytes. */
struct build_id_note {
	Elf64_Nhdr header;
	char name[4];
	uint8_t desc[MAX_BUILD_ID];
};

struct segments_note {
	Elf64_Nhdr header;
	char name[8];
	uint64_t version;
	struct segment segments[MAX_SEGMENTS];
} __attribute__((packed));

static bool add_section(Elf *elf, const struct content *content)
{
	Elf_Scn *scn = elf_newscn(elf);
	Elf_Data *data = scn ? elf_newdata(scn) : NULL;
	Elf64_Shdr *header = data ? elf64_getshdr(scn) : NULL;

	if (!header)
		return false;
	header->sh_name = content->name;
	header->sh_type = content->type;
	header->sh_flags = content->flags;
	header->sh_addr = content->addr;
	data->d_type = ELF_T_BYTE;
	data->d_buf = (void *)content->data;
	data->d_size = content->size;
	data->d_align = content->align;
	data->d_version = EV_CURRENT;
	return true;
}

static bool add_build_id(Elf *elf, const struct object *object,
			 struct build_id_note *note)
{
	size_t len = object->build_id_len;

	*note = (struct build_id_note){
		{ sizeof(note->name), len, NT_GNU_BUILD_ID }, ELF_NOTE_GNU, { 0 },
	};
	memcpy(note->desc, object->build_id, len);
	return add_section(elf, &(struct content){
		NAME_BUILD_ID, SHT_NOTE, 0, 0, 4, note,
		offsetof(struct build_id_note, desc) + (len + 3) / 4 * 4,
	});
}

static bool add_segments(Elf *elf, const struct object *object,
			 struct segments_note *note)
{
	size_t len = object->nr_segments * sizeof(object->segments[0]);

	*note = (struct segments_note){
		{ sizeof(note->name), sizeof(note->version) + len, TABLE_FILE_SEGMENTS },
		TABLE_FILE_NOTE, TABLE_FILE_VERSION, { { 0 } },
	};
	memcpy(note->segments, object->segments, len);
	return add_section(elf, &(struct content){
		NAME_SEGMENTS, SHT_NOTE, 0, 0, 4, note,
		offsetof(struct segments_note, segments) + len,
	});
}

static bool add_table(Elf *elf, const struct object *object, const struct table *table)
{
	return add_section(elf, &(struct content){
		NAME_SFRAME, SHT_GNU_SFRAME, SHF_ALLOC, object->table_addr, 8,
		table->data, table->size,
	});
}

static bool set_header(Elf *elf, const struct object *object)
{
	Elf64_Ehdr *header = elf64_newehdr(elf);

	if (!header)
		return false;
	header->e_ident[EI_DATA] = ELFDATA2LSB;
	header->e_type = object->type;
	header->e_machine = EM_X86_64;
	header->e_version = EV_CURRENT;
	header->e_shstrndx = object->build_id_len ? 4 : 3;
	return true;
}

bool table_file_write(int fd, const struct object *object, const struct table *table)
{
	const struct content strings = {
		NAME_NAMES, SHT_STRTAB, 0, 0, 1, names, sizeof(names),
	};
	struct build_id_note build_id;
	struct segments_note segments;
	bool good;
	Elf *elf;

	elf_version(EV_CURRENT);
	errno = EIO;
	elf = elf_begin(fd, ELF_C_WRITE, NULL);
	good = elf && set_header(elf, object) &&
	       (!object->build_id_len || add_build_id(elf, object, &build_id)) &&
	       add_segments(elf, object, &segments) && add_table(elf, object, table) &&
	       add_section(elf, &strings) && elf_update(elf, ELF_C_WRITE) > 0;
	elf_end(elf);
	return good;
}

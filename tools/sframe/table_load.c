// SPDX-License-Identifier: MIT
#include <elf.h>
#include <gelf.h>
#include <string.h>

#include "table_file.h"
#include "table_load.h"

#ifndef SHT_GNU_SFRAME
#define SHT_GNU_SFRAME	0x6ffffff4
#endif

/* The note with the segments, if its version is known. */
static void load_note(struct loaded_table *table, Elf_Data *data)
{
	size_t offset = 0, name, desc;
	uint64_t version;
	GElf_Nhdr note;

	while ((offset = gelf_getnote(data, offset, &note, &name, &desc))) {
		const char *at = data->d_buf;

		if (note.n_type != TABLE_FILE_SEGMENTS ||
		    note.n_namesz != sizeof(TABLE_FILE_NOTE) ||
		    memcmp(at + name, TABLE_FILE_NOTE, sizeof(TABLE_FILE_NOTE)) ||
		    note.n_descsz < sizeof(version))
			continue;
		memcpy(&version, at + desc, sizeof(version));
		if (version != TABLE_FILE_VERSION)
			continue;
		table->nr_segments = (note.n_descsz - sizeof(version)) /
				     sizeof(*table->segments);
		table->segments = (const void *)(at + desc + sizeof(version));
	}
}

static void load_section(struct loaded_table *table, Elf_Scn *scn)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	GElf_Shdr header;

	if (!data || !gelf_getshdr(scn, &header))
		return;
	if (header.sh_type == SHT_GNU_SFRAME) {
		table->data = data->d_buf;
		table->size = data->d_size;
		table->addr = header.sh_addr;
	}
	if (header.sh_type == SHT_NOTE)
		load_note(table, data);
}

bool table_load(int fd, struct loaded_table *table)
{
	Elf_Scn *scn = NULL;

	*table = (struct loaded_table){ 0 };
	elf_version(EV_CURRENT);
	table->elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	if (!table->elf)
		return false;
	while ((scn = elf_nextscn(table->elf, scn)))
		load_section(table, scn);
	if (table->data && table->nr_segments && table->nr_segments <= MAX_SEGMENTS)
		return true;
	table_unload(table);
	return false;
}

void table_unload(struct loaded_table *table)
{
	elf_end(table->elf);
	table->elf = NULL;
}

// SPDX-License-Identifier: MIT
/*
 * Detached tables of objects without SFrame: ELF files, by build-id, where "codectl
 * sframe" keeps them and packages install them.  tools/sframe/table_file.h describes
 * their format.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "preload.h"

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#define MAX_BUILD_ID	32
#define NOTE_NAME	"codectl"
#define NOTE_SEGMENTS	1
#define NOTE_VERSION	1

#ifndef SHT_GNU_SFRAME
#define SHT_GNU_SFRAME	0x6ffffff4
#endif

/* The directories of codectl(1), after the one that the user names. */
static const char *const folders[] = {
	"/usr/lib/codectl/sframe", "/var/cache/codectl/sframe",
};

struct build_id {
	size_t len;
	uint8_t bytes[MAX_BUILD_ID];
};

/**
 * struct notes - a sequence of notes
 * @at: the next one
 * @len: bytes that are left
 * @align: name and description are padded to a multiple of this
 */
struct notes {
	const char *at;
	size_t len;
	size_t align;
};

/* The next note, and its description; false if there is none. */
static bool next_note(struct notes *notes, Elf64_Nhdr *note, const char **name,
		      const void **desc)
{
	size_t name_len, desc_len;

	if (notes->len < sizeof(*note))
		return false;
	memcpy(note, notes->at, sizeof(*note));
	name_len = (note->n_namesz + notes->align - 1) & -notes->align;
	desc_len = (note->n_descsz + notes->align - 1) & -notes->align;
	if (name_len > notes->len - sizeof(*note) ||
	    note->n_descsz > notes->len - sizeof(*note) - name_len)
		return false;
	*name = notes->at + sizeof(*note);
	*desc = *name + name_len;
	if (desc_len > notes->len - sizeof(*note) - name_len)
		desc_len = notes->len - sizeof(*note) - name_len;
	notes->at += sizeof(*note) + name_len + desc_len;
	notes->len -= sizeof(*note) + name_len + desc_len;

	return true;
}

static bool is_build_id(const Elf64_Nhdr *note, const char *name)
{
	return note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 &&
	       !memcmp(name, "GNU", 4) && note->n_descsz >= 2 &&
	       note->n_descsz <= MAX_BUILD_ID;
}

static bool get_build_id(struct notes notes, struct build_id *id)
{
	const void *desc;
	const char *name;
	Elf64_Nhdr note;

	while (next_note(&notes, &note, &name, &desc)) {
		if (!is_build_id(&note, name))
			continue;
		id->len = note.n_descsz;
		memcpy(id->bytes, desc, id->len);
		return true;
	}

	return false;
}

/* What is in no loaded segment is not there. */
static bool is_loaded(const struct dl_phdr_info *object, const Elf64_Phdr *what)
{
	const Elf64_Phdr *ph = object->dlpi_phdr, *end = ph + object->dlpi_phnum;

	for (; ph < end; ph++) {
		if (ph->p_type == PT_LOAD && ph->p_flags & PF_R &&
		    what->p_vaddr >= ph->p_vaddr &&
		    what->p_vaddr - ph->p_vaddr <= ph->p_filesz &&
		    what->p_filesz <= ph->p_filesz - (what->p_vaddr - ph->p_vaddr))
			return true;
	}

	return false;
}

static bool build_id_of(const struct dl_phdr_info *object, struct build_id *id)
{
	const Elf64_Phdr *ph = object->dlpi_phdr, *end = ph + object->dlpi_phnum;

	for (; ph < end; ph++) {
		if (ph->p_type == PT_NOTE && is_loaded(object, ph) &&
		    get_build_id((struct notes) {
				(const char *)(object->dlpi_addr + ph->p_vaddr),
				ph->p_filesz, ph->p_align == 8 ? 8 : 4 }, id))
			return true;
	}

	return false;
}

/* "ab/cdef.sframe": printf() for this took two fifths of the start of a small program. */
static void name_table(const struct build_id *id, char *at)
{
	static const char digits[] = "0123456789abcdef";
	size_t i;

	for (i = 0; i < id->len; i++) {
		*at++ = digits[id->bytes[i] >> 4];
		*at++ = digits[id->bytes[i] & 15];
		if (!i)
			*at++ = '/';
	}
	strcpy(at, ".sframe");
}

static int open_table(const char *folder, const struct build_id *id)
{
	char name[2 * MAX_BUILD_ID + 16];
	int dir = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC), fd;

	if (dir < 0)
		return -1;
	name_table(id, name);
	/* Opening a pipe must not wait for a writer. */
	fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	close(dir);

	return fd;
}

static bool map_file(int fd, struct preload_table *table)
{
	struct stat st;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode) ||
	    st.st_size < (off_t)sizeof(Elf64_Ehdr))
		return false;
	*table = (struct preload_table) { .len = st.st_size };
	table->map = mmap(NULL, table->len, PROT_READ, MAP_PRIVATE, fd, 0);

	return table->map != MAP_FAILED;
}

/* NULL: it is not as table_file.h says. */
static const Elf64_Shdr *sections_of(const struct preload_table *table,
				     unsigned int *nr)
{
	const Elf64_Ehdr *header = table->map;

	if (memcmp(header->e_ident, ELFMAG, SELFMAG) ||
	    header->e_ident[EI_CLASS] != ELFCLASS64 ||
	    header->e_machine != EM_X86_64 || header->e_shoff % 8 ||
	    header->e_shentsize != sizeof(Elf64_Shdr) ||
	    header->e_shoff > table->len ||
	    (table->len - header->e_shoff) / sizeof(Elf64_Shdr) < header->e_shnum)
		return NULL;
	*nr = header->e_shnum;

	return (const void *)((const char *)table->map + header->e_shoff);
}

/* Does the table match the executable segments of the object, where they are? */
static bool segments_fit(const struct dl_phdr_info *object, const void *desc,
			 size_t len)
{
	const Elf64_Phdr *ph = object->dlpi_phdr, *end = ph + object->dlpi_phnum;
	const uint64_t *word = desc, *words = word + len / sizeof(*word);

	if (len % sizeof(*word) || word == words || *word++ != NOTE_VERSION)
		return false;
	for (; ph < end; ph++) {
		if (ph->p_type != PT_LOAD || !(ph->p_flags & PF_X) || !ph->p_filesz)
			continue;
		if (words - word < 3 || word[0] != ph->p_offset ||
		    word[1] != ph->p_filesz || word[2] != ph->p_vaddr)
			return false;
		word += 3;
	}

	return word == words;
}

static bool notes_fit(const struct dl_phdr_info *object, struct notes notes,
		      const struct build_id *id, bool *same_id, bool *same_text)
{
	const void *desc;
	const char *name;
	Elf64_Nhdr note;

	while (next_note(&notes, &note, &name, &desc)) {
		if (is_build_id(&note, name))
			*same_id = note.n_descsz == id->len &&
				   !memcmp(desc, id->bytes, id->len);
		if (note.n_type == NOTE_SEGMENTS &&
		    note.n_namesz == sizeof(NOTE_NAME) &&
		    !memcmp(name, NOTE_NAME, sizeof(NOTE_NAME)))
			*same_text = segments_fit(object, desc, note.n_descsz);
	}

	return *same_id && *same_text;
}

static bool read_table(const struct dl_phdr_info *object, const struct build_id *id,
		       struct preload_table *table)
{
	bool same_id = false, same_text = false;
	const Elf64_Shdr *section;
	unsigned int nr, i;

	section = sections_of(table, &nr);
	for (i = 0; section && i < nr; i++, section++) {
		const char *at = (const char *)table->map + section->sh_offset;

		if (section->sh_offset > table->len ||
		    section->sh_size > table->len - section->sh_offset)
			continue;
		if (section->sh_type == SHT_NOTE)
			notes_fit(object, (struct notes) { at, section->sh_size, 4 },
				  id, &same_id, &same_text);
		if (section->sh_type != SHT_GNU_SFRAME || !section->sh_size)
			continue;
		table->start = (uintptr_t)at;
		table->end = table->start + section->sh_size;
		table->addr = section->sh_addr;
	}

	return table->start && same_id && same_text;
}

static bool map_from(const char *folder, const struct dl_phdr_info *object,
		     const struct build_id *id, struct preload_table *table)
{
	int fd = folder ? open_table(folder, id) : -1;
	bool mapped;

	if (fd < 0)
		return false;
	mapped = map_file(fd, table);
	close(fd);
	if (!mapped)
		return false;
	if (read_table(object, id, table))
		return true;
	preload_table_unmap(table);

	return false;
}

bool preload_table_map(const struct dl_phdr_info *object,
		       struct preload_table *table)
{
	bool found = false;
	struct build_id id;
	size_t i;

	if (!build_id_of(object, &id))
		return false;
	found = map_from(secure_getenv("CODECTL_SFRAME"), object, &id, table);
	for (i = 0; !found && i < ARRAY_SIZE(folders); i++)
		found = map_from(folders[i], object, &id, table);

	return found;
}

void preload_table_unmap(const struct preload_table *table)
{
	munmap(table->map, table->len);
}

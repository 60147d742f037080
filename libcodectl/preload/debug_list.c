// SPDX-License-Identifier: MIT
/*
 * The list of in-memory objects that run-time compilers keep for debuggers: "JIT
 * Compilation Interface" in GDB's manual.
 *
 * It belongs to the program and changes at any time: it is read as another process's
 * memory would be.  Only the .debug_frame of an object counts, and it must be complete,
 * so objects that have yet to be relocated are skipped; those that have .eh_frame for
 * exceptions come to __register_frame(), too.
 *
 * We may be called by an allocator that maps memory, so none is asked for any.
 */
#include <dlfcn.h>
#include <elf.h>
#include <string.h>
#include <sys/mman.h>

#include "preload.h"

/* A longer list is circular, or is not a list. */
#define MAX_OBJECTS	65536
#define MAX_SECTION	(64 << 20)
/* Version of the interface. */
#define LIST_VERSION	1

struct debug_entry {
	struct debug_entry *next;
	struct debug_entry *prev;
	const char *file;
	uint64_t size;
};

struct debug_list {
	uint32_t version;
	uint32_t action;
	struct debug_entry *relevant;
	struct debug_entry *first;
};

/**
 * struct object - what was made of an entry
 * @next: the next one
 * @file: the object in memory, which identifies it
 * @size: its length
 * @frame: what was published from it, or NULL
 * @seen: whether it is in the list
 */
struct object {
	struct object *next;
	const char *file;
	uint64_t size;
	struct codectl_eh_frame *frame;
	bool seen;
};

_Static_assert(sizeof(struct object) <= PRELOAD_CELL, "it is in a cell");

static const struct debug_list *list;
static struct debug_list last;
static struct object *objects;

static void *allocate(size_t len)
{
	void *mem = mmap(NULL, len, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return mem == MAP_FAILED ? NULL : mem;
}

/* To be freed by munmap(); NULL: it is too long, or not there. */
static void *copy_of(const void *from, uint64_t len)
{
	void *to = len && len <= MAX_SECTION ? allocate(len) : NULL;

	if (to && !preload_copy(to, from, len)) {
		munmap(to, len);
		return NULL;
	}

	return to;
}

static bool header_valid(const Elf64_Ehdr *header, uint64_t size)
{
	return !memcmp(header->e_ident, ELFMAG, SELFMAG) &&
	       header->e_ident[EI_CLASS] == ELFCLASS64 &&
	       header->e_machine == EM_X86_64 &&
	       (header->e_type == ET_EXEC || header->e_type == ET_DYN) &&
	       header->e_shentsize == sizeof(Elf64_Shdr) && header->e_shnum &&
	       header->e_shstrndx < header->e_shnum && header->e_shoff < size &&
	       (size - header->e_shoff) / sizeof(Elf64_Shdr) >= header->e_shnum;
}

static bool section_valid(const Elf64_Shdr *section, uint64_t size)
{
	return section->sh_type != SHT_NOBITS && section->sh_offset <= size &&
	       section->sh_size <= size - section->sh_offset;
}

static struct codectl_eh_frame *add_section(const struct object *object,
					    const Elf64_Shdr *section)
{
	struct codectl_eh_frame *frame = NULL;
	void *copied = copy_of(object->file + section->sh_offset, section->sh_size);

	if (!copied)
		return NULL;
	if (codectl_debug_frame_add(copied, section->sh_size, &frame))
		frame = NULL;
	munmap(copied, section->sh_size);

	return frame;
}

static const Elf64_Shdr *find_section(const struct object *object,
				      const Elf64_Shdr *sections, unsigned int nr,
				      unsigned int names)
{
	static const char wanted[] = ".debug_frame";
	char name[sizeof(wanted)];
	unsigned int i;

	if (!section_valid(&sections[names], object->size))
		return NULL;
	for (i = 0; i < nr; i++) {
		uint64_t at = sections[i].sh_name;

		if (at < sections[names].sh_size &&
		    sections[names].sh_size - at >= sizeof(name) &&
		    section_valid(&sections[i], object->size) &&
		    preload_copy(name, object->file + sections[names].sh_offset + at,
				 sizeof(name)) &&
		    !memcmp(name, wanted, sizeof(name)))
			return &sections[i];
	}

	return NULL;
}

static void publish(struct object *object)
{
	const Elf64_Shdr *section;
	Elf64_Shdr *sections;
	Elf64_Ehdr header;
	size_t len;

	if (object->size < sizeof(header) ||
	    !preload_copy(&header, object->file, sizeof(header)) ||
	    !header_valid(&header, object->size))
		return;
	len = header.e_shnum * sizeof(*sections);
	sections = copy_of(object->file + header.e_shoff, len);
	if (!sections)
		return;
	section = find_section(object, sections, header.e_shnum, header.e_shstrndx);
	if (section)
		object->frame = add_section(object, section);
	munmap(sections, len);
}

static void see(const struct debug_entry *entry)
{
	struct object *object;

	for (object = objects; object; object = object->next) {
		if (object->file != entry->file || object->size != entry->size)
			continue;
		object->seen = true;
		return;
	}
	object = preload_cell();
	if (!object)
		return;
	*object = (struct object) {
		.next = objects, .file = entry->file, .size = entry->size,
		.seen = true,
	};
	objects = object;
	publish(object);
}

/* Drops the ones that have gone. */
static void forget_unseen(void)
{
	struct object **at = &objects, *object;

	while ((object = *at)) {
		if (object->seen) {
			at = &object->next;
			continue;
		}
		*at = object->next;
		codectl_eh_frame_remove(object->frame);
		preload_cell_free(object);
	}
}

static struct debug_list now(void)
{
	return (struct debug_list) {
		.action = __atomic_load_n(&list->action, __ATOMIC_RELAXED),
		.relevant = __atomic_load_n(&list->relevant, __ATOMIC_RELAXED),
		.first = __atomic_load_n(&list->first, __ATOMIC_RELAXED),
	};
}

bool preload_debug_list_changed(void)
{
	struct debug_list found;

	if (!list || list->version != LIST_VERSION)
		return false;
	found = now();

	return found.action != last.action || found.relevant != last.relevant ||
	       found.first != last.first;
}

void preload_debug_list_read(void)
{
	const struct debug_entry *at;
	struct debug_entry entry;
	struct object *object;
	unsigned int nr = 0;

	if (!preload_debug_list_changed())
		return;
	last = now();
	for (object = objects; object; object = object->next)
		object->seen = false;
	for (at = last.first; at; at = entry.next) {
		/* It is changing just now: read it the next time. */
		if (++nr > MAX_OBJECTS || !preload_copy(&entry, at, sizeof(entry)))
			return;
		see(&entry);
	}
	forget_unseen();
}

__attribute__((__constructor__(102))) static void begin(void)
{
	list = preload_dlsym(RTLD_DEFAULT, "__jit_debug_descriptor");
	if (!list)
		dlerror();
}

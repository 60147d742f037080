// SPDX-License-Identifier: GPL-2.0
/*
 * Functions by their symbols, and which of them are in objects without SFrame: those
 * that come with the compiler.
 */
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "section.h"
#include "symbols.h"

static struct function *plain;
static size_t nr_plain;

typedef bool (*function_visitor)(const struct function *func, void *arg);

/* Calls @visit for all functions until it returns true. */
static bool visit_functions(Elf *elf, function_visitor visit, void *arg)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr shdr;
	GElf_Sym sym;
	size_t i;

	while ((scn = elf_nextscn(elf, scn))) {
		Elf_Data *data = elf_getdata(scn, NULL);

		if (!data || !gelf_getshdr(scn, &shdr) ||
		    shdr.sh_type != SHT_SYMTAB)
			continue;
		for (i = 0; gelf_getsym(data, i, &sym); i++) {
			struct function func = {
				elf_strptr(elf, shdr.sh_link, sym.st_name),
				sym.st_value, sym.st_size,
			};

			if (GELF_ST_TYPE(sym.st_info) == STT_FUNC &&
			    sym.st_shndx != SHN_UNDEF && func.name &&
			    visit(&func, arg))
				return true;
		}
	}

	return false;
}

static bool covers(const struct function *func, void *arg)
{
	struct function *found = arg;

	if (found->start - func->start >= func->size)
		return false;
	*found = *func;

	return true;
}

bool function_find(Elf *elf, u64 addr, struct function *found)
{
	*found = (struct function) { .start = addr };

	return visit_functions(elf, covers, found);
}

static bool keep_plain(const struct function *func, void *arg)
{
	struct function *more = realloc(plain, (nr_plain + 1) * sizeof(*more));

	(void)arg;
	if (!more)
		abort();
	plain = more;
	plain[nr_plain] = *func;
	plain[nr_plain++].name = strdup(func->name);

	return false;
}

/* The functions of the members of an archive that have no SFrame. */
bool plain_add(const char *path)
{
	size_t before = nr_plain;
	Elf *archive = elf_open(path), *elf;
	struct elf_section sec;

	if (!archive)
		return false;
	while ((elf = elf_begin(-1, ELF_C_READ_MMAP, archive))) {
		if (elf_kind(elf) == ELF_K_ELF &&
		    !elf_section(elf, ".sframe", &sec))
			visit_functions(elf, keep_plain, NULL);
		if (elf_next(elf) == ELF_C_NULL) {
			elf_end(elf);
			break;
		}
		elf_end(elf);
	}
	elf_end(archive);

	return nr_plain > before;
}

bool plain_has(const struct function *func)
{
	size_t i;

	for (i = 0; i < nr_plain; i++) {
		if (plain[i].size == func->size &&
		    !strcmp(plain[i].name, func->name))
			return true;
	}

	return false;
}

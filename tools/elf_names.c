// SPDX-License-Identifier: MIT
#include <dwarf.h>
#include <elfutils/libdwelf.h>
#include <elfutils/libdwfl.h>
#include <gelf.h>
#include <libiberty/demangle.h>
#include <stdlib.h>
#include <string.h>

#include "answer.h"
#include "elf_names.h"
#include "elf_scopes.h"
#include "elf_symbols.h"

#define PAGE	4096ULL

/* An image with its own libdwfl session. */
struct part {
	Dwfl *dwfl;
	Dwfl_Module *module;
	Elf *elf;
	struct elf_symbols *symbols;
	GElf_Addr bias;		/* from addresses of the file to those of libdwfl */
	Dwarf *dwarf;		/* NULL if it has none */
	struct elf_scopes *scopes;	/* NULL until something is looked up */
};

struct elf_names {
	struct part part[NR_IMAGES - 1];
	Elf *shared_elf;
	Dwarf *shared;
	struct elf_wanted wanted;
	GElf_Addr start;	/* of the object in memory */
};

/* ------------------------------------------------------------------- images */

/* They are in memory: see report(). */
static int take_elf(Dwfl_Module *module, void **userdata, const char *name, Dwarf_Addr base,
		    char **file_name, Elf **elf)
{
	(void)module;
	(void)name;
	(void)base;
	(void)file_name;
	*elf = *userdata;
	return -1;
}

static int find_nothing(Dwfl_Module *module, void **userdata, const char *name,
			Dwarf_Addr base, const char *file_name, const char *link,
			GElf_Word crc, char **found)
{
	(void)module;
	(void)userdata;
	(void)name;
	(void)base;
	(void)file_name;
	(void)link;
	(void)crc;
	(void)found;
	return -1;
}

static const Dwfl_Callbacks callbacks = {
	.find_elf	= take_elf,
	.find_debuginfo	= find_nothing,
};

static bool is_elf(Elf *elf)
{
	GElf_Ehdr header;

	return elf && elf_kind(elf) == ELF_K_ELF && gelf_getehdr(elf, &header) &&
	       (header.e_type == ET_EXEC || header.e_type == ET_DYN);
}

/* False if there are no loadable segments. */
static bool find_extent(Elf *elf, GElf_Addr *start, GElf_Addr *end)
{
	GElf_Phdr ph;
	size_t nr;

	*start = UINT64_MAX;
	*end = 0;
	if (elf_getphdrnum(elf, &nr))
		return false;
	for (size_t i = 0; i < nr; i++) {
		GElf_Addr last;

		if (!gelf_getphdr(elf, i, &ph) || ph.p_type != PT_LOAD ||
		    __builtin_add_overflow(ph.p_vaddr, ph.p_memsz, &last))
			continue;
		if (*start > (ph.p_vaddr & -PAGE))
			*start = ph.p_vaddr & -PAGE;
		if (*end < last)
			*end = last;
	}
	return *start < *end;
}

/* Takes over @elf. */
static bool report(struct part *part, Elf *elf)
{
	GElf_Addr start, end, bias;
	void **userdata;

	part->dwfl = is_elf(elf) && find_extent(elf, &start, &end) ? dwfl_begin(&callbacks) : NULL;
	if (!part->dwfl) {
		elf_end(elf);
		return false;
	}
	dwfl_report_begin(part->dwfl);
	part->module = dwfl_report_module(part->dwfl, "", start, end);
	if (!part->module) {
		elf_end(elf);
		return false;
	}
	dwfl_module_info(part->module, &userdata, NULL, NULL, NULL, NULL, NULL, NULL);
	*userdata = elf;
	dwfl_report_end(part->dwfl, NULL, NULL);
	part->elf = dwfl_module_getelf(part->module, &part->bias);
	if (!part->elf)
		return false;
	part->dwarf = dwfl_module_getdwarf(part->module, &bias);
	part->symbols = elf_symbols_new(part->module);
	return true;
}

static bool has_build_id(Elf *elf, const uint8_t *build_id, size_t len)
{
	const void *bits;

	return dwelf_elf_gnu_build_id(elf, &bits) == (ssize_t)len &&
	       !memcmp(bits, build_id, len);
}

static Elf *open_image(const struct image *image)
{
	return image->data ? elf_memory(image->data, image->size) : NULL;
}

/* ---------------------------------------------- separate debugging information */

/* Nobody has chosen it, so a wrong one is no error. */
static void want(struct elf_names *names, unsigned int image, const void *build_id,
		 ssize_t len, const char *name)
{
	if (len <= 0 || len > NAMES_MAX_BUILD_ID)
		return;
	names->wanted.image = image;
	names->wanted.build_id_len = len;
	memcpy(names->wanted.build_id, build_id, len);
	strncpy(names->wanted.name, name, sizeof(names->wanted.name) - 1);
}

static bool open_debug(struct elf_names *names, const struct image *image)
{
	Elf *elf = open_image(image);
	const void *bits;
	ssize_t len;

	len = dwelf_elf_gnu_build_id(names->part[IMAGE_FILE].elf, &bits);
	if (len > 0 && elf && has_build_id(elf, bits, len))
		return report(&names->part[IMAGE_DEBUG], elf);
	elf_end(elf);
	want(names, IMAGE_DEBUG, bits, len, "");
	return false;
}

static void open_shared(struct elf_names *names, Dwarf *dwarf, const struct image *image)
{
	const char *name;
	const void *bits;
	ssize_t len = dwelf_dwarf_gnu_debugaltlink(dwarf, &name, &bits);

	if (len <= 0)
		return;
	names->shared_elf = open_image(image);
	if (names->shared_elf && has_build_id(names->shared_elf, bits, len))
		names->shared = dwarf_begin_elf(names->shared_elf, DWARF_C_READ, NULL);
	if (names->shared)
		dwarf_setalt(dwarf, names->shared);
	else
		want(names, IMAGE_SHARED, bits, len, name);
}

struct elf_names *elf_names_open(struct image images[NR_IMAGES], const uint8_t *build_id,
				 size_t build_id_len)
{
	struct elf_names *names = calloc(1, sizeof(*names));
	struct part *file, *debug;
	GElf_Addr end;

	elf_version(EV_CURRENT);
	if (!names)
		return NULL;
	file = &names->part[IMAGE_FILE];
	debug = &names->part[IMAGE_DEBUG];
	names->wanted.image = NR_IMAGES;
	if (!report(file, open_image(&images[IMAGE_FILE])) ||
	    !find_extent(file->elf, &names->start, &end) ||
	    (build_id_len && !has_build_id(file->elf, build_id, build_id_len))) {
		elf_names_close(names);
		return NULL;
	}
	if (!file->dwarf)
		open_debug(names, &images[IMAGE_DEBUG]);
	if (file->dwarf || debug->dwarf)
		open_shared(names, file->dwarf ? file->dwarf : debug->dwarf,
			    &images[IMAGE_SHARED]);
	return names;
}

/* A file that shares parts of another one is closed first. */
void elf_names_close(struct elf_names *names)
{
	for (size_t i = 0; i < NR_IMAGES - 1; i++) {
		elf_symbols_free(names->part[i].symbols);
		elf_scopes_free(names->part[i].scopes);
		dwfl_end(names->part[i].dwfl);
	}
	dwarf_end(names->shared);
	elf_end(names->shared_elf);
	free(names);
}

size_t elf_names_build_id(const struct elf_names *names, const void **bits)
{
	ssize_t len = dwelf_elf_gnu_build_id(names->part[IMAGE_FILE].elf, bits);

	return len > 0 ? len : 0;
}

void elf_names_wanted(const struct elf_names *names, struct elf_wanted *wanted)
{
	*wanted = names->wanted;
}

/* -------------------------------------------------------------------- symbols */

/* Also NULL without memory. */
static char *demangle(const char *name)
{
	char *plain = strnlen(name, ANSWER_MAX_TEXT) < ANSWER_MAX_TEXT ?
		      cplus_demangle(name, DMGL_AUTO | DMGL_NO_OPTS) : NULL;

	return plain ? plain : strndup(name, ANSWER_MAX_TEXT);
}

static bool set_name(struct symbol *symbol, const char *name, uint64_t offset)
{
	if (!name || !*name)
		return false;
	symbol->name = demangle(name);
	symbol->offset = offset;
	return true;
}

static bool find_name(const struct part *part, uint64_t address, struct symbol *symbol)
{
	uint64_t distance = 0;
	const char *name = elf_symbols_find(part->symbols, address + part->bias, &distance);

	return set_name(symbol, name, distance);
}

/* What comes after a symbol without a size, as in assembly. */
static bool find_label(const struct part *part, uint64_t address, struct symbol *symbol)
{
	const char *name = NULL;
	GElf_Off offset = 0;
	GElf_Sym sym;

	if (part->elf)
		name = dwfl_module_addrinfo(part->module, address + part->bias, &offset, &sym,
					    NULL, NULL, NULL);
	return set_name(symbol, name, offset);
}

/* -------------------------------------------------------- debugging information */

static char *copy(const char *text)
{
	return text ? strndup(text, ANSWER_MAX_TEXT) : NULL;
}

/* A place in the source of a unit. */
struct place {
	Dwarf_Die *unit;
	const char *source;
	int line;
};

/* With the directory of the unit, if the compiler has left it out. */
static char *source_of(const struct place *place)
{
	Dwarf_Attribute attribute;
	const char *dir = NULL;
	char *path;

	if (place->source && *place->source != '/')
		dir = dwarf_formstring(dwarf_attr(place->unit, DW_AT_comp_dir, &attribute));
	if (!dir || strnlen(dir, ANSWER_MAX_TEXT) == ANSWER_MAX_TEXT)
		return copy(place->source);
	return asprintf(&path, "%s/%.*s", dir, ANSWER_MAX_TEXT, place->source) < 0 ? NULL : path;
}

static struct place place_of(Dwarf_Die *unit, Dwarf_Addr address)
{
	Dwarf_Line *line = dwarf_getsrc_die(unit, address);
	struct place place = { .unit = unit };

	if (line && !dwarf_lineno(line, &place.line))
		place.source = dwarf_linesrc(line, NULL, NULL);
	return place;
}

static Dwarf_Word number_of(Dwarf_Die *die, unsigned int name)
{
	Dwarf_Attribute attribute;
	Dwarf_Word value;

	return dwarf_formudata(dwarf_attr(die, name, &attribute), &value) ? 0 : value;
}

static struct place call_of(Dwarf_Die *unit, Dwarf_Die *inlined)
{
	struct place place = { unit, NULL, number_of(inlined, DW_AT_call_line) };
	Dwarf_Files *files;
	size_t nr;

	if (!dwarf_getsrcfiles(unit, &files, &nr))
		place.source = dwarf_filesrc(files, number_of(inlined, DW_AT_call_file),
					     NULL, NULL);
	return place;
}

static char *name_of(Dwarf_Die *die)
{
	Dwarf_Attribute attribute;
	const char *name;

	name = dwarf_formstring(dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute));
	if (!name)
		name = dwarf_diename(die);
	return name && *name ? demangle(name) : strdup("??");
}

static void add_inlined(struct symbol *symbol, Dwarf_Die *die, struct place place)
{
	char *name = name_of(die);
	struct function *functions;

	functions = reallocarray(symbol->inlined, symbol->nr_inlined + 1, sizeof(*functions));
	if (!functions || !name) {
		free(name);
		return;
	}
	symbol->inlined = functions;
	functions[symbol->nr_inlined++] = (struct function){
		name, source_of(&place), place.line,
	};
}

/* Names the function itself, unless its symbol has done so. */
static void name_by_die(struct symbol *symbol, Dwarf_Die *die, Dwarf_Addr address)
{
	Dwarf_Addr start;

	if (symbol->name || dwarf_lowpc(die, &start) || start > address)
		return;
	symbol->name = name_of(die);
	symbol->offset = address - start;
}

/* The call site of a function is in the one around it. */
static void find_source(struct part *part, uint64_t address, struct symbol *symbol)
{
	Dwarf_Die function, inlined[ANSWER_MAX_INLINED], *unit;
	struct place place;
	bool found;

	if (!part->scopes)
		part->scopes = elf_scopes_new(part->dwarf);
	unit = part->scopes ? elf_scopes_find(part->scopes, address, &function, &found) : NULL;
	if (!unit)
		return;
	place = place_of(unit, address);
	if (found) {
		size_t nr = elf_scopes_inlined(&function, address, inlined, ARRAY_SIZE(inlined));

		while (nr--) {
			add_inlined(symbol, &inlined[nr], place);
			place = call_of(unit, &inlined[nr]);
		}
		name_by_die(symbol, &function, address);
	}
	symbol->source = source_of(&place);
	symbol->line = place.line;
}

/* -------------------------------------------------------------------- offsets */

/* Segments may share a page of the file: code takes precedence. */
static bool address_of(Elf *elf, uint64_t offset, uint64_t *address)
{
	bool found = false;
	GElf_Phdr ph;
	size_t nr;

	if (elf_getphdrnum(elf, &nr))
		return false;
	for (size_t i = 0; i < nr; i++) {
		if (!gelf_getphdr(elf, i, &ph) || ph.p_type != PT_LOAD ||
		    offset < ph.p_offset || offset - ph.p_offset >= ph.p_filesz)
			continue;
		*address = ph.p_vaddr + (offset - ph.p_offset);
		found = true;
		if (ph.p_flags & PF_X)
			break;
	}
	return found;
}

struct symbol elf_names_find(struct elf_names *names, uint32_t unit, uint64_t offset)
{
	struct part *file = &names->part[IMAGE_FILE], *debug = &names->part[IMAGE_DEBUG];
	uint64_t address = names->start + offset;
	struct symbol symbol = { 0 };

	if (unit == UNIT_FILE && !address_of(file->elf, offset, &address))
		return symbol;
	if (!find_name(debug, address, &symbol))
		find_name(file, address, &symbol);
	if (file->dwarf)
		find_source(file, address, &symbol);
	else if (debug->dwarf)
		find_source(debug, address, &symbol);
	if (!symbol.name && !find_label(debug, address, &symbol))
		find_label(file, address, &symbol);
	return symbol;
}

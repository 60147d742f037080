// SPDX-License-Identifier: MIT
#include <stdbool.h>
#include <stdlib.h>

#include "elf_symbols.h"

struct sized_symbol {
	uint64_t start, end;
	uint64_t reach;		/* the highest @end up to here */
	const char *name;
	int binding;		/* higher is better */
	int number;		/* in the file */
};

struct elf_symbols {
	size_t nr;
	struct sized_symbol symbol[];
};

static int rank_of(unsigned char info)
{
	switch (GELF_ST_BIND(info)) {
	case STB_GLOBAL:
		return 2;
	case STB_WEAK:
		return 1;
	default:
		return 0;
	}
}

/* Of those that start at the same place the best comes last. */
static int by_start(const void *one, const void *other)
{
	const struct sized_symbol *a = one, *b = other;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	if (a->binding != b->binding)
		return a->binding < b->binding ? -1 : 1;
	return a->number > b->number ? -1 : 1;
}

static bool covers_memory(const GElf_Sym *symbol)
{
	switch (GELF_ST_TYPE(symbol->st_info)) {
	case STT_FUNC:
	case STT_OBJECT:
	case STT_GNU_IFUNC:
	case STT_NOTYPE:
		return symbol->st_shndx != SHN_UNDEF && symbol->st_size;
	default:
		return false;
	}
}

static bool read_symbol(Dwfl_Module *module, int number, struct sized_symbol *symbol)
{
	GElf_Addr address = 0;
	GElf_Sym sym = { 0 };
	const char *name = dwfl_module_getsym_info(module, number, &sym, &address, NULL, NULL,
						   NULL);

	*symbol = (struct sized_symbol){
		.start = address, .name = name, .binding = rank_of(sym.st_info),
		.number = number,
	};
	return name && *name && covers_memory(&sym) &&
	       !__builtin_add_overflow(address, sym.st_size, &symbol->end);
}

struct elf_symbols *elf_symbols_new(Dwfl_Module *module)
{
	int all = dwfl_module_getsymtab(module);
	struct elf_symbols *symbols;
	uint64_t reach = 0;

	if (all <= 0)
		return NULL;
	symbols = calloc(1, sizeof(*symbols) + all * sizeof(symbols->symbol[0]));
	if (!symbols)
		return NULL;
	for (int i = 0; i < all; i++)
		symbols->nr += read_symbol(module, i, &symbols->symbol[symbols->nr]);
	qsort(symbols->symbol, symbols->nr, sizeof(symbols->symbol[0]), by_start);
	for (size_t i = 0; i < symbols->nr; i++) {
		if (symbols->symbol[i].end > reach)
			reach = symbols->symbol[i].end;
		symbols->symbol[i].reach = reach;
	}
	return symbols;
}

void elf_symbols_free(struct elf_symbols *symbols)
{
	free(symbols);
}

const char *elf_symbols_find(const struct elf_symbols *symbols, uint64_t address,
			     uint64_t *distance)
{
	size_t low = 0, high = symbols ? symbols->nr : 0;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (symbols->symbol[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	while (low-- > 0 && symbols->symbol[low].reach > address) {
		const struct sized_symbol *symbol = &symbols->symbol[low];

		if (symbol->end <= address)
			continue;
		*distance = address - symbol->start;
		return symbol->name;
	}
	return NULL;
}

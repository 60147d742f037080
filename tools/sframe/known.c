// SPDX-License-Identifier: MIT
#include <gelf.h>
#include <string.h>

#include "../tool.h"
#include "known.h"

/* Functions that Go's linker marks as topmost in its own table: TOPFRAME. */
static const char * const names[] = {
	"runtime.goexit", "runtime.goexit.abi0", "runtime.mstart", "runtime.mstart.abi0",
	"runtime.rt0_go", "runtime.rt0_go.abi0",
};

/* The registers that uc_mcontext has of the interrupted code, from the stack pointer on. */
const struct row known_restorer = {
	.flags = ROW_SIGNAL,
	.cfa = { LOC_WORD, REG_SP, 0, 160 },
	.ra = { LOC_WORD, REG_SP, 0, 168 },
	.fp = { LOC_WORD, REG_SP, 0, 120 },
};

bool known_is_restorer(const uint8_t *code)
{
	/* mov $__NR_rt_sigreturn,%rax; syscall */
	static const uint8_t restorer[KNOWN_RESTORER_SIZE] = {
		0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05,
	};

	return !memcmp(code, restorer, sizeof(restorer));
}

static bool is_named(const char *name)
{
	for (size_t i = 0; name && i < ARRAY_SIZE(names); i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

static void read_symbols(Elf *elf, Elf_Scn *scn, const GElf_Shdr *header,
			 struct topmost *topmost)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	GElf_Sym symbol;

	for (size_t i = 0; data && i < data->d_size / sizeof(Elf64_Sym); i++)
		if (gelf_getsym(data, i, &symbol) && topmost->nr < MAX_TOPMOST &&
		    GELF_ST_TYPE(symbol.st_info) == STT_FUNC &&
		    is_named(elf_strptr(elf, header->sh_link, symbol.st_name)))
			topmost->start[topmost->nr++] = symbol.st_value;
}

void known_find_topmost(Elf *elf, struct topmost *topmost)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr header;

	topmost->nr = 0;
	while ((scn = elf_nextscn(elf, scn)))
		if (gelf_getshdr(scn, &header) && header.sh_type == SHT_SYMTAB)
			read_symbols(elf, scn, &header, topmost);
}

bool known_is_topmost(const struct topmost *topmost, uint64_t start)
{
	for (size_t i = 0; i < topmost->nr; i++)
		if (topmost->start[i] == start)
			return true;
	return false;
}

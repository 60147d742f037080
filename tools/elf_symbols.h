/* SPDX-License-Identifier: MIT */
/*
 * The symbols of functions and variables of a module, by address: libdwfl searches all
 * of them for each address, which takes minutes for many addresses of a large program.
 */
#ifndef ELF_SYMBOLS_H
#define ELF_SYMBOLS_H

#include <elfutils/libdwfl.h>
#include <stdint.h>

struct elf_symbols;

/* NULL without memory, or without symbols. */
struct elf_symbols *elf_symbols_new(Dwfl_Module *module);
void elf_symbols_free(struct elf_symbols *symbols);

/*
 * The name of the symbol that covers @address of libdwfl, and the distance from its
 * start; NULL if none does.  A symbol without a size covers nothing.
 */
const char *elf_symbols_find(const struct elf_symbols *symbols, uint64_t address,
			     uint64_t *distance);

#endif

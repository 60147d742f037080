/* SPDX-License-Identifier: MIT */
/*
 * Functions in debugging information by address: of any compiler, including those in
 * namespaces and types, where dwarf_getscopes() does not look; and without searching a
 * whole unit for each address.
 */
#ifndef ELF_SCOPES_H
#define ELF_SCOPES_H

#include <elfutils/libdw.h>
#include <stdbool.h>

struct elf_scopes;

/* NULL without memory; @dwarf stays the caller's. */
struct elf_scopes *elf_scopes_new(Dwarf *dwarf);
void elf_scopes_free(struct elf_scopes *scopes);

/*
 * The unit that covers @address, or NULL, and the function in it; false if that is
 * unknown.
 */
Dwarf_Die *elf_scopes_find(struct elf_scopes *scopes, Dwarf_Addr address, Dwarf_Die *function,
			   bool *found);

/* The functions inlined into the function there, the outermost first; returns how many. */
size_t elf_scopes_inlined(const Dwarf_Die *function, Dwarf_Addr address, Dwarf_Die *inlined,
			  size_t max);

#endif

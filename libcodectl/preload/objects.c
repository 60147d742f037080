// SPDX-License-Identifier: MIT
/*
 * The objects of the process that have no SFrame of their own, with detached tables.
 *
 * The kernel drops unloaded objects by itself, as their text is unmapped.
 */
#include <errno.h>

#include "../src/internal.h"
#include "preload.h"

/**
 * struct known - an object that has been looked at
 * @next: the next one
 * @phdr: its program headers, which identify it
 * @bias: its load bias
 * @table: its table, if any
 * @seen: whether it is still there
 */
struct known {
	struct known *next;
	const void *phdr;
	uint64_t bias;
	struct preload_table table;
	bool seen;
};

_Static_assert(sizeof(struct known) <= PRELOAD_CELL, "it is in a cell");

static struct known *known;
static unsigned long long adds, subs;

/* The dynamic linker, or the kernel, may have registered it without a table. */
static int register_text(const struct code_elf_info *info, const Elf64_Phdr *ph,
			 uint64_t bias)
{
	struct code_elf_info without = *info;
	int ret = codectl_syscall(CODE_REGISTER_ELF, info, sizeof(*info), 0);

	if (ret != -EEXIST || codectl_elf_unregister_text(ph, bias))
		return ret;
	ret = codectl_syscall(CODE_REGISTER_ELF, info, sizeof(*info), 0);
	if (!ret)
		return 0;
	without.sframe_start = 0;
	without.sframe_end = 0;
	without.sframe_addr = 0;
	codectl_syscall(CODE_REGISTER_ELF, &without, sizeof(without), 0);

	return ret;
}

static bool register_object(const struct dl_phdr_info *object,
			    const struct preload_table *table,
			    struct code_elf_info info)
{
	bool any = false;

	info.sframe_start = table->start;
	info.sframe_end = table->end;
	info.sframe_addr = table->addr + object->dlpi_addr;
	for (int i = 0; i < object->dlpi_phnum; i++) {
		const Elf64_Phdr *ph = &object->dlpi_phdr[i];

		if (!codectl_elf_is_text(ph))
			continue;
		info.text_start = object->dlpi_addr + ph->p_vaddr;
		info.text_end = info.text_start + ph->p_memsz;
		any |= !register_text(&info, ph, object->dlpi_addr);
	}

	return any;
}

static void meet(const struct dl_phdr_info *object)
{
	struct known *k = preload_cell();
	struct code_elf_info info;

	if (!k)
		return;
	*k = (struct known) {
		.next = known, .phdr = object->dlpi_phdr,
		.bias = object->dlpi_addr, .seen = true,
	};
	known = k;
	codectl_elf_describe(object->dlpi_phdr, object->dlpi_phnum,
			     object->dlpi_addr, &info);
	/* It has a section of its own. */
	if (info.sframe_start || !preload_table_map(object, &k->table))
		return;
	if (register_object(object, &k->table, info))
		return;
	preload_table_unmap(&k->table);
	k->table.map = NULL;
}

static int look(struct dl_phdr_info *object, size_t size, void *arg)
{
	bool *changed = arg;
	struct known *k;

	(void)size;
	if (!*changed && object->dlpi_adds == adds && object->dlpi_subs == subs)
		return 1;
	for (k = known; k && !*changed; k = k->next)
		k->seen = false;
	*changed = true;
	adds = object->dlpi_adds;
	subs = object->dlpi_subs;
	for (k = known; k; k = k->next) {
		if (k->phdr != object->dlpi_phdr || k->bias != object->dlpi_addr)
			continue;
		k->seen = true;
		return 0;
	}
	meet(object);

	return 0;
}

/* Of objects that have gone only the tables are left to free. */
static void forget_unseen(void)
{
	struct known **at = &known, *k;

	while ((k = *at)) {
		if (k->seen) {
			at = &k->next;
			continue;
		}
		*at = k->next;
		if (k->table.map)
			preload_table_unmap(&k->table);
		preload_cell_free(k);
	}
}

void preload_objects_read(void)
{
	bool changed = false;

	dl_iterate_phdr(look, &changed);
	if (changed)
		forget_unseen();
}

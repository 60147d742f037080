// SPDX-License-Identifier: MIT
/*
 * The objects of the process that have no SFrame of their own, with detached tables.
 *
 * What is unloaded the kernel drops by itself, as its text is unmapped.
 */
#include <elf.h>
#include <errno.h>
#include <stdlib.h>

#include "preload.h"

#ifndef PT_GNU_SFRAME
#define PT_GNU_SFRAME	0x6474e554
#endif

/**
 * struct known - an object that was looked at
 * @next: the next one
 * @phdr: its program headers, by which it is known
 * @bias: its load bias
 * @table: its table, or nothing
 * @seen: whether it is there still
 */
struct known {
	struct known *next;
	const void *phdr;
	uint64_t bias;
	struct preload_table table;
	bool seen;
};

static struct known *known;
static unsigned long long adds, subs;

static bool has_sframe(const struct dl_phdr_info *object)
{
	for (int i = 0; i < object->dlpi_phnum; i++)
		if (object->dlpi_phdr[i].p_type == PT_GNU_SFRAME)
			return true;

	return false;
}

/* What is the same for all its segments. */
static struct code_elf_info describe(const struct dl_phdr_info *object,
				     const struct preload_table *table)
{
	struct code_elf_info info = {
		.elf_start = UINT64_MAX,
		.sframe_start = table->start,
		.sframe_end = table->end,
		.sframe_addr = table->addr + object->dlpi_addr,
	};

	for (int i = 0; i < object->dlpi_phnum; i++) {
		const Elf64_Phdr *ph = &object->dlpi_phdr[i];
		uint64_t start = object->dlpi_addr + ph->p_vaddr;
		uint64_t end = (start + ph->p_memsz + 4095) & -4096UL;

		if (ph->p_type != PT_LOAD)
			continue;
		start &= -4096UL;
		if (info.elf_start > start)
			info.elf_start = start;
		if (info.elf_end < end)
			info.elf_end = end;
	}

	return info;
}

static int unregister_text(uint64_t start, uint64_t end)
{
	const struct code_unregister_info info = {
		.text_start = start, .text_end = end,
	};

	return codectl_syscall(CODE_UNREGISTER, &info, sizeof(info), 0);
}

/* The dynamic linker, or the kernel, may have registered it without a table. */
static int register_text(const struct code_elf_info *info)
{
	struct code_elf_info without = *info;
	int ret = codectl_syscall(CODE_REGISTER_ELF, info, sizeof(*info), 0);

	if (ret != -EEXIST || unregister_text(info->text_start, info->text_end))
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
			    const struct preload_table *table)
{
	struct code_elf_info info = describe(object, table);
	bool any = false;

	for (int i = 0; i < object->dlpi_phnum; i++) {
		const Elf64_Phdr *ph = &object->dlpi_phdr[i];

		if (ph->p_type != PT_LOAD || !(ph->p_flags & PF_X) || !ph->p_memsz)
			continue;
		info.text_start = object->dlpi_addr + ph->p_vaddr;
		info.text_end = info.text_start + ph->p_memsz;
		any |= !register_text(&info);
	}

	return any;
}

static void meet(const struct dl_phdr_info *object)
{
	struct known *k = calloc(1, sizeof(*k));

	if (!k)
		return;
	*k = (struct known) {
		.next = known, .phdr = object->dlpi_phdr,
		.bias = object->dlpi_addr, .seen = true,
	};
	known = k;
	if (has_sframe(object) || !preload_table_map(object, &k->table))
		return;
	if (register_object(object, &k->table))
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

/* Of those that have gone the tables are left. */
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
		free(k);
	}
}

void preload_objects_read(void)
{
	bool changed = false;

	dl_iterate_phdr(look, &changed);
	if (changed)
		forget_unseen();
}

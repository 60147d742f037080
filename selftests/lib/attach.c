// SPDX-License-Identifier: GPL-2.0
#include <fcntl.h>
#include <link.h>

#include "attach.h"

#ifndef PT_GNU_SFRAME
#define PT_GNU_SFRAME 0x6474e554
#endif

int attach_file(const struct code_file_info *info)
{
	return sys_codectl(CODE_ATTACH_FILE, info, sizeof(*info), 0);
}

struct search {
	uint64_t addr;
	struct attach_args *args;
	bool found;
};

static void add_segment(struct attach_args *args, const ElfW(Phdr) *phdr)
{
	struct code_file_segment *segment;

	if (args->info.nr_segments == ATTACH_MAX_SEGMENTS)
		return;
	segment = &args->segments[args->info.nr_segments++];
	segment->offset = phdr->p_offset;
	segment->len = phdr->p_filesz;
	segment->vaddr = phdr->p_vaddr;
}

static int fill_args(const struct dl_phdr_info *object, struct attach_args *args)
{
	const char *path = *object->dlpi_name ? object->dlpi_name : "/proc/self/exe";

	memset(args, 0, sizeof(*args));
	args->info.segments = addr_of(args->segments);
	for (int i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *phdr = &object->dlpi_phdr[i];

		if (phdr->p_type == PT_LOAD && (phdr->p_flags & PF_X))
			add_segment(args, phdr);
		if (phdr->p_type != PT_GNU_SFRAME)
			continue;
		args->info.table = object->dlpi_addr + phdr->p_vaddr;
		args->info.table_len = phdr->p_memsz;
		args->info.table_addr = phdr->p_vaddr;
	}
	if (!args->info.table)
		return -1;
	args->info.fd = open(path, O_RDONLY | O_CLOEXEC);
	return args->info.fd < 0 ? -1 : 0;
}

static bool covers(const struct dl_phdr_info *object, uint64_t addr)
{
	for (int i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *phdr = &object->dlpi_phdr[i];

		if (phdr->p_type == PT_LOAD &&
		    addr - object->dlpi_addr - phdr->p_vaddr < phdr->p_memsz)
			return true;
	}
	return false;
}

static int search_object(struct dl_phdr_info *object, size_t size, void *data)
{
	struct search *s = data;

	if (!covers(object, s->addr))
		return 0;
	s->found = !fill_args(object, s->args);
	return 1;
}

int attach_args_of(const void *addr, struct attach_args *args)
{
	struct search s = { .addr = addr_of(addr), .args = args };

	dl_iterate_phdr(search_object, &s);
	return s.found ? 0 : -1;
}

static int attach_object(struct dl_phdr_info *object, size_t size, void *data)
{
	struct attach_args args;
	int attached, *nr = data;

	/* The vDSO has no file. */
	if (fill_args(object, &args))
		return 0;
	attached = attach_file(&args.info);
	close(args.info.fd);
	/* A program that this one executes inherits it. */
	*nr = attached < 0 && attached != -EEXIST ? -1 : *nr + 1;
	return *nr < 0;
}

int attach_loaded(void)
{
	int nr = 0;

	dl_iterate_phdr(attach_object, &nr);
	return nr;
}

static int touch_table(struct dl_phdr_info *object, size_t size, void *sum)
{
	for (int i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *phdr = &object->dlpi_phdr[i];
		const volatile char *table = (void *)(object->dlpi_addr + phdr->p_vaddr);

		if (phdr->p_type != PT_GNU_SFRAME)
			continue;
		for (size_t at = 0; at < phdr->p_memsz; at += PAGE)
			*(char *)sum += table[at];
		*(char *)sum += table[phdr->p_memsz - 1];
	}
	return 0;
}

void touch_tables(void)
{
	char sum = 0;

	dl_iterate_phdr(touch_table, &sum);
}

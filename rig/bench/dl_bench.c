// SPDX-License-Identifier: GPL-2.0
/*
 * The cost of opening and closing a library:
 *
 *	dl_bench CASE SIZE LIBRARY
 *
 * and, if the library was registered, of only registering its text again and unregistering it.
 * The result is called SIZE-CASE.
 */
#include <dlfcn.h>
#include <link.h>

#include "codectl_test.h"
#include "bench.h"

#define ROUNDS	9
#define RUNS	20

static double open_and_close(void *path)
{
	uint64_t from = ticks();

	for (int i = 0; i < RUNS; i++) {
		void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);

		if (!handle) {
			fprintf(stderr, "%s\n", dlerror());
			exit(2);
		}
		dlclose(handle);
	}
	return (double)(ticks() - from) / RUNS;
}

static double register_and_unregister(void *arg)
{
	struct code_elf_info *info = arg;
	uint64_t from = ticks();

	for (int i = 0; i < RUNS; i++)
		if (register_elf(info) ||
		    unregister_text(info->text_start, info->text_end))
			die("codectl");
	return (double)(ticks() - from) / RUNS;
}

/* As ld.so describes an object with one executable segment. */
static struct code_elf_info describe(void *handle)
{
	struct code_elf_info info = { .elf_start = UINT64_MAX };
	const Elf64_Phdr *ph;
	const Elf64_Ehdr *elf;
	struct link_map *map;

	if (dlinfo(handle, RTLD_DI_LINKMAP, &map))
		die("dlinfo");
	elf = (const void *)map->l_addr;
	ph = (const void *)(map->l_addr + elf->e_phoff);
	for (int i = 0; i < elf->e_phnum; i++, ph++) {
		uint64_t start = map->l_addr + ph->p_vaddr;
		uint64_t end = start + ph->p_memsz;

		if (ph->p_type == PT_GNU_SFRAME) {
			info.sframe_start = start;
			info.sframe_end = end;
		} else if (ph->p_type == PT_LOAD) {
			if (info.elf_start > start)
				info.elf_start = start & -PAGE;
			info.elf_end = (end + PAGE - 1) & -PAGE;
			if (ph->p_flags & PF_X) {
				info.text_start = start;
				info.text_end = end;
			}
		}
	}
	return info;
}

static void bench_calls(const char *who, const char *path)
{
	void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	struct code_elf_info info = describe(handle);

	if (unregister_text(info.text_start, info.text_end))
		return;
	result("register", who, 0,
	       least(register_and_unregister, &info, ROUNDS), "insns");
	dlclose(handle);
}

int main(int argc, char **argv)
{
	char who[64];

	if (argc != 4) {
		fprintf(stderr, "usage: dl_bench CASE SIZE LIBRARY\n");
		return 2;
	}
	snprintf(who, sizeof(who), "%s-%s", argv[2], argv[1]);
	result("dlopen", who, 0, least(open_and_close, argv[3], ROUNDS),
	       "insns");
	bench_calls(argv[2], argv[3]);
	return 0;
}

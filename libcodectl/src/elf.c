// SPDX-License-Identifier: MIT
/*
 * Registration of ELF objects, as the dynamic linker does it.
 */
#include <errno.h>

#include "internal.h"

#ifndef PT_GNU_SFRAME
#define PT_GNU_SFRAME 0x6474e554
#endif

bool codectl_elf_is_text(const Elf64_Phdr *ph)
{
	return ph->p_type == PT_LOAD && (ph->p_flags & PF_X) && ph->p_memsz;
}

/* What all segments share; the kernel finds the names itself. */
void codectl_elf_describe(const Elf64_Phdr *phdr, size_t phnum, uint64_t bias,
			  struct code_elf_info *info)
{
	const Elf64_Phdr *ph;

	*info = (struct code_elf_info) { .elf_start = UINT64_MAX };
	for (ph = phdr; ph < phdr + phnum; ph++) {
		uint64_t start = bias + ph->p_vaddr;
		uint64_t end = start + ph->p_memsz;

		if (!ph->p_memsz)
			continue;
		if (ph->p_type == PT_GNU_SFRAME) {
			info->sframe_start = start;
			info->sframe_end = end;
		}
		if (ph->p_type != PT_LOAD)
			continue;
		start &= -CODECTL_PAGE;
		end = (end + CODECTL_PAGE - 1) & -CODECTL_PAGE;
		if (info->elf_start > start)
			info->elf_start = start;
		if (info->elf_end < end)
			info->elf_end = end;
	}
}

int codectl_elf_unregister_text(const Elf64_Phdr *ph, uint64_t bias)
{
	struct code_unregister_info info = {
		.text_start = bias + ph->p_vaddr,
		.text_end = bias + ph->p_vaddr + ph->p_memsz,
	};

	return codectl_syscall(CODE_UNREGISTER, &info, sizeof(info), 0);
}

/* A kernel without the call, or a filter that hides it, is no failure. */
static int without_codectl(int ret)
{
	return ret == -ENOSYS || ret == -EPERM ? 0 : ret;
}

int codectl_elf_register(const void *phdr, size_t phnum, uint64_t bias)
{
	const Elf64_Phdr *first = phdr, *ph;
	struct code_elf_info info;
	int ret;

	codectl_elf_describe(phdr, phnum, bias, &info);
	for (ph = first; ph < first + phnum; ph++) {
		if (!codectl_elf_is_text(ph))
			continue;
		info.text_start = bias + ph->p_vaddr;
		info.text_end = info.text_start + ph->p_memsz;
		ret = codectl_syscall(CODE_REGISTER_ELF, &info, sizeof(info),
				      0);
		if (ret)
			goto undo;
	}

	return 0;
undo:
	while (--ph >= first) {
		if (codectl_elf_is_text(ph))
			codectl_elf_unregister_text(ph, bias);
	}

	return without_codectl(ret);
}

int codectl_elf_unregister(const void *phdr, size_t phnum, uint64_t bias)
{
	const Elf64_Phdr *first = phdr, *ph;
	int ret = 0, err;

	for (ph = first; ph < first + phnum; ph++) {
		if (!codectl_elf_is_text(ph))
			continue;
		err = codectl_elf_unregister_text(ph, bias);
		if (!ret)
			ret = err;
	}

	return without_codectl(ret);
}

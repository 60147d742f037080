/* SPDX-License-Identifier: MIT */
/*
 * codectl(2), for kernels without it: a filter of system calls hands it to the process
 * itself, which keeps track of what is registered.
 */
#ifndef CODECTL_STAND_IN_H
#define CODECTL_STAND_IN_H

#include <elf.h>
#include <stddef.h>
#include <stdint.h>

/* From here on the call works in this process and its children. */
void stand_in(void);

/* From here on it fails with @error. */
void stand_in_refuse(int error);

/* What is registered with text from @text on. */
struct stand_in_entry {
	uint64_t text_start;
	uint64_t text_end;
	uint64_t elf_start;
	uint64_t elf_end;
	uint64_t sframe_start;
	uint64_t unwind_head;
};

/* Whether there is such an entry; in a kernel that has the call, too. */
int stand_in_find(uint64_t text, struct stand_in_entry *entry);

/* The program headers of this program, their number, and its load bias. */
const Elf64_Phdr *this_program_phdr(size_t *phnum, uint64_t *bias);

#endif /* CODECTL_STAND_IN_H */

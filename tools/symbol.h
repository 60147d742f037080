/* SPDX-License-Identifier: MIT */
/*
 * Names of functions, by libdwfl: of a process that runs, and of a file.
 */
#ifndef SYMBOL_H
#define SYMBOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct symbol {
	char *name;		/* escaped; NULL if there is none */
	uint64_t offset;	/* of the address, from its start */
};

struct symbol_process;
struct symbol_file;

/* Exits if the mappings of the process cannot be read. */
struct symbol_process *symbol_process_open(pid_t pid);
void symbol_process_close(struct symbol_process *process);
struct symbol symbol_in_process(struct symbol_process *process,
				uint64_t address);

/* NULL unless @path is an ELF file that has this build-id. */
struct symbol_file *symbol_file_open(const char *path, const uint8_t *build_id,
				     size_t build_id_len);
void symbol_file_close(struct symbol_file *file);

/* At an offset in the file, or one from where the object starts in memory. */
struct symbol symbol_at_offset(struct symbol_file *file, uint64_t offset);
struct symbol symbol_from_start(struct symbol_file *file, uint64_t offset);

/* A file with the vDSO of this kernel, as a string of the caller's. */
char *symbol_vdso_path(void);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Names of functions: in files that processes have mapped, and in perf maps.
 *
 * Nobody knows what is in these, or who serves them.  For each owner of processes one
 * process opens them, which no other owner's files wait for; a process without privileges
 * reads them.
 */
#ifndef SYMBOL_H
#define SYMBOL_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "trace_record.h"

/* Of a function that was compiled into another one, or of which there is one. */
struct function {
	char *name;		/* escaped and demangled */
	char *source;		/* the file, escaped; NULL if that is not known */
	uint32_t line;
};

/*
 * What is at an address.  @inlined: those that were compiled into the one of the symbol, the
 * innermost first, and where in each.
 */
struct symbol {
	char *name;		/* escaped and demangled; NULL if there is none */
	uint64_t offset;	/* of the address, from its start */
	char *source;		/* where in it, as above */
	uint32_t line;
	struct function *inlined;
	size_t nr_inlined;
};

void symbol_free(struct symbol *symbol);

/* Set by a handler of signals: nobody waits for names any more. */
extern volatile sig_atomic_t symbols_stop;

struct symbols;
struct symbol_file;

struct symbols *symbols_new(void);
void symbols_free(struct symbols *symbols);

/*
 * A file of the process @pid, which may have ended: what it has mapped of the device and
 * inode of @record, or what has its path there, or here if it has ended.  It has no names
 * unless it has the build-id of @record, which may lack one if it has a device and inode.
 */
struct symbol_file *symbols_add_file(struct symbols *symbols, pid_t pid,
				     const struct file_record *record);

/*
 * The perf map of @pid, a process that runs at best: then it is known whose map it is and in
 * which container, later.  Read once names are asked for, or as it was found here.
 */
struct symbol_file *symbols_add_map(struct symbols *symbols, pid_t pid);

/*
 * Looks up what is at @offset, in the unit of the file or an address, along with what was
 * wanted before: many at once take little more time than one.  It stays the file's.
 */
void symbol_want(struct symbol_file *file, uint64_t offset);
const struct symbol *symbol_find(struct symbol_file *file, uint64_t offset);

/* The build-id of the file, once something in it was found, and its length, or 0. */
size_t symbol_build_id(const struct symbol_file *file, const uint8_t **build_id);

/* How many files have not been asked, or not answered in time and in full. */
unsigned long symbols_lost(const struct symbols *symbols);

#endif

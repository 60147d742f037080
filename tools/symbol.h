/* SPDX-License-Identifier: MIT */
/*
 * Names of functions: in files that processes have mapped, and in perf maps.
 *
 * Nobody knows what is in these, or who serves them.  For each owner of processes one
 * process opens them, so that no other owner's files wait for them; a process without
 * privileges reads them.
 */
#ifndef SYMBOL_H
#define SYMBOL_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "trace_record.h"

/* A function, possibly compiled into another one. */
struct function {
	char *name;		/* escaped and demangled */
	char *source;		/* the file, escaped; NULL if unknown */
	uint32_t line;
};

/*
 * What is at an address.  @inlined: functions that were compiled into the one of the
 * symbol, the innermost first, and the place in each.
 */
struct symbol {
	char *name;		/* escaped and demangled; NULL if there is none */
	uint64_t offset;	/* distance of the address from its start */
	char *source;		/* the place in it, as above */
	uint32_t line;
	struct function *inlined;
	size_t nr_inlined;
};

void symbol_free(struct symbol *symbol);

/* Set by a signal handler: stop waiting for names. */
extern volatile sig_atomic_t symbols_stop;

struct symbols;
struct symbol_file;

struct symbols *symbols_new(void);
void symbols_free(struct symbols *symbols);

/*
 * A file of the process @pid, which may have ended: what it has mapped with the device
 * and inode of @record, or what is at the path there, or here if it has ended.  It has
 * no names unless it has the build-id of @record, which may lack one if it has a device
 * and inode.
 */
struct symbol_file *symbols_add_file(struct symbols *symbols, pid_t pid,
				     const struct file_record *record);

/*
 * The perf map of @pid, preferably a running process: then its owner and container are
 * known later.  It is read once names are asked for, or as it was found here.
 */
struct symbol_file *symbols_add_map(struct symbols *symbols, pid_t pid);

/*
 * The process of a perf map has ended, and its number is another's: what was written to
 * the map at @time or later, in ns of CLOCK_REALTIME, is not its own.
 */
void symbols_end_map(struct symbol_file *map, uint64_t time);

/*
 * Requests what is at @offset, in the unit of the file or an address, to be looked up
 * along with earlier requests: many at once take little more time than one.  It stays
 * the file's.
 */
void symbol_want(struct symbol_file *file, uint64_t offset);
const struct symbol *symbol_find(struct symbol_file *file, uint64_t offset);

/* The build-id of the file, once something in it was found, and its length, or 0. */
size_t symbol_build_id(const struct symbol_file *file, const uint8_t **build_id);

/* How many files were not asked, or did not answer in time and in full. */
unsigned long symbols_lost(const struct symbols *symbols);

#endif

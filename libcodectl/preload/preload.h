/* SPDX-License-Identifier: MIT */
/*
 * libcodectl-preload: passes to the kernel what programs tell their unwinder, or
 * debuggers.
 *
 * Nothing here may change what the program does: interposed calls are passed on to the
 * function that they would have reached without us, errno stays as it is, no thread is
 * started, and what fails is left undone.
 */
#ifndef CODECTL_PRELOAD_H
#define CODECTL_PRELOAD_H

#include <codectl.h>
#include <link.h>
#include <stdbool.h>

/* --- next.c */

/**
 * struct preload_next - the function that a call reaches
 * @function: the function; NULL if there is none
 * @takes_entries: whether it is LLVM's
 */
struct preload_next {
	void *function;
	bool takes_entries;
};

/* What @name would mean to the code at @caller without us.  Not async-signal-safe. */
struct preload_next preload_next(const char *name, const void *caller);

/* --- dlsym.c */

/* What dlsym() would have found for us, had we not interposed it. */
void *preload_dlsym(void *handle, const char *name);

/* --- hooks.c */

/* Looks for anything new. */
void preload_look(void);

/* --- lock.c */

/*
 * One lock for all that follows; false if its owner is interrupted, or forks, in which
 * case nothing is done.  The owner is cancelled only afterwards, and then has the errno
 * that it had before.
 */
bool preload_lock(void);
void preload_unlock(void);

/* --- memory.c */

/* At least the size of any struct that is kept in a list. */
#define PRELOAD_CELL	80

/* Under the lock: so many zero bytes, for preload_cell_free(); or NULL. */
void *preload_cell(void);
void preload_cell_free(void *cell);
/* Whether all of it was there; async-signal-safe, as the next one. */
bool preload_copy(void *to, const void *from, size_t len);
/* Whether that can be read, as far as it can be known. */
bool preload_readable(const void *start, size_t len);

/* --- debug_list.c; under the lock */

/* Whether the list that debuggers read has changed; async-signal-safe, without the lock. */
bool preload_debug_list_changed(void);
/* Publishes new entries, and withdraws those that have gone. */
void preload_debug_list_read(void);

/* --- objects.c; under the lock */

/* Registers new objects, with their detached tables. */
void preload_objects_read(void);

/* --- table.c */

/**
 * struct preload_table - a detached table that is mapped
 * @map: its file
 * @len: its length
 * @start: its first byte
 * @end: after the last one
 * @addr: its link-time address, without the load bias of the object
 */
struct preload_table {
	void *map;
	size_t len;
	uint64_t start;
	uint64_t end;
	uint64_t addr;
};

/* The table of the object, from where "codectl sframe" and packages put them. */
bool preload_table_map(const struct dl_phdr_info *object,
		       struct preload_table *table);
void preload_table_unmap(const struct preload_table *table);

#endif /* CODECTL_PRELOAD_H */

/* SPDX-License-Identifier: MIT */
/*
 * libcodectl-preload: tells the kernel what programs tell their unwinder, or debuggers.
 *
 * Nothing here may change what the program does: what is taken over is handed on to
 * whom the caller would have reached without us, errno stays as it is, no thread is
 * started, and what fails is left undone.
 */
#ifndef CODECTL_PRELOAD_H
#define CODECTL_PRELOAD_H

#include <codectl.h>
#include <link.h>
#include <stdbool.h>

/* --- next.c */

/*
 * What @name means to the code at @caller, if we were not there; NULL: nothing.
 * Not async-signal-safe.
 */
void *preload_next(const char *name, const void *caller);
/* Whether the object that has @function, or one that it needs, has @name. */
bool preload_has(const void *function, const char *name);

/* --- lock.c */

/*
 * One lock for all that follows; false if who has it is interrupted, or forks, in which
 * case nothing is done.  Who has it may be cancelled only afterwards, and has the errno
 * then that it had before.
 */
bool preload_lock(void);
void preload_unlock(void);

/* --- debug_list.c; with the lock */

/* Whether the list that debuggers read has changed; async-signal-safe, without the lock. */
bool preload_debug_list_changed(void);
/* Publishes what has come into it, and withdraws what has gone. */
void preload_debug_list_read(void);

/* --- objects.c; with the lock */

/* Registers the objects that have come, with their detached tables. */
void preload_objects_read(void);

/* --- table.c */

/**
 * struct preload_table - a detached table that is mapped
 * @map: its file
 * @len: bytes of that
 * @start: its first byte
 * @end: after the last one
 * @addr: where it was linked to be, without the load bias of the object
 */
struct preload_table {
	void *map;
	size_t len;
	uint64_t start;
	uint64_t end;
	uint64_t addr;
};

/* That of the object, from where "codectl sframe" and packages put them. */
bool preload_table_map(const struct dl_phdr_info *object,
		       struct preload_table *table);
void preload_table_unmap(const struct preload_table *table);

#endif /* CODECTL_PRELOAD_H */

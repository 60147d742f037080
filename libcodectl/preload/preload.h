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

/**
 * struct preload_next - whom a call reaches
 * @function: that; NULL: nobody
 * @takes_entries: whether it is LLVM's
 */
struct preload_next {
	void *function;
	bool takes_entries;
};

/* What @name means to the code at @caller, if we were not there.  Not async-signal-safe. */
struct preload_next preload_next(const char *name, const void *caller);

/* --- dlsym.c */

/* What dlsym() would have found for us, if we had not taken it over. */
void *preload_dlsym(void *handle, const char *name);

/* --- hooks.c */

/* Looks whether something has come. */
void preload_look(void);

/* --- lock.c */

/*
 * One lock for all that follows; false if who has it is interrupted, or forks, in which
 * case nothing is done.  Who has it may be cancelled only afterwards, and has the errno
 * then that it had before.
 */
bool preload_lock(void);
void preload_unlock(void);

/* --- memory.c */

/* Longer than any struct that is kept in a list. */
#define PRELOAD_CELL	80

/* With the lock: so many bytes of 0, for preload_cell_free(); or NULL. */
void *preload_cell(void);
void preload_cell_free(void *cell);
/* Whether it was all there; async-signal-safe, as the next. */
bool preload_copy(void *to, const void *from, size_t len);
/* Whether that can be read, as far as can be told. */
bool preload_readable(const void *start, size_t len);

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

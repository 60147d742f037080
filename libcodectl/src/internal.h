/* SPDX-License-Identifier: MIT */
/*
 * What the files of the library share.
 *
 * A region is one mapping: struct codectl_region, its tables one after the other, an
 * index of its names, and the names.  Tables are linked in the order of their
 * addresses, so the chain is always the first few.
 *
 * There is no count of rows but used_len: a child that another thread's fork() makes in
 * the middle of an append has the rows that were published, and overwrites what was
 * written after them.
 */
#ifndef CODECTL_INTERNAL_H
#define CODECTL_INTERNAL_H

#include <elf.h>
#include <stdbool.h>

#include "codectl.h"

#define CODECTL_UNLIKELY(x)	__builtin_expect(!!(x), 0)
/* Two lines of 64 bytes, which are prefetched as a pair. */
#define CODECTL_LINE		__attribute__((__aligned__(128)))

#define CODECTL_PAGE		4096UL
/* Bytes of text whose names are found together. */
#define CODECTL_NAME_GRANULE	64
/* The shortest block for a name, and the number of lengths. */
#define CODECTL_NAME_UNIT	32UL
#define CODECTL_NAME_ORDERS	6
#define CODECTL_FRE_SIZE	sizeof(struct code_jit_unwind_fre)
/* Number of record sizes in a granule map. */
#define CODECTL_RECORD_SIZES	64

/* Who gets names. */
enum codectl_listener {
	CODECTL_MAP,
	CODECTL_EVENT,
	CODECTL_NR_LISTENERS,
};

/* As many as are on their way into the cache at once. */
#define CODECTL_RETIRED		16
/* With this many rows or more, the record has the count. */
#define CODECTL_MANY_ROWS	63

/**
 * struct codectl_granule - what the writer keeps of a granule with code
 * @begin: offset of the byte at which its function begins, plus one; 0: it began before
 * @end: number of bytes up to the end of the function; 0: it continues after it
 * @nr: rows of the function, or %CODECTL_MANY_ROWS
 */
struct codectl_granule {
	uint32_t begin : 13;
	uint32_t end : 13;
	uint32_t nr : 6;
};

/**
 * struct codectl_region - a region
 * @text_start: first byte of the text
 * @text_len: its length
 * @flags: CODECTL_REGION_*
 * @jit_flags: CODE_JIT_*
 * @rule: the default rule
 * @tables: where the first table is, or NULL
 * @table_size: bytes from one table to the next
 * @table_rows: rows in one table
 * @max_tables: tables that there is space for
 * @granule_shift: that of a granule map, or 0
 * @slots: slots of a granule map, from the start of a page on
 * @kept: what the writer keeps of each granule
 * @pool: its pool
 * @pool_len: its size
 * @registered: whether the kernel knows the region
 * @stale: whether its text was unmapped, and another region is there
 * @name_index: for each granule of the text, the first of the names of functions
 *	that begin there, or 0
 * @names: their records, in units of %CODECTL_NAME_UNIT, counted from 1
 * @name_map: for each unit at which a free block begins, its length
 * @names_max: units in @names
 * @map_len: bytes in the mapping
 * @replayed: for each listener, the first number that no name had yet when all were
 *	reported; under the lock
 * @tail: the last table, or one before it
 * @pool_used: bytes of the pool that are records, including free ones
 * @rows_live: rows of functions in the map
 * @retired: slots of records that are not free yet, though nothing names them; 0: none
 * @next_retired: the next place in it to use
 * @records_free: for each record size, the slot of the first free one, or 0
 * @names_used: units that have been used
 * @names_free: for each block length, the first free one, or 0
 * @names_freed: units that have been freed since blocks were last joined
 * @names_kept: names in @names; one too many if fork() came in between
 * @names_lost: names that found no space
 * @next_id: number of the next name, or 0; numbers only increase
 * @keeping: while a name is being kept, codectl_forks
 * @seq: odd while rows are rewritten
 *
 * Everything up to @map_len is constant while the writer runs; what the writer
 * writes has cache lines of its own.
 */
struct codectl_region {
	uint64_t text_start;
	uint64_t text_len;
	uint32_t flags;
	uint32_t jit_flags;
	struct code_jit_unwind_fre rule;
	char *tables;
	uint64_t table_size;
	uint64_t table_rows;
	uint32_t max_tables;
	uint32_t granule_shift;
	uint32_t *slots;
	struct codectl_granule *kept;
	char *pool;
	uint64_t pool_len;
	uint32_t registered;
	uint32_t stale;
	uint32_t *name_index;
	char *names;
	uint8_t *name_map;
	uint64_t names_max;
	size_t map_len;
	uint64_t replayed[CODECTL_NR_LISTENERS];

	CODECTL_LINE struct code_jit_unwind_table *tail;
	uint64_t pool_used;
	uint64_t rows_live;
	uint32_t retired[CODECTL_RETIRED];
	uint32_t next_retired;
	uint32_t records_free[CODECTL_RECORD_SIZES];
	uint64_t names_used;
	uint32_t names_free[CODECTL_NAME_ORDERS];
	uint64_t names_freed;
	uint64_t names_kept;
	uint64_t names_lost;
	uint64_t next_id;
	uint32_t keeping;
	CODECTL_LINE uint32_t seq;
};

/**
 * struct codectl_func - a function to be published
 * @off: first byte, from the start of the text
 * @len: its length
 * @nr: number of @rows
 * @rows: its rows, as given
 * @name: its name, or NULL
 * @id: its number, or 0 if it has none, or none yet
 * @replaces: names that began in it and are gone
 * @kept: whether its name is kept
 */
struct codectl_func {
	uint32_t off;
	uint32_t len;
	uint32_t nr;
	const struct code_jit_unwind_fre *rows;
	const char *name;
	uint64_t id;
	int replaces;
	bool kept;
};

/**
 * struct codectl_cursor - a row of a chain
 * @table: its table
 * @row: its number there; after the last row of the chain, the number of rows
 */
struct codectl_cursor {
	struct code_jit_unwind_table *table;
	uint64_t row;
};

/* --- fork.c: the lock for everything that is not a writer's own, held over fork() */

/* How often this process has been forked off, from 1. */
extern uint32_t codectl_forks;
void codectl_lock(void);
bool codectl_trylock(void);
void codectl_unlock(void);

/* --- lookup.c */

/**
 * struct codectl_list - all regions, in order of address
 * @nr: number of regions
 * @regions: the regions
 */
struct codectl_list {
	size_t nr;
	struct codectl_region *regions[];
};

/* Changed between these, and read under the lock; lookups read it without. */
void codectl_change_begin(void);
void codectl_change_end(void);
extern struct codectl_list *codectl_list;
bool codectl_list_reserve(void);
void codectl_list_change(size_t at, size_t nr, struct codectl_region *region);
size_t codectl_list_find(const struct codectl_list *list, uint64_t addr);
void codectl_lookup_forked(void);

static inline uint64_t codectl_region_end(const struct codectl_region *region)
{
	return region->text_start + region->text_len;
}

/* --- names.c */

/* Longer names are cut. */
#define CODECTL_NAME_LEN	1000
/* The longest record of a name. */
#define CODECTL_NAME_RECORD	1024UL

/* The bits of CODECTL_NAMES_POLL: a tracer came; all is reported again soon. */
#define CODECTL_NAMES_ASKED	0x80000000U
#define CODECTL_NAMES_AGAIN	0x10000000U
/* Names go to the listener. */
#define CODECTL_NAMES_EVENT	0x40000000U
#define CODECTL_NAMES_MAP	0x20000000U
#define CODECTL_NAMES_ANY	(CODECTL_NAMES_POLL | CODECTL_NAMES_EVENT | \
				 CODECTL_NAMES_MAP)

_Static_assert(CODECTL_NAMES_POLL == (CODECTL_NAMES_ASKED |
				      CODECTL_NAMES_AGAIN),
	       "what programs test");

/**
 * struct codectl_names - what is read for each function that is published
 * @word: CODECTL_NAMES_*; other bits are not the library's
 */
struct codectl_names {
	CODECTL_LINE uint32_t word;
};

/**
 * struct codectl_name - a name to be reported
 * @id: its number
 * @start: first byte of the function
 * @len: its length
 * @text: the name, of at most CODECTL_NAME_LEN bytes
 */
struct codectl_name {
	uint64_t id;
	uint64_t start;
	uint64_t len;
	const char *text;
};

/**
 * struct codectl_name_record - a name that is kept
 * @id: its number, or 0 if it is no longer one
 * @off: first byte of the function, from the start of the text
 * @len: its length
 * @next: the next name in the same granule, or the next free block, or 0
 * @name: its name, NUL-terminated
 */
struct codectl_name_record {
	uint64_t id;
	uint32_t off;
	uint32_t len;
	uint32_t next;
	char name[];
};

extern struct codectl_names codectl_names;
uint64_t codectl_name_begin(struct codectl_region *region);
void codectl_name_end(struct codectl_region *region);
bool codectl_name_keep(struct codectl_region *region,
		       const struct codectl_func *func);
int codectl_names_forget(struct codectl_region *region, uint64_t off,
			 uint64_t end);
void codectl_names_compact(struct codectl_region *region);
int codectl_names_replay(enum codectl_listener listener,
			 int (*tell)(const struct codectl_name *name));
void codectl_names_added(const struct codectl_region *region,
			 const struct codectl_func *func);
void codectl_names_retired(uint64_t start, uint64_t len);

static inline uint64_t codectl_name_granules(uint64_t len)
{
	return (len + CODECTL_NAME_GRANULE - 1) / CODECTL_NAME_GRANULE;
}

static inline struct codectl_name_record *
codectl_name_record(const struct codectl_region *region, uint32_t unit)
{
	return (void *)(region->names + (unit - 1) * CODECTL_NAME_UNIT);
}

/* The kernel may change its bit at any time. */
static inline uint32_t codectl_names_bits(void)
{
	return __atomic_load_n(&codectl_names.word, __ATOMIC_RELAXED);
}

static inline void codectl_names_set(uint32_t bits)
{
	__atomic_fetch_or(&codectl_names.word, bits, __ATOMIC_SEQ_CST);
}

static inline void codectl_names_clear(uint32_t bits)
{
	__atomic_fetch_and(&codectl_names.word, ~bits, __ATOMIC_SEQ_CST);
}

/*
 * Does anybody listen to @what of the bits?  Called after a function was published or
 * retired: (a) of names.c.
 */
static inline bool codectl_names_wanted(uint32_t what)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);

	return CODECTL_UNLIKELY(codectl_names_bits() & what);
}

/* --- name_space.c: blocks of @bytes, in units; 0 is no block */

uint32_t codectl_name_alloc(struct codectl_region *region, size_t bytes);
void codectl_name_free(struct codectl_region *region, uint32_t unit,
		       size_t bytes);
void codectl_name_space_reset(struct codectl_region *region);

/* --- name_event.c and perf_map.c: the listeners, under the lock */

void codectl_event_check(void);
void codectl_event_add(const struct codectl_name *name);
void codectl_event_retire(uint64_t start, uint64_t len);
void codectl_event_forked(void);
void codectl_map_check(void);
void codectl_map_add(const struct codectl_name *name);
void codectl_map_forked(void);

/* --- elf.c */

bool codectl_elf_is_text(const Elf64_Phdr *ph);
void codectl_elf_describe(const Elf64_Phdr *phdr, size_t phnum, uint64_t bias,
			  struct code_elf_info *info);
int codectl_elf_unregister_text(const Elf64_Phdr *ph, uint64_t bias);

/* --- granule_map.c */

int codectl_granules_add(struct codectl_region *region,
			 const struct codectl_func *func);
int codectl_granules_retire(struct codectl_region *region, uint64_t off,
			    uint64_t end);
void codectl_granules_clear(struct codectl_region *region);

/* Granules of so many bytes of text. */
static inline uint64_t codectl_granules(const struct codectl_region *region,
					uint64_t len)
{
	return (len + (1UL << region->granule_shift) - 1) >>
	       region->granule_shift;
}

/* --- rewrite.c */

int codectl_rewrite_add(struct codectl_region *region,
			const struct codectl_func *func, int why);

/* --- rows.c */

void codectl_rows_find(const struct codectl_region *region, uint64_t off,
		       struct codectl_cursor *pos);
void codectl_cursor_next(struct codectl_cursor *pos);
bool codectl_cursor_prev(const struct codectl_region *region,
			 struct codectl_cursor *pos);

static inline struct code_jit_unwind_table *
codectl_table(const struct codectl_region *region, uint64_t nr)
{
	return (void *)(region->tables + nr * region->table_size);
}

static inline uint64_t
codectl_table_nr(const struct codectl_region *region,
		 const struct code_jit_unwind_table *table)
{
	return ((const char *)table - region->tables) / region->table_size;
}

/* This and the following are for the writer. */
static inline uint64_t codectl_used(const struct code_jit_unwind_table *table)
{
	return __atomic_load_n(&table->used_len, __ATOMIC_RELAXED) /
	       CODECTL_FRE_SIZE;
}

static inline struct code_jit_unwind_table *
codectl_next(const struct code_jit_unwind_table *table)
{
	return (void *)(uintptr_t)__atomic_load_n(&table->next,
						  __ATOMIC_RELAXED);
}

static inline struct code_jit_unwind_fre *
codectl_row(const struct codectl_cursor *pos)
{
	return &pos->table->fre[pos->row];
}

static inline bool codectl_cursor_valid(const struct codectl_cursor *pos)
{
	return pos->row < codectl_used(pos->table);
}

static inline bool codectl_descending(const struct codectl_region *region)
{
	return region->jit_flags & CODE_JIT_DESCENDING;
}

/*
 * Readers may still look at a row that is overwritten, and find out afterwards; so each
 * word is stored at once.  @off is added to the row's address.
 */
static inline void codectl_store_row(struct code_jit_unwind_fre *to,
				     const struct code_jit_unwind_fre *from,
				     uint32_t off)
{
	typedef uint64_t __attribute__((__may_alias__)) word;
	word bits[sizeof(*to) / sizeof(word)];
	unsigned int i;

	_Static_assert(offsetof(struct code_jit_unwind_fre, ip_off) == 4 &&
		       (__BYTE_ORDER__) == __ORDER_LITTLE_ENDIAN__,
		       "ip_off is the upper half of the first word");
	__builtin_memcpy(bits, from, sizeof(bits));
	bits[0] += (uint64_t)off << 32;
	for (i = 0; i < sizeof(*to) / sizeof(word); i++)
		__atomic_store_n((word *)to + i, bits[i], __ATOMIC_RELAXED);
}

static inline void codectl_store_u64(__u64 *to, uint64_t value)
{
	__atomic_store_n(to, value, __ATOMIC_RELAXED);
}

/* A table that is not linked yet, or that is linked while seq is odd. */
static inline void codectl_init_table(const struct codectl_region *region,
				      struct code_jit_unwind_table *table,
				      uint64_t nr)
{
	codectl_store_u64(&table->reserved_len,
			  region->table_rows * CODECTL_FRE_SIZE);
	codectl_store_u64(&table->used_len, nr * CODECTL_FRE_SIZE);
	codectl_store_u64(&table->next, 0);
}

#endif /* CODECTL_INTERNAL_H */

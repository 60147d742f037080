// SPDX-License-Identifier: MIT
/*
 * __register_frame() and its family, which run-time compilers call for exceptions:
 * libgcc's unwind-dw2-fde.h, and LLVM libunwind's UnwindLevel1-gcc-ext.c.
 *
 * GCC's take a section of .eh_frame, which ends with a length of 0, or a table of
 * sections, which ends with NULL.  LLVM's takes an entry (FDE), which callers detect by
 * __unw_add_dynamic_fde(); if it is the CIE of one, a section as well.
 */
#include <string.h>

#include "preload.h"

#define EXPORT	__attribute__((__visibility__("default")))

/* Entries at one address; if there are more, they are not what they seem. */
#define MAX_ENTRIES	0x100000

/* Number of lists, so that each is short. */
#define NR_LISTS	1024

/**
 * struct registered - what was published from one section or entry
 * @next: the next one of the list
 * @begin: the argument of the call, which identifies it
 * @frame: what was published
 */
struct registered {
	struct registered *next;
	const void *begin;
	struct codectl_eh_frame *frame;
};

_Static_assert(sizeof(struct registered) <= PRELOAD_CELL, "it is in a cell");

static struct registered *lists[NR_LISTS];

static struct registered **list_of(const void *begin)
{
	return &lists[((uintptr_t)begin * 0x9e3779b97f4a7c15) >> 54];
}

static void keep(const void *begin, struct codectl_eh_frame *frame)
{
	struct registered **list = list_of(begin), *r = preload_cell();

	if (!r) {
		codectl_eh_frame_remove(frame);
		return;
	}
	*r = (struct registered) { .next = *list, .begin = begin, .frame = frame };
	*list = r;
}

static void drop(const void *begin)
{
	struct registered **at = list_of(begin), *r;

	while ((r = *at)) {
		if (r->begin != begin) {
			at = &r->next;
			continue;
		}
		*at = r->next;
		codectl_eh_frame_remove(r->frame);
		preload_cell_free(r);
	}
}

/* --- what is registered: unwinders may look at it when they need it, if ever */

static uint32_t word_at(const char *at)
{
	uint32_t word;

	memcpy(&word, at, sizeof(word));

	return word;
}

/*
 * Length of the entry, of which at most so many bytes are there; 0: it is not there, or
 * too long.
 */
static size_t entry_len(const char *at)
{
	uint32_t len;

	if (!preload_readable(at, 4))
		return 0;
	len = word_at(at);
	if (len == UINT32_MAX || !preload_readable(at + 4, len))
		return 0;

	return 4 + (size_t)len;
}

/* Length of the section up to its end; 0: it has no end, or is not there. */
static size_t section_len(const char *at)
{
	size_t len, all = 0;
	unsigned int i;

	for (i = 0; i < MAX_ENTRIES; i++) {
		len = entry_len(at + all);
		if (!len)
			return 0;
		if (len == 4)
			return all;
		all += len;
	}

	return 0;
}

/* An entry whose CIE is somewhere before it. */
static void add_entry(const void *begin, const char *at)
{
	struct codectl_eh_frame *frame;

	if (entry_len(at) > 8 && entry_len(at + 4 - word_at(at + 4)) &&
	    !codectl_fde_add(at, &frame))
		keep(begin, frame);
}

/* A section, which may begin with a function whose CIE is somewhere before it. */
static void add_section(const void *begin, const char *at, bool single)
{
	size_t all = entry_len(at), len;
	struct codectl_eh_frame *frame;
	const char *end;

	if (all < 8)
		return;
	if (!single || !word_at(at + 4))
		all = section_len(at);
	if (!all)
		return;
	end = at + all;
	/* A CIE has 0 where a function has the distance to its CIE. */
	if (!word_at(at + 4)) {
		if (!codectl_eh_frame_add(at, all, &frame))
			keep(begin, frame);
		return;
	}
	for (; at < end; at += len) {
		len = 4 + (size_t)word_at(at);
		if (len > 8 && word_at(at + 4))
			add_entry(begin, at);
	}
}

static void add_table(const void *begin)
{
	const char *const *section = begin;

	for (; preload_readable(section, sizeof(*section)) && *section; section++)
		add_section(begin, *section, false);
}

/*
 * After it was passed on to @next, so what is there is right.  What was known there was
 * not withdrawn, or has come by another one of the family, which @next has called.
 */
static void add(const void *begin, bool is_table, struct preload_next next)
{
	if (!begin || !preload_lock())
		return;
	drop(begin);
	if (is_table)
		add_table(begin);
	else
		add_section(begin, begin, next.takes_entries);
	preload_debug_list_read();
	preload_objects_read();
	preload_unlock();
}

/* Before it is passed on. */
static void withdraw(const void *begin)
{
	if (!begin || !preload_lock())
		return;
	drop(begin);
	preload_unlock();
}

/* Declared in no header: as in unwind-dw2-fde.h. */
EXPORT void __register_frame(void *begin);
EXPORT void __register_frame_table(void *begin);
EXPORT void __register_frame_info(const void *begin, void *object);
EXPORT void __register_frame_info_bases(const void *begin, void *object, void *tbase,
					void *dbase);
EXPORT void __register_frame_info_table(void *begin, void *object);
EXPORT void __register_frame_info_table_bases(void *begin, void *object, void *tbase,
					      void *dbase);
EXPORT void __deregister_frame(void *begin);
EXPORT void *__deregister_frame_info(const void *begin);
EXPORT void *__deregister_frame_info_bases(const void *begin);

#define NEXT	preload_next(__func__, __builtin_return_address(0))

void __register_frame(void *begin)
{
	struct preload_next next = NEXT;
	void (*function)(void *begin) = next.function;

	if (function)
		function(begin);
	add(begin, false, next);
}

void __register_frame_table(void *begin)
{
	struct preload_next next = NEXT;
	void (*function)(void *begin) = next.function;

	if (function)
		function(begin);
	add(begin, true, next);
}

void __register_frame_info(const void *begin, void *object)
{
	struct preload_next next = NEXT;
	void (*function)(const void *begin, void *object) = next.function;

	if (function)
		function(begin, object);
	add(begin, false, next);
}

void __register_frame_info_bases(const void *begin, void *object, void *tbase,
				 void *dbase)
{
	struct preload_next next = NEXT;
	void (*function)(const void *begin, void *object, void *tbase, void *dbase) =
		next.function;

	if (function)
		function(begin, object, tbase, dbase);
	add(begin, false, next);
}

void __register_frame_info_table(void *begin, void *object)
{
	struct preload_next next = NEXT;
	void (*function)(void *begin, void *object) = next.function;

	if (function)
		function(begin, object);
	add(begin, true, next);
}

void __register_frame_info_table_bases(void *begin, void *object, void *tbase,
				       void *dbase)
{
	struct preload_next next = NEXT;
	void (*function)(void *begin, void *object, void *tbase, void *dbase) =
		next.function;

	if (function)
		function(begin, object, tbase, dbase);
	add(begin, true, next);
}

void __deregister_frame(void *begin)
{
	void (*function)(void *begin) = NEXT.function;

	withdraw(begin);
	if (function)
		function(begin);
}

void *__deregister_frame_info(const void *begin)
{
	void *(*function)(const void *begin) = NEXT.function;

	withdraw(begin);

	return function ? function(begin) : NULL;
}

void *__deregister_frame_info_bases(const void *begin)
{
	void *(*function)(const void *begin) = NEXT.function;

	withdraw(begin);

	return function ? function(begin) : NULL;
}

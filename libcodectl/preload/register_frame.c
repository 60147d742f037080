// SPDX-License-Identifier: MIT
/*
 * __register_frame() and its family, which compilers at run time call for exceptions:
 * libgcc's unwind-dw2-fde.h, and LLVM libunwind's UnwindLevel1-gcc-ext.c.
 *
 * GCC's take a section of .eh_frame, which is ended by a length of 0, or a table of
 * sections, ended by NULL.  LLVM's takes an entry (FDE), which who calls it finds out
 * by __unw_add_dynamic_fde(); if it is the CIE of one, a section as well.
 */
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "preload.h"

#define EXPORT	__attribute__((__visibility__("default")))

/* Entries at one address; more are not what they seem. */
#define MAX_ENTRIES	0x100000

/**
 * struct registered - what was registered by one call
 * @begin: its argument, by which it is known
 * @frames: what was published of it
 * @nr: how many
 */
struct registered {
	const void *begin;
	struct codectl_eh_frame **frames;
	size_t nr;
};

static void *tree;

static int compare(const void *a, const void *b)
{
	const struct registered *left = a, *right = b;

	return left->begin < right->begin ? -1 : left->begin > right->begin;
}

static void keep(struct registered *r, struct codectl_eh_frame *frame)
{
	void *frames = reallocarray(r->frames, r->nr + 1, sizeof(frame));

	if (!frames) {
		codectl_eh_frame_remove(frame);
		return;
	}
	r->frames = frames;
	r->frames[r->nr++] = frame;
}

static uint32_t word_at(const void *at)
{
	uint32_t word;

	memcpy(&word, at, sizeof(word));

	return word;
}

/* A section, which may begin with a function whose CIE is somewhere before. */
static void add_section(struct registered *r, const char *at, bool single)
{
	struct codectl_eh_frame *frame;
	size_t i;

	/* A CIE has a 0 where a function has the way to its own. */
	if (word_at(at) != UINT32_MAX && !word_at(at + 4)) {
		if (!codectl_eh_frame_add(at, 0, &frame))
			keep(r, frame);
		return;
	}
	for (i = 0; i < (single ? 1 : MAX_ENTRIES) && word_at(at); i++) {
		if (word_at(at) == UINT32_MAX)
			return;
		if (word_at(at + 4) && !codectl_fde_add(at, &frame))
			keep(r, frame);
		at += 4 + word_at(at);
	}
}

static void remove_all(struct registered *r)
{
	size_t i;

	for (i = 0; i < r->nr; i++)
		codectl_eh_frame_remove(r->frames[i]);
	free(r->frames);
	free(r);
}

static struct registered *make(const void *begin, bool is_table, bool single)
{
	const char *const *section = begin;
	struct registered *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->begin = begin;
	if (!is_table)
		add_section(r, begin, single);
	else
		for (; *section; section++)
			add_section(r, *section, false);
	if (r->nr)
		return r;
	remove_all(r);

	return NULL;
}

static struct registered **find(const void *begin)
{
	const struct registered key = { .begin = begin };

	return tfind(&key, &tree, compare);
}

/*
 * After it was handed on to @next, so that what is there is right; and known already, if
 * that has called another one of the family.
 */
static void add(const void *begin, bool is_table, void *next)
{
	bool single = !is_table && next && preload_has(next, "__unw_add_dynamic_fde");
	struct registered *r;

	if (!begin || !preload_lock())
		return;
	r = find(begin) ? NULL : make(begin, is_table, single);
	if (r && !tsearch(r, &tree, compare))
		remove_all(r);
	preload_debug_list_read();
	preload_objects_read();
	preload_unlock();
}

/* Before it is handed on. */
static void withdraw(const void *begin)
{
	struct registered **found, *r;

	if (!begin || !preload_lock())
		return;
	found = find(begin);
	if (found) {
		r = *found;
		tdelete(r, &tree, compare);
		remove_all(r);
	}
	preload_unlock();
}

/* Declared by no header: as unwind-dw2-fde.h has them. */
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
	void (*next)(void *begin) = NEXT;

	if (next)
		next(begin);
	add(begin, false, next);
}

void __register_frame_table(void *begin)
{
	void (*next)(void *begin) = NEXT;

	if (next)
		next(begin);
	add(begin, true, next);
}

void __register_frame_info(const void *begin, void *object)
{
	void (*next)(const void *begin, void *object) = NEXT;

	if (next)
		next(begin, object);
	add(begin, false, next);
}

void __register_frame_info_bases(const void *begin, void *object, void *tbase,
				 void *dbase)
{
	void (*next)(const void *begin, void *object, void *tbase, void *dbase) = NEXT;

	if (next)
		next(begin, object, tbase, dbase);
	add(begin, false, next);
}

void __register_frame_info_table(void *begin, void *object)
{
	void (*next)(void *begin, void *object) = NEXT;

	if (next)
		next(begin, object);
	add(begin, true, next);
}

void __register_frame_info_table_bases(void *begin, void *object, void *tbase,
				       void *dbase)
{
	void (*next)(void *begin, void *object, void *tbase, void *dbase) = NEXT;

	if (next)
		next(begin, object, tbase, dbase);
	add(begin, true, next);
}

void __deregister_frame(void *begin)
{
	void (*next)(void *begin) = NEXT;

	withdraw(begin);
	if (next)
		next(begin);
}

void *__deregister_frame_info(const void *begin)
{
	void *(*next)(const void *begin) = NEXT;

	withdraw(begin);

	return next ? next(begin) : NULL;
}

void *__deregister_frame_info_bases(const void *begin)
{
	void *(*next)(const void *begin) = NEXT;

	withdraw(begin);

	return next ? next(begin) : NULL;
}

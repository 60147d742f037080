/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Random calls of codectl(2) on its own text, and what is known of that text. The seed
 * determines all of it.
 */
#ifndef CODECTL_FUZZ_H
#define CODECTL_FUZZ_H

#include "codectl_test.h"

#define FUZZ_PAGES	64
/* More than fit without an overlap: two in a page and its neighbours. */
#define FUZZ_REGIONS	1024

struct fuzz_region {
	uint64_t start;
	uint64_t end;
	bool jit;
	bool mapped_over;
};

/**
 * struct fuzz - text and its registrations
 * @random: state of the generator
 * @text: FUZZ_PAGES pages of address space with nothing mapped around them
 * @exact: nobody else changes any of it: each result is known beforehand
 * @page: which pages are mapped, and with what protection; -1: not mapped
 * @region: the registrations, if @exact
 * @nr: number of registrations
 * @window: two pages followed by one that nobody can access
 * @section: a page with a right SFrame section, and one for wrong ones
 * @calls: number of calls
 * @good: number of successful calls
 */
struct fuzz {
	uint64_t random;
	uint8_t *text;
	bool exact;
	int page[FUZZ_PAGES];
	struct fuzz_region region[FUZZ_REGIONS];
	unsigned int nr;
	uint8_t *window;
	uint8_t *section;
	unsigned long calls;
	unsigned long good;
};

/*
 * 0 or -1.  The text is mapped at @at, all of it, or is that of @other, which is then
 * not exact.
 */
int fuzz_init(struct fuzz *f, uint64_t seed, uint64_t at);
int fuzz_share(struct fuzz *f, uint64_t seed, struct fuzz *other);
/* False if a registration is missing, or cannot be dropped. */
bool fuzz_exit(struct fuzz *f);

/* Below @below. */
uint64_t fuzz_random(struct fuzz *f, uint64_t below);

/*
 * Each does one thing, and returns whether the kernel reacted correctly; if not, it
 * says so on standard output: a call of codectl(2), several in one, a change of a
 * mapping, a CODE_QUERY on @fd, a look at all lines of /proc/self/codectl.
 */
bool fuzz_call(struct fuzz *f);
bool fuzz_batch(struct fuzz *f);
bool fuzz_map(struct fuzz *f);
bool fuzz_query(struct fuzz *f, int fd);
bool fuzz_check(const struct fuzz *f);

/* --- fuzz_model.c, for fuzz_call.c */

bool fuzz_is_ours(const struct fuzz *f, uint64_t start, uint64_t end);
bool fuzz_is_mapped(const struct fuzz *f, uint64_t start, uint64_t end,
		    bool exec);
/* Does nothing overlap except what an object that is registered here replaces? */
bool fuzz_may_replace(const struct fuzz *f, uint64_t start, uint64_t end);
/* Drops what overlaps. */
void fuzz_drop(struct fuzz *f, uint64_t start, uint64_t end);
/* NULL: nothing overlaps, or nothing has exactly this range. */
const struct fuzz_region *fuzz_overlap(const struct fuzz *f, uint64_t start,
				       uint64_t end);
struct fuzz_region *fuzz_find(struct fuzz *f, uint64_t start, uint64_t end);
void fuzz_add(struct fuzz *f, uint64_t start, uint64_t end, bool jit);
void fuzz_remove(struct fuzz *f, struct fuzz_region *region);

#endif /* CODECTL_FUZZ_H */

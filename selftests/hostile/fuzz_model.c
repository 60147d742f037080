// SPDX-License-Identifier: GPL-2.0
#include "fuzz.h"
#include "proc_file.h"
#include "sframe_build.h"

#define RX	(PROT_READ | PROT_EXEC)
#define NOT_MAPPED (-1)

/* splitmix64 */
uint64_t fuzz_random(struct fuzz *f, uint64_t below)
{
	uint64_t z = f->random += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return (z ^ z >> 31) % below;
}

static void *map_at(uint64_t at, size_t pages, int prot)
{
	void *p = mmap((void *)at, pages * PAGE, prot, MAP_PRIVATE |
		       MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	return p == (void *)at ? p : NULL;
}

static int init(struct fuzz *f, uint64_t seed, uint8_t *text)
{
	const struct fre_spec row = {
		.info = FRE_INFO(FRE_SP, 1, FRE_WORD1), .word = { 8 },
	};
	const struct fde_spec fde = {
		.func = addr_of(text), .size = PAGE, .nr_fres = 1, .fre = &row,
	};

	*f = (struct fuzz) { .random = seed, .text = text };
	f->window = map_pages(3, PROT_READ | PROT_WRITE);
	f->section = map_pages(2, PROT_READ | PROT_WRITE);
	if (!text || !f->window || !f->section ||
	    mprotect(f->window + 2 * PAGE, PAGE, PROT_NONE) ||
	    !sframe_build(f->section, PAGE, &fde, 1, 0))
		return -1;
	for (int i = 0; i < FUZZ_PAGES; i++)
		f->page[i] = RX;
	return 0;
}

int fuzz_init(struct fuzz *f, uint64_t seed, uint64_t at)
{
	int err = init(f, seed, map_at(at, FUZZ_PAGES, RX));

	f->exact = true;
	return err;
}

int fuzz_share(struct fuzz *f, uint64_t seed, struct fuzz *other)
{
	other->exact = false;
	return init(f, seed, other->text);
}

bool fuzz_exit(struct fuzz *f)
{
	bool good = !f->exact || fuzz_check(f);

	for (unsigned int i = 0; f->exact && i < f->nr; i++)
		if (unregister_text(f->region[i].start, f->region[i].end))
			good = false;
	munmap(f->text, FUZZ_PAGES * PAGE);
	munmap(f->window, 3 * PAGE);
	munmap(f->section, 2 * PAGE);
	return good;
}

/* ------------------------------------------------------------- what is known */

bool fuzz_is_ours(const struct fuzz *f, uint64_t start, uint64_t end)
{
	uint64_t text = addr_of(f->text);

	return start >= text && start < end && end <= text + FUZZ_PAGES * PAGE;
}

bool fuzz_is_mapped(const struct fuzz *f, uint64_t start, uint64_t end,
		    bool exec)
{
	uint64_t text = addr_of(f->text);

	for (uint64_t i = (start - text) / PAGE; i * PAGE < end - text; i++)
		if (f->page[i] == NOT_MAPPED ||
		    (exec && !(f->page[i] & PROT_EXEC)))
			return false;
	return true;
}

const struct fuzz_region *fuzz_overlap(const struct fuzz *f, uint64_t start,
				       uint64_t end)
{
	for (unsigned int i = 0; i < f->nr; i++)
		if (f->region[i].start < end && start < f->region[i].end)
			return &f->region[i];
	return NULL;
}

struct fuzz_region *fuzz_find(struct fuzz *f, uint64_t start, uint64_t end)
{
	for (unsigned int i = 0; i < f->nr; i++)
		if (f->region[i].start == start && f->region[i].end == end)
			return &f->region[i];
	return NULL;
}

void fuzz_add(struct fuzz *f, uint64_t start, uint64_t end, bool jit)
{
	if (f->nr == FUZZ_REGIONS)
		abort();
	f->region[f->nr++] = (struct fuzz_region) { start, end, jit, false };
}

void fuzz_remove(struct fuzz *f, struct fuzz_region *region)
{
	*region = f->region[--f->nr];
}

void fuzz_drop(struct fuzz *f, uint64_t start, uint64_t end)
{
	unsigned int i = 0;

	while (i < f->nr) {
		struct fuzz_region *r = &f->region[i];

		if (r->start < end && start < r->end)
			fuzz_remove(f, r);
		else
			i++;
	}
}

bool fuzz_may_replace(const struct fuzz *f, uint64_t start, uint64_t end)
{
	for (unsigned int i = 0; i < f->nr; i++) {
		const struct fuzz_region *r = &f->region[i];

		if (r->start < end && start < r->end &&
		    (r->jit || !r->mapped_over))
			return false;
	}
	return true;
}

static void drop_pages(struct fuzz *f, unsigned int page, unsigned int nr)
{
	uint64_t start = addr_of(f->text) + page * PAGE;

	fuzz_drop(f, start, start + nr * PAGE);
}

static void note_mapped_over(struct fuzz *f, unsigned int page, unsigned int nr)
{
	uint64_t start = addr_of(f->text) + page * PAGE;

	for (unsigned int i = 0; i < f->nr; i++) {
		struct fuzz_region *r = &f->region[i];

		r->mapped_over |= r->start < start + nr * PAGE && start < r->end;
	}
}

/* ------------------------------------------------------------------ mappings */

static int random_prot(struct fuzz *f)
{
	const int prots[] = { RX, RX, RX | PROT_WRITE, PROT_READ, PROT_NONE };

	return prots[fuzz_random(f, ARRAY_SIZE(prots))];
}

/* Mapping over text drops no registration of it. */
static bool map_over(struct fuzz *f, unsigned int page, unsigned int nr)
{
	int prot = random_prot(f);
	void *at = f->text + page * PAGE;

	if (mmap(at, nr * PAGE, prot, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
		 -1, 0) != at)
		return false;
	note_mapped_over(f, page, nr);
	for (unsigned int i = page; i < page + nr; i++)
		f->page[i] = prot;
	return true;
}

static bool unmap(struct fuzz *f, unsigned int page, unsigned int nr)
{
	if (munmap(f->text + page * PAGE, nr * PAGE))
		return false;
	drop_pages(f, page, nr);
	for (unsigned int i = page; i < page + nr; i++)
		f->page[i] = NOT_MAPPED;
	return true;
}

static bool protect(struct fuzz *f, unsigned int page, unsigned int nr)
{
	uint64_t start = addr_of(f->text) + page * PAGE;
	int prot = random_prot(f);

	if (!fuzz_is_mapped(f, start, start + nr * PAGE, false))
		return true;
	if (mprotect((void *)start, nr * PAGE, prot))
		return false;
	for (unsigned int i = page; i < page + nr; i++)
		f->page[i] = prot;
	return true;
}

static bool move(struct fuzz *f, unsigned int from, bool leave)
{
	unsigned int to = fuzz_random(f, FUZZ_PAGES);
	int flags = MREMAP_MAYMOVE | MREMAP_FIXED |
		    (leave ? MREMAP_DONTUNMAP : 0);
	void *at = f->text + to * PAGE;

	if (to == from || f->page[from] == NOT_MAPPED)
		return true;
	if (mremap(f->text + from * PAGE, PAGE, PAGE, flags, at) != at)
		return false;
	note_mapped_over(f, to, 1);
	drop_pages(f, from, 1);
	f->page[to] = f->page[from];
	if (!leave)
		f->page[from] = NOT_MAPPED;
	return true;
}

bool fuzz_map(struct fuzz *f)
{
	unsigned int page = fuzz_random(f, FUZZ_PAGES);
	unsigned int nr = 1 + fuzz_random(f, 4), what = fuzz_random(f, 8);
	bool good;

	if (nr > FUZZ_PAGES - page)
		nr = FUZZ_PAGES - page;
	switch (what) {
	case 0:
		good = unmap(f, page, nr);
		break;
	case 1:
		good = protect(f, page, nr);
		break;
	case 2:
	case 3:
		good = move(f, page, what == 3);
		break;
	case 4:
		good = !madvise(f->text + page * PAGE, nr * PAGE,
				MADV_DONTNEED) || errno == ENOMEM;
		break;
	default:
		good = map_over(f, page, nr);
	}
	/* A page may be gone, or back again, if others change the text, too. */
	if (!f->exact)
		return true;
	if (!good)
		printf("# change %u of the mapping at page %u: errno %d\n", what,
		       page, errno);
	return good;
}

/* -------------------------------------------------------------- what is there */

static bool check_line(const struct fuzz *f, const char *line,
		       unsigned int *seen)
{
	uint64_t start, end;
	char kind[4];

	if (sscanf(line, "%lx-%lx %3s", &start, &end, kind) != 3)
		return false;
	if (!fuzz_is_ours(f, start, end))
		return true;
	for (unsigned int i = 0; i < f->nr; i++) {
		const struct fuzz_region *r = &f->region[i];

		if (r->start != start || r->end != end)
			continue;
		(*seen)++;
		return !strcmp(kind, r->jit ? "jit" : "elf");
	}
	return false;
}

bool fuzz_check(const struct fuzz *f)
{
	int fd = proc_open(0);
	char *all = fd < 0 ? NULL : proc_read(fd, NULL), *line = all, *end;
	bool good = all && proc_check(all) >= 0;
	unsigned int seen = 0;

	for (; good && *line; line = end + 1) {
		end = strchr(line, '\n');
		*end = '\0';
		good = check_line(f, line, &seen);
		if (!good)
			printf("# not registered: %s\n", line);
	}
	if (good && seen != f->nr) {
		printf("# %u registrations, not %u\n", seen, f->nr);
		good = false;
	}
	free(all);
	close(fd);
	return good;
}

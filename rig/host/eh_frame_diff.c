// SPDX-License-Identifier: GPL-2.0
/*
 * Compares the rows that libcodectl makes from the .eh_frame of ELF files, placed in memory like
 * that of run-time compiled code, with libdw, at every address that they describe.
 */
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <uapi/linux/codectl.h>

#include "cfi.h"
#include "imported.h"
#include "section.h"

#define PAGE		4096UL
#define MAX_SHOWN	5
#define AMD64_FP	6
#define AMD64_SP	7

static struct {
	u64 addresses;
	u64 known;
	u64 unknown;
	u64 outermost;
} total;

/**
 * struct image - a file mapped as by a loader, but not linked
 * @elf: the file
 * @cfi: its CFI according to libdw
 * @base: what was added to its addresses
 * @size: its size in memory
 * @wrong: addresses at which the two differ
 */
struct image {
	Elf *elf;
	struct cfi *cfi;
	u64 base;
	u64 size;
	u64 wrong;
};

static bool is_reg(const struct unwind_loc *loc)
{
	return loc->kind == UNWIND_LOC_VAL &&
	       (loc->base == AMD64_SP || loc->base == AMD64_FP);
}

static bool is_saved(const struct unwind_loc *loc)
{
	return loc->kind == UNWIND_LOC_MEM && loc->base == UNWIND_BASE_CFA;
}

/* The part of DWARF's rule that a row can express. */
static struct imported expected(const struct cfi_row *row)
{
	const struct unwind_rule *rule = &row->rule;
	struct imported want = { .info = CODE_FRE_UNKNOWN };

	if (rule->ra.kind == UNWIND_LOC_LOST) {
		want.info = CODE_FRE_OUTERMOST;
		return want;
	}
	if (row->cfa_expression || row->sp_saved || !is_reg(&rule->cfa) || !is_saved(&rule->ra) ||
	    (row->beyond && strncmp(row->beyond, "FP is", 5)))
		return want;

	want.info = rule->cfa.base == AMD64_SP ? CODE_FRE_BASE_SP : 0;
	want.cfa_off = rule->cfa.off;
	want.ra_off = rule->ra.off;
	if (row->beyond || (rule->fp.kind != UNWIND_LOC_SAME && !is_saved(&rule->fp))) {
		want.info |= CODE_FRE_FP_UNDEF;
	} else if (is_saved(&rule->fp)) {
		want.info |= CODE_FRE_FP_SAVED;
		want.fp_off = rule->fp.off;
	}

	return want;
}

static void count(const struct imported *rule, u64 addresses)
{
	total.addresses += addresses;
	if (rule->info & CODE_FRE_OUTERMOST)
		total.outermost += addresses;
	else if (rule->info & CODE_FRE_UNKNOWN)
		total.unknown += addresses;
	else
		total.known += addresses;
}

static void show(const char *who, int ret, const struct imported *rule)
{
	printf("# %s: %d, info %#x, CFA %+d, RA %+d, FP %+d\n", who, ret, rule->info,
	       rule->cfa_off, rule->ra_off, rule->fp_off);
}

/* Compares at an address, and returns the next one at which either may change. */
static u64 compare(struct image *img, u64 at, u64 end)
{
	struct imported want, got = {};
	struct cfi_row row;
	int ret;

	if (cfi_find(img->cfi, at, &row)) {
		img->wrong++;
		return end;
	}
	want = expected(&row);
	ret = imported_find(img->base + at, &got);
	got.info &= ~CODE_FRE_SIGNAL;
	if (ret || got.info != want.info || got.cfa_off != want.cfa_off ||
	    got.ra_off != want.ra_off || got.fp_off != want.fp_off) {
		if (img->wrong++ < MAX_SHOWN) {
			printf("# at %#llx\n", (unsigned long long)at);
			show("libdw", 0, &want);
			show("libcodectl", ret, &got);
		}
		return at + 1;
	}
	if (row.end < end)
		end = row.end;
	if (got.end - img->base < end)
		end = got.end - img->base;
	count(&got, end - at);

	return end;
}

/* If FDEs overlap, the library has the one that begins first. */
static void compare_all(struct image *img)
{
	const struct cfi_fde *fdes;
	u64 at, before = 0;
	size_t nr, i;

	fdes = cfi_fdes(img->cfi, &nr);
	for (i = 0; i < nr; i++) {
		if (fdes[i].start < before)
			continue;
		for (at = fdes[i].start; at < fdes[i].end;)
			at = compare(img, at, fdes[i].end);
		before = fdes[i].end;
	}
}

static bool map_segment(const struct image *img, int fd, const GElf_Phdr *phdr)
{
	u64 off = phdr->p_vaddr % PAGE;

	return !phdr->p_filesz ||
	       mmap((void *)(img->base + phdr->p_vaddr - off), phdr->p_filesz + off,
		    PROT_READ, MAP_PRIVATE | MAP_FIXED, fd,
		    phdr->p_offset - off) != MAP_FAILED;
}

/* None of it runs, so nobody has registered it. */
static bool map_image(struct image *img, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	GElf_Phdr phdr;
	size_t nr, i;
	bool ok = true;
	void *map;

	if (fd < 0 || elf_getphdrnum(img->elf, &nr))
		return false;
	for (i = 0; i < nr; i++) {
		if (gelf_getphdr(img->elf, i, &phdr) && phdr.p_type == PT_LOAD &&
		    phdr.p_vaddr + phdr.p_memsz > img->size)
			img->size = phdr.p_vaddr + phdr.p_memsz;
	}
	map = mmap(NULL, img->size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (map == MAP_FAILED)
		return false;
	img->base = (uintptr_t)map;
	for (i = 0; i < nr && ok; i++)
		ok = gelf_getphdr(img->elf, i, &phdr) &&
		     (phdr.p_type != PT_LOAD || map_segment(img, fd, &phdr));
	close(fd);

	return ok;
}

static bool check_image(struct image *img, const char *path)
{
	struct codectl_eh_frame *frame;
	struct elf_section sec;
	struct imported rule;
	int ret;

	if (!map_image(img, path) || !elf_section(img->elf, ".eh_frame", &sec))
		return false;
	ret = imported_add((void *)(img->base + sec.addr), sec.size, &frame);
	if (ret) {
		printf("# codectl_eh_frame_add(): %d\n", ret);
		return false;
	}
	compare_all(img);
	imported_remove(frame);
	/* Nothing is left after removal. */
	ret = imported_find(img->base + cfi_fdes(img->cfi, &(size_t) { 0 })->start, &rule);

	return !img->wrong && ret == -ENOENT;
}

static bool check_file(const char *path)
{
	struct image img = { .elf = elf_open(path) };
	u64 before = total.addresses;
	bool ok;

	img.cfi = img.elf ? cfi_open(img.elf) : NULL;
	ok = img.cfi && check_image(&img, path);
	printf("# %s: %llu bytes, %llu differ\n", path,
	       (unsigned long long)(total.addresses - before),
	       (unsigned long long)img.wrong);
	if (img.base)
		munmap((void *)img.base, img.size);
	if (img.cfi)
		cfi_close(img.cfi);
	elf_end(img.elf);

	return ok;
}

/* usage: eh_frame_diff FILE... */
int main(int argc, char **argv)
{
	int failed = 0, i;
	bool ok;

	elf_version(EV_CURRENT);
	for (i = 1; i < argc; i++) {
		ok = check_file(argv[i]);
		failed += !ok;
		printf("%sok %d - rows and DWARF agree on %s\n", ok ? "" : "not ", i,
		       argv[i]);
	}
	printf("# %llu bytes of code: %llu with a rule, %llu outermost, %llu unknown\n",
	       (unsigned long long)total.addresses, (unsigned long long)total.known,
	       (unsigned long long)total.outermost, (unsigned long long)total.unknown);
	printf("1..%d\n", argc - 1);

	return failed || argc < 2;
}

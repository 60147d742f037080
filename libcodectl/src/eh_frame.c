// SPDX-License-Identifier: MIT
/*
 * Sections of .eh_frame, as regions: LSB 5.0, 10.6.
 *
 * Functions with no whole page between them are in one region, unless something
 * there is not mapped, or another region.  What is between others may get code of
 * somebody else, and goes by itself.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cfi.h"
#include "internal.h"

/* More than what the longest programs have. */
#define MAX_FUNC_ROWS	0x10000

#define DW_EH_PE_ALIGNED	0x50
#define DW_EH_PE_OMIT		0xff

/**
 * struct func - a function of a section
 * @start: its first byte
 * @len: its length
 * @first: its rows, in the array of all
 * @nr: how many
 */
struct func {
	uint64_t start;
	uint32_t len;
	uint32_t nr;
	size_t first;
};

/**
 * struct codectl_eh_frame - what was made of a section
 * @funcs: its functions, in order of address
 * @nr_funcs: how many
 * @rows: the rows of all
 * @nr_rows: how many
 * @max_rows: room for them
 * @regions: what covers them
 * @nr_regions: how many
 * @error: why no region could be opened
 */
struct codectl_eh_frame {
	struct func *funcs;
	size_t nr_funcs;
	struct code_jit_unwind_fre *rows;
	size_t nr_rows;
	size_t max_rows;
	struct codectl_region **regions;
	size_t nr_regions;
	int error;
};

/* --- the section */

static void read_augmentation(struct cfi_reader *r, const char *augmentation,
			      struct cfi_cie *cie)
{
	uint64_t len = codectl_cfi_read_uleb(r);
	struct cfi_reader data = { r->at, r->at + len, r->bad };
	uint8_t encoding;

	if (r->bad || len > (size_t)(r->end - r->at)) {
		r->bad = true;
		return;
	}
	r->at += len;
	cie->has_augmentation = true;
	for (; *augmentation && !data.bad; augmentation++) {
		switch (*augmentation) {
		case 'R':
			cie->fde_encoding = codectl_cfi_read(&data, 1);
			break;
		case 'L':
			codectl_cfi_read(&data, 1);
			break;
		case 'P':
			encoding = codectl_cfi_read(&data, 1);
			if (encoding == DW_EH_PE_OMIT)
				break;
			/* One that is aligned begins who knows where. */
			if ((encoding & 0x70) == DW_EH_PE_ALIGNED)
				data.bad = true;
			codectl_cfi_read_encoded(&data, encoding & 0x0f);
			break;
		case 'S':
			cie->is_signal = true;
			break;
		default:
			/* What follows cannot be told. */
			data.bad = true;
		}
	}
	r->bad = data.bad;
}

/* @r begins after the number that says that it is one. */
static bool read_cie(struct cfi_reader *r, struct cfi_cie *cie)
{
	uint8_t version = codectl_cfi_read(r, 1);
	const char *augmentation = (const char *)r->at;
	const uint8_t *end = r->bad ? NULL : memchr(r->at, 0, r->end - r->at);

	*cie = (struct cfi_cie) { 0 };
	if (!end || (version != 1 && version != 3))
		return false;
	r->at = end + 1;
	cie->code_align = codectl_cfi_read_uleb(r);
	cie->data_align = codectl_cfi_read_sleb(r);
	cie->ra_reg = version == 1 ? codectl_cfi_read(r, 1) : codectl_cfi_read_uleb(r);
	if (*augmentation == 'z')
		read_augmentation(r, augmentation + 1, cie);
	else if (*augmentation)
		r->bad = true;
	cie->program = *r;

	return !r->bad;
}

/**
 * enum entry - an entry of a section
 * @ENTRY_NONE: there is none any more
 * @ENTRY_CIE: what functions have in common
 * @ENTRY_FDE: a function
 * @ENTRY_BAD: it leaves the section, or has no end
 */
enum entry { ENTRY_NONE, ENTRY_CIE, ENTRY_FDE, ENTRY_BAD };

/*
 * The next entry: @entry has what comes after its first number, which says for a
 * function how far before itself what it has in common with others begins.
 */
static enum entry next_entry(struct cfi_reader *section,
			     struct cfi_reader *entry, const uint8_t **cie)
{
	uint64_t len, id;
	const uint8_t *at;

	if (section->at == section->end)
		return ENTRY_NONE;
	len = codectl_cfi_read(section, 4);
	if (len == UINT32_MAX)
		len = codectl_cfi_read(section, 8);
	if (section->bad || len > (size_t)(section->end - section->at))
		return ENTRY_BAD;
	if (!len)
		return ENTRY_NONE;

	at = section->at;
	*entry = (struct cfi_reader) { at, at + len, false };
	section->at += len;
	id = codectl_cfi_read(entry, 4);
	if (entry->bad)
		return ENTRY_BAD;
	*cie = at - id;

	return id ? ENTRY_FDE : ENTRY_CIE;
}

/* The entry at @at of the section has to be a CIE. */
static bool find_cie(const struct cfi_reader *section, const uint8_t *at,
		     struct cfi_cie *cie)
{
	struct cfi_reader from = *section, entry;
	const uint8_t *none;

	if (at < section->at || at >= section->end)
		return false;
	from.at = at;

	return next_entry(&from, &entry, &none) == ENTRY_CIE &&
	       read_cie(&entry, cie);
}

/* Where a function is, and its program. */
static bool read_fde(struct cfi_reader *r, struct cfi_fde *fde)
{
	uint8_t encoding = fde->cie.fde_encoding;
	uint64_t len;

	fde->start = codectl_cfi_read_encoded(r, encoding);
	fde->len = codectl_cfi_read_encoded(r, encoding & 0x0f);
	if (fde->cie.has_augmentation) {
		len = codectl_cfi_read_uleb(r);
		if (r->bad || len > (size_t)(r->end - r->at))
			return false;
		r->at += len;
	}
	fde->program = *r;

	return !r->bad && fde->start && fde->len && fde->len <= UINT32_MAX &&
	       fde->start + fde->len > fde->start;
}

/* --- functions */

/* Room for one more in an array that is as long as a power of two, or longer. */
static void *grow(void *array, size_t nr, size_t size)
{
	if (nr & (nr - 1))
		return array;

	return reallocarray(array, nr ? 2 * nr : 1, size);
}

static int reserve_rows(struct codectl_eh_frame *frame)
{
	size_t max = frame->max_rows ? 2 * frame->max_rows : 256;
	void *rows;

	if (max > frame->nr_rows + 2 * MAX_FUNC_ROWS)
		max = frame->nr_rows + 2 * MAX_FUNC_ROWS;
	rows = reallocarray(frame->rows, max, sizeof(*frame->rows));
	if (!rows)
		return -ENOMEM;
	frame->rows = rows;
	frame->max_rows = max;

	return 0;
}

/* One without a rule is left out. */
static int add_func(struct codectl_eh_frame *frame, const struct cfi_fde *fde)
{
	struct func func = { .start = fde->start, .len = fde->len,
			     .first = frame->nr_rows };
	void *funcs;
	size_t room;

	for (;;) {
		room = frame->max_rows - frame->nr_rows;
		func.nr = codectl_cfi_rows(fde, frame->rows + frame->nr_rows, room);
		if (func.nr < room || room >= MAX_FUNC_ROWS)
			break;
		if (reserve_rows(frame))
			return -ENOMEM;
	}
	if (!func.nr)
		return 0;

	funcs = grow(frame->funcs, frame->nr_funcs, sizeof(func));
	if (!funcs)
		return -ENOMEM;
	frame->funcs = funcs;
	frame->funcs[frame->nr_funcs++] = func;
	frame->nr_rows += func.nr;

	return 0;
}

static int read_section(struct codectl_eh_frame *frame,
			const struct cfi_reader *section)
{
	struct cfi_reader rest = *section, entry;
	struct cfi_fde fde;
	const uint8_t *cie;
	enum entry kind;
	int ret;

	while ((kind = next_entry(&rest, &entry, &cie)) != ENTRY_NONE) {
		if (kind == ENTRY_BAD)
			return -EINVAL;
		if (kind != ENTRY_FDE || !find_cie(section, cie, &fde.cie) ||
		    !read_fde(&entry, &fde))
			continue;
		ret = add_func(frame, &fde);
		if (ret)
			return ret;
	}

	return 0;
}

static int compare(const void *a, const void *b)
{
	const struct func *left = a, *right = b;

	return left->start < right->start ? -1 : left->start > right->start;
}

/* Of functions that overlap only the one that begins first is kept. */
static void sort_funcs(struct codectl_eh_frame *frame)
{
	struct func *funcs = frame->funcs;
	size_t i, nr = 0;

	qsort(funcs, frame->nr_funcs, sizeof(*funcs), compare);
	for (i = 0; i < frame->nr_funcs; i++) {
		if (!nr || funcs[i].start - funcs[nr - 1].start >=
			   funcs[nr - 1].len)
			funcs[nr++] = funcs[i];
	}
	frame->nr_funcs = nr;
}

/* --- regions */

static struct codectl_region *open_funcs(struct codectl_eh_frame *frame,
					 const struct func *funcs, size_t nr)
{
	const struct func *last = &funcs[nr - 1];
	struct codectl_region_attr attr = { .name_bytes = 1 };
	struct codectl_region *region;
	size_t i;
	int ret;

	for (i = 0; i < nr; i++)
		attr.max_rows += funcs[i].nr;
	ret = codectl_region_open((void *)(uintptr_t)funcs->start,
				  last->start + last->len - funcs->start,
				  &attr, &region);
	if (ret) {
		frame->error = ret;
		return NULL;
	}

	for (i = 0; i < nr; i++)
		codectl_region_add(region, funcs[i].start, funcs[i].len,
				   &frame->rows[funcs[i].first], funcs[i].nr,
				   NULL);

	return region;
}

/* Where the widest gap of several functions ends. */
static size_t widest_gap(const struct func *funcs, size_t nr)
{
	uint64_t widest = 0, gap;
	size_t i, at = 1;

	for (i = 1; i < nr; i++) {
		gap = funcs[i].start - funcs[i - 1].start - funcs[i - 1].len;
		if (gap > widest) {
			widest = gap;
			at = i;
		}
	}

	return at;
}

static int keep_region(struct codectl_eh_frame *frame,
		       struct codectl_region *region)
{
	void *regions = grow(frame->regions, frame->nr_regions, sizeof(region));

	if (!regions) {
		codectl_region_close(region);
		return -ENOMEM;
	}
	frame->regions = regions;
	frame->regions[frame->nr_regions++] = region;

	return 0;
}

/*
 * Opens regions over functions: one, or those for what is before and after the
 * widest gap, where one cannot be.  Calls itself for the smaller half.
 */
static int open_regions(struct codectl_eh_frame *frame, size_t first, size_t nr)
{
	struct codectl_region *region;
	size_t before;
	int ret;

	for (;;) {
		region = open_funcs(frame, frame->funcs + first, nr);
		if (region)
			return keep_region(frame, region);
		if (frame->error != -EINVAL && frame->error != -EEXIST)
			return frame->error;
		if (nr == 1)
			return 0;

		before = widest_gap(frame->funcs + first, nr);
		if (2 * before <= nr) {
			ret = open_regions(frame, first, before);
			first += before;
			nr -= before;
		} else {
			ret = open_regions(frame, first + before, nr - before);
			nr = before;
		}
		if (ret)
			return ret;
	}
}

/* How many functions from the first one on have no page between them. */
static size_t count_near(const struct func *funcs, size_t nr)
{
	uint64_t end, next;
	size_t i;

	for (i = 1; i < nr; i++) {
		end = funcs[i - 1].start + funcs[i - 1].len - 1;
		next = funcs[i].start;
		if (next / CODECTL_PAGE > end / CODECTL_PAGE + 1)
			break;
	}

	return i;
}

static int open_all(struct codectl_eh_frame *frame)
{
	size_t first, nr;
	int ret;

	for (first = 0; first < frame->nr_funcs; first += nr) {
		nr = count_near(frame->funcs + first, frame->nr_funcs - first);
		ret = open_regions(frame, first, nr);
		if (ret)
			return ret;
	}

	return frame->nr_regions ? 0 : frame->error;
}

static int build(struct codectl_eh_frame *frame,
		 const struct cfi_reader *section)
{
	int ret = read_section(frame, section);

	if (ret)
		return ret;
	if (!frame->nr_funcs)
		return -ENODATA;
	sort_funcs(frame);
	ret = open_all(frame);
	free(frame->rows);
	free(frame->funcs);
	frame->rows = NULL;
	frame->funcs = NULL;

	return ret;
}

int codectl_eh_frame_add(const void *section, size_t len,
			 struct codectl_eh_frame **framep)
{
	const uint8_t *at = section, *end = len ? at + len : (void *)-1UL;
	const struct cfi_reader reader = { at, end, false };
	struct codectl_eh_frame *frame;
	int saved = errno, ret;

	frame = calloc(1, sizeof(*frame));
	ret = frame ? build(frame, &reader) : -ENOMEM;
	if (ret)
		codectl_eh_frame_remove(frame);
	else
		*framep = frame;
	errno = saved;

	return ret;
}

void codectl_eh_frame_remove(struct codectl_eh_frame *frame)
{
	int saved = errno;
	size_t i;

	if (!frame)
		return;

	for (i = 0; i < frame->nr_regions; i++)
		codectl_region_close(frame->regions[i]);
	free(frame->regions);
	free(frame->rows);
	free(frame->funcs);
	free(frame);
	errno = saved;
}

// SPDX-License-Identifier: MIT
/*
 * Sections of .eh_frame (LSB 5.0, 10.6) and .debug_frame (DWARF 5, 6.4.1), as regions.
 *
 * Functions with no whole page between them share a region, unless something there is
 * not mapped, or is another region.  Gaps of a page or more may get code of somebody
 * else, and may be unmapped separately.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "cfi.h"
#include "internal.h"

/* More than the longest programs have. */
#define MAX_FUNC_ROWS	0x10000

#define DW_EH_PE_ALIGNED	0x50
#define DW_EH_PE_OMIT		0xff

/**
 * struct func - a function of a section
 * @start: its first byte
 * @len: its length
 * @first: its rows, in the array of all rows
 * @nr: number of rows
 */
struct func {
	uint64_t start;
	uint32_t len;
	uint32_t nr;
	size_t first;
};

/**
 * struct array - growing memory from no allocator, as that may be calling us
 * @mem: where it is
 * @used: bytes of it
 * @room: bytes available
 */
struct array {
	char *mem;
	size_t used;
	size_t room;
};

/**
 * struct parts - what a section is split into
 * @funcs: its functions, in order of address in the end
 * @rows: the rows of all
 */
struct parts {
	struct array funcs;
	struct array rows;
};

/**
 * struct codectl_eh_frame - what was made of a section
 * @len: size of this struct
 * @nr_regions: number of regions
 * @error: why no region could be opened
 * @regions: what covers the functions
 */
struct codectl_eh_frame {
	size_t len;
	size_t nr_regions;
	int error;
	struct codectl_region *regions[];
};

static size_t nr_funcs(const struct parts *parts)
{
	return parts->funcs.used / sizeof(struct func);
}

static struct func *func_at(const struct parts *parts, size_t nr)
{
	return (struct func *)parts->funcs.mem + nr;
}

static struct code_jit_unwind_fre *row_at(const struct parts *parts, size_t nr)
{
	return (struct code_jit_unwind_fre *)parts->rows.mem + nr;
}

/* To twice the room, or at least some pages. */
static int grow(struct array *array)
{
	size_t room = array->room ? 2 * array->room : 4 * CODECTL_PAGE;
	void *mem;

	if (array->room)
		mem = mremap(array->mem, array->room, room, MREMAP_MAYMOVE);
	else
		mem = mmap(NULL, room, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (mem == MAP_FAILED)
		return -ENOMEM;
	array->mem = mem;
	array->room = room;

	return 0;
}

static void drop(struct array *array)
{
	if (array->room)
		munmap(array->mem, array->room);
}

/* --- the section */

/**
 * struct section - what is read
 * @all: all of it
 * @is_debug: it is a .debug_frame
 */
struct section {
	struct cfi_reader all;
	bool is_debug;
};

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
			/* It is unknown where an aligned one begins. */
			if ((encoding & 0x70) == DW_EH_PE_ALIGNED)
				data.bad = true;
			codectl_cfi_read_encoded(&data, encoding & 0x0f);
			break;
		case 'S':
			cie->is_signal = true;
			break;
		default:
			/* What follows is unknown. */
			data.bad = true;
		}
	}
	r->bad = data.bad;
}

/* @r begins after the number that marks it as one. */
static bool read_cie(struct cfi_reader *r, bool is_debug, struct cfi_cie *cie)
{
	uint8_t version = codectl_cfi_read(r, 1);
	const char *augmentation = (const char *)r->at;
	const uint8_t *end = r->bad ? NULL : memchr(r->at, 0, r->end - r->at);

	*cie = (struct cfi_cie) { 0 };
	if (!end || (version != 1 && version != 3 && (version != 4 || !is_debug)))
		return false;
	r->at = end + 1;
	/* Sizes of addresses and of segment selectors. */
	if (version == 4 && codectl_cfi_read(r, 2) != 8)
		return false;
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
 * @ENTRY_NONE: there is none left
 * @ENTRY_CIE: what functions have in common
 * @ENTRY_FDE: a function
 * @ENTRY_BAD: it leaves the section, or has no end
 */
enum entry { ENTRY_NONE, ENTRY_CIE, ENTRY_FDE, ENTRY_BAD };

/*
 * What the first number of an entry says: that it is a CIE, or for a function where its
 * CIE is, counted backwards from that number, or in a .debug_frame from the start.
 */
static enum entry read_id(const struct section *section, struct cfi_reader *entry,
			  size_t size, const uint8_t **cie)
{
	const uint8_t *at = entry->at;
	uint64_t id = codectl_cfi_read(entry, section->is_debug ? size : 4);
	uint64_t none = section->is_debug ? UINT64_MAX >> (64 - 8 * size) : 0;

	if (entry->bad)
		return ENTRY_BAD;
	*cie = section->is_debug ? section->all.at + id : at - id;

	return id == none ? ENTRY_CIE : ENTRY_FDE;
}

/* The next remaining entry: @entry has what comes after its first number. */
static enum entry next_entry(const struct section *section,
			     struct cfi_reader *left, struct cfi_reader *entry,
			     const uint8_t **cie)
{
	size_t size = 4;
	uint64_t len;

	if (left->at == left->end)
		return ENTRY_NONE;
	len = codectl_cfi_read(left, 4);
	if (len == UINT32_MAX) {
		size = 8;
		len = codectl_cfi_read(left, 8);
	}
	if (left->bad || len > (size_t)(left->end - left->at))
		return ENTRY_BAD;
	if (!len)
		return ENTRY_NONE;

	*entry = (struct cfi_reader) { left->at, left->at + len, false };
	left->at += len;

	return read_id(section, entry, size, cie);
}

/* The entry at @at of the section must be a CIE. */
static bool find_cie(const struct section *section, const uint8_t *at,
		     struct cfi_cie *cie)
{
	struct cfi_reader from = section->all, entry;
	const uint8_t *none;

	if (at < from.at || at >= from.end)
		return false;
	from.at = at;

	return next_entry(section, &from, &entry, &none) == ENTRY_CIE &&
	       read_cie(&entry, section->is_debug, cie);
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

/* A function without a rule is left out. */
static int add_func(struct parts *parts, const struct cfi_fde *fde)
{
	struct array *rows = &parts->rows, *funcs = &parts->funcs;
	const size_t row = sizeof(struct code_jit_unwind_fre);
	struct func func = { .start = fde->start, .len = fde->len,
			     .first = rows->used / row };
	size_t room;

	for (;;) {
		room = (rows->room - rows->used) / row;
		func.nr = codectl_cfi_rows(fde, row_at(parts, func.first), room);
		if (func.nr < room || room >= MAX_FUNC_ROWS)
			break;
		if (grow(rows))
			return -ENOMEM;
	}
	if (!func.nr)
		return 0;

	if (funcs->room - funcs->used < sizeof(func) && grow(funcs))
		return -ENOMEM;
	*func_at(parts, nr_funcs(parts)) = func;
	funcs->used += sizeof(func);
	rows->used += func.nr * row;

	return 0;
}

/* Reads the rest of the section. */
static int read_section(struct parts *parts, const struct section *section,
			struct cfi_reader left)
{
	struct cfi_reader entry;
	struct cfi_fde fde;
	const uint8_t *cie;
	enum entry kind;
	int ret;

	while ((kind = next_entry(section, &left, &entry, &cie)) != ENTRY_NONE) {
		if (kind == ENTRY_BAD)
			return -EINVAL;
		if (kind != ENTRY_FDE || !find_cie(section, cie, &fde.cie) ||
		    !read_fde(&entry, &fde))
			continue;
		ret = add_func(parts, &fde);
		if (ret)
			return ret;
	}

	return 0;
}

/* If they have the same address, in the order in which they were found. */
static bool is_before(const struct func *a, const struct func *b)
{
	return a->start < b->start || (a->start == b->start && a->first < b->first);
}

/* Below @top everything is a heap of @nr, whose parents begin after their children. */
static void sift_down(struct func *funcs, size_t top, size_t nr)
{
	const struct func func = funcs[top];
	size_t child;

	while ((child = 2 * top + 1) < nr) {
		if (child + 1 < nr && is_before(&funcs[child], &funcs[child + 1]))
			child++;
		if (!is_before(&func, &funcs[child]))
			break;
		funcs[top] = funcs[child];
		top = child;
	}
	funcs[top] = func;
}

/* qsort() uses the allocator, which may be calling us. */
static void heap_sort(struct func *funcs, size_t nr)
{
	struct func last;
	size_t i;

	for (i = nr / 2; i-- > 0;)
		sift_down(funcs, i, nr);
	while (nr-- > 1) {
		last = funcs[nr];
		funcs[nr] = funcs[0];
		funcs[0] = last;
		sift_down(funcs, 0, nr);
	}
}

/* Of overlapping functions only the one that begins first is kept. */
static void sort_funcs(struct parts *parts)
{
	struct func *funcs = func_at(parts, 0);
	size_t i, nr = 0;

	heap_sort(funcs, nr_funcs(parts));
	for (i = 0; i < nr_funcs(parts); i++) {
		if (!nr || funcs[i].start - funcs[nr - 1].start >=
			   funcs[nr - 1].len)
			funcs[nr++] = funcs[i];
	}
	parts->funcs.used = nr * sizeof(*funcs);
}

/* --- regions */

static struct codectl_region *open_funcs(struct codectl_eh_frame *frame,
					 const struct parts *parts,
					 size_t first, size_t nr)
{
	const struct func *funcs = func_at(parts, first);
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
				   row_at(parts, funcs[i].first), funcs[i].nr,
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

/*
 * Opens regions over functions: one or, where that fails, those for what is before and
 * after the widest gap.  Calls itself for the smaller half.
 */
static int open_regions(struct codectl_eh_frame *frame, const struct parts *parts,
			size_t first, size_t nr)
{
	struct codectl_region *region;
	size_t before;
	int ret;

	for (;;) {
		region = open_funcs(frame, parts, first, nr);
		if (region) {
			frame->regions[frame->nr_regions++] = region;
			return 0;
		}
		if (frame->error != -EINVAL && frame->error != -EEXIST)
			return frame->error;
		if (nr == 1)
			return 0;

		before = widest_gap(func_at(parts, first), nr);
		if (2 * before <= nr) {
			ret = open_regions(frame, parts, first, before);
			first += before;
			nr -= before;
		} else {
			ret = open_regions(frame, parts, first + before,
					   nr - before);
			nr = before;
		}
		if (ret)
			return ret;
	}
}

/* How many functions, from the first one on, have no page between them. */
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

static int open_all(struct codectl_eh_frame *frame, const struct parts *parts)
{
	size_t first, nr, all = nr_funcs(parts);
	int ret;

	for (first = 0; first < all; first += nr) {
		nr = count_near(func_at(parts, first), all - first);
		ret = open_regions(frame, parts, first, nr);
		if (ret)
			return ret;
	}

	return frame->nr_regions ? 0 : frame->error;
}

/* No function has more than one region. */
static int publish(const struct parts *parts, struct codectl_eh_frame **framep)
{
	size_t len = sizeof(**framep) + nr_funcs(parts) * sizeof((*framep)->regions[0]);
	struct codectl_eh_frame *frame;
	int ret;

	frame = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		     -1, 0);
	if (frame == MAP_FAILED)
		return -ENOMEM;
	frame->len = len;
	ret = open_all(frame, parts);
	if (ret)
		codectl_eh_frame_remove(frame);
	else
		*framep = frame;

	return ret;
}

static int add(const struct section *section, struct cfi_reader left,
	       struct codectl_eh_frame **framep)
{
	struct parts parts = { 0 };
	int saved = errno, ret;

	ret = read_section(&parts, section, left);
	if (!ret && !nr_funcs(&parts))
		ret = -ENODATA;
	if (!ret) {
		sort_funcs(&parts);
		ret = publish(&parts, framep);
	}
	drop(&parts.funcs);
	drop(&parts.rows);
	errno = saved;

	return ret;
}

int codectl_eh_frame_add(const void *start, size_t len,
			 struct codectl_eh_frame **framep)
{
	const uint8_t *at = start, *end = len ? at + len : (void *)-1UL;
	const struct section section = { .all = { at, end, false } };

	return add(&section, section.all, framep);
}

int codectl_debug_frame_add(const void *start, size_t len,
			    struct codectl_eh_frame **framep)
{
	const uint8_t *at = start;
	const struct section section = {
		.all = { at, at + len, false }, .is_debug = true,
	};

	return add(&section, section.all, framep);
}

int codectl_fde_add(const void *fde, struct codectl_eh_frame **framep)
{
	struct section section = { .all = { fde, (void *)-1UL, false } };
	struct cfi_reader left = section.all, entry;
	const uint8_t *cie;

	if (next_entry(&section, &left, &entry, &cie) != ENTRY_FDE || cie >= entry.at)
		return -EINVAL;
	/* From its CIE, which comes before it, to its end. */
	section.all = (struct cfi_reader) { cie, entry.end, false };
	left = (struct cfi_reader) { fde, entry.end, false };

	return add(&section, left, framep);
}

void codectl_eh_frame_remove(struct codectl_eh_frame *frame)
{
	int saved = errno;
	size_t i;

	if (!frame)
		return;

	for (i = 0; i < frame->nr_regions; i++)
		codectl_region_close(frame->regions[i]);
	munmap(frame, frame->len);
	errno = saved;
}

// SPDX-License-Identifier: MIT
/*
 * CFI as rows: dwarf_next_cfi() gives the ranges, and dwarf_cfi_addrframe() the rules
 * in them (DWARF 5, 6.4; LSB, "DWARF Extensions").
 */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "expression.h"
#include "frames.h"
#include "known.h"
#include "padding.h"
#include "table.h"

/* More than any alignment of functions. */
#define MAX_PADDING	64

struct fde {
	uint64_t start, end;
	Dwarf_CFI *cfi;
	bool topmost, restorer;	/* known.h, whatever its CFI says */
};

/* A section with CFI. */
struct section {
	Elf_Data *data;
	uint64_t addr;
	Dwarf_CFI *cfi;
	bool eh;
};

struct reader {
	Elf *elf;
	struct object *object;
	struct fde *fdes;
	size_t nr_fdes;
	struct row *rows;
	size_t room;
};

/* False if there is no room for one more than the @nr of @size bytes at *@array. */
static bool grow(void *array, size_t nr, size_t size)
{
	void **at = array, *more;

	/* At each power of two. */
	if (nr & (nr - 1))
		return true;
	more = reallocarray(*at, nr ? 2 * nr : 1, size);
	if (!more)
		return false;
	*at = more;
	return true;
}

static void count(struct count *to, uint64_t bytes)
{
	to->ranges++;
	to->bytes += bytes;
}

/* ------------------------------------------------------------- which ranges */

/* A pointer of .eh_frame without its base: DW_EH_PE_*. */
static bool read_pointer(uint8_t encoding, const uint8_t **at, const uint8_t *end,
			 uint64_t *value)
{
	size_t size = (encoding & 7) == DW_EH_PE_udata2 ? 2 :
		      (encoding & 7) == DW_EH_PE_udata4 ? 4 : 8;

	if ((encoding & 7) == DW_EH_PE_uleb128 || (encoding & 7) > DW_EH_PE_udata8 ||
	    (size_t)(end - *at) < size)
		return false;
	*value = 0;
	memcpy(value, *at, size);
	*at += size;
	if (encoding & DW_EH_PE_signed && size == 4)
		*value = (int32_t)*value;
	else if (encoding & DW_EH_PE_signed && size == 2)
		*value = (int16_t)*value;
	return true;
}

/* How the FDEs of @cie encode addresses, by its augmentation; -1: unknown. */
static int address_encoding(const Dwarf_CIE *cie)
{
	const uint8_t *at = cie->augmentation_data;
	const uint8_t *end = at + cie->augmentation_data_size;
	const char *augmentation = cie->augmentation;
	uint64_t ignored;
	uint8_t encoding;

	if (!*augmentation)
		return DW_EH_PE_absptr;
	if (*augmentation++ != 'z')
		return -1;
	for (; *augmentation; augmentation++) {
		/* It marks a signal frame; the others are for other machines. */
		if (*augmentation == 'S')
			continue;
		if (!strchr("RPL", *augmentation) || at == end)
			return -1;
		encoding = *at++;
		if (*augmentation == 'R')
			return encoding;
		if (*augmentation == 'P' && !read_pointer(encoding, &at, end, &ignored))
			return -1;
	}
	return DW_EH_PE_absptr;
}

/* What the FDE covers; false if that cannot be determined. */
static bool read_range(const struct section *section, const Dwarf_FDE *entry,
		       int encoding, struct fde *fde)
{
	const uint8_t *at = entry->start;
	uint64_t place = section->addr + (at - (uint8_t *)section->data->d_buf);
	uint64_t size;

	if (encoding < 0 ||
	    !read_pointer(encoding, &at, entry->end, &fde->start) ||
	    !read_pointer(encoding & 7, &at, entry->end, &size))
		return false;
	if ((encoding & 0xf0) == DW_EH_PE_pcrel)
		fde->start += place;
	else if (encoding & 0xf0)
		return false;
	fde->end = fde->start + size;
	return true;
}

/* Neither empty nor discarded by the linker, which leaves those at 0. */
static bool is_code(const struct object *object, const struct fde *fde)
{
	for (size_t i = 0; i < object->nr_segments; i++) {
		const struct segment *segment = &object->segments[i];

		if (fde->start >= segment->vaddr && fde->start < fde->end &&
		    fde->end <= segment->vaddr + segment->len)
			return true;
	}
	return false;
}

static int compare_fdes(const void *a, const void *b)
{
	const struct fde *one = a, *other = b;

	return (one->start > other->start) - (one->start < other->start);
}

static int compare_address(const void *key, const void *element)
{
	const struct fde *fde = element;
	uint64_t address = *(const uint64_t *)key;

	return (address >= fde->end) - (address < fde->start);
}

/* Adds the FDE unless one of the first @known, from another section, covers its start. */
static bool add_fde(struct reader *reader, const struct section *section,
		    const struct fde *fde, size_t known)
{
	if (!is_code(reader->object, fde) ||
	    (known && bsearch(&fde->start, reader->fdes, known, sizeof(*fde), compare_address)))
		return true;
	if (!grow(&reader->fdes, reader->nr_fdes, sizeof(*fde)))
		return false;
	reader->fdes[reader->nr_fdes] = *fde;
	reader->fdes[reader->nr_fdes++].cfi = section->cfi;
	return true;
}

/* False without memory.  What comes after a malformed entry cannot be found. */
static bool read_section(struct reader *reader, const struct section *section)
{
	const void *ident = elf_getident(reader->elf, NULL);
	Dwarf_Off offset = 0, next, known_cie = -1, unused;
	Dwarf_CFI_Entry entry, cie;
	size_t known = reader->nr_fdes;
	int encoding = -1, end;
	struct fde fde;

	while (!(end = dwarf_next_cfi(ident, section->data, section->eh, offset, &next,
				      &entry))) {
		offset = next;
		if (dwarf_cfi_cie_p(&entry))
			continue;
		if (entry.fde.CIE_pointer != known_cie) {
			known_cie = entry.fde.CIE_pointer;
			encoding = -1;
			if (!dwarf_next_cfi(ident, section->data, section->eh,
					    known_cie, &unused, &cie) &&
			    dwarf_cfi_cie_p(&cie))
				encoding = section->eh ? address_encoding(&cie.cie) :
							 DW_EH_PE_absptr;
		}
		if (!read_range(section, &entry.fde, encoding, &fde))
			count(&reader->object->causes[CAUSE_MALFORMED], 0);
		else if (!add_fde(reader, section, &fde, known))
			return false;
	}
	if (end < 0)
		count(&reader->object->causes[CAUSE_MALFORMED], 0);
	if (reader->nr_fdes)
		qsort(reader->fdes, reader->nr_fdes, sizeof(fde), compare_fdes);
	return true;
}

/* ------------------------------------------------------------------ the rules */

static bool same_loc(const struct loc *one, const struct loc *other)
{
	return one->kind == other->kind && one->base == other->base &&
	       one->off == other->off;
}

/* The caller's SP is the CFA, unless stated otherwise. */
static bool sp_is_cfa(Dwarf_Frame *frame, const struct row *row)
{
	struct loc sp;

	switch (expression_register(frame, REG_SP, &sp)) {
	case REGISTER_UNDEFINED:
		return true;
	case REGISTER_FOUND:
		return sp.kind == LOC_SAME ||
		       (sp.kind == LOC_VALUE && sp.base == BASE_CFA && !sp.off) ||
		       (same_loc(&sp, &row->cfa) && !row->pushed);
	default:
		return false;
	}
}

/* Fills in what @frame says; returns the cause if SFrame cannot, else NR_CAUSES. */
static enum cause read_frame(Dwarf_Frame *frame, struct row *row)
{
	switch (expression_register(frame, REG_RA, &row->ra)) {
	case REGISTER_UNDEFINED:
		row->flags |= ROW_OUTERMOST;
		return NR_CAUSES;
	case REGISTER_BEYOND:
		return CAUSE_RA;
	default:
		/* Neither in place nor an address near the stack. */
		if (row->ra.kind == LOC_SAME ||
		    (row->ra.kind == LOC_VALUE && row->ra.base == BASE_CFA))
			return CAUSE_RA;
	}
	if (!expression_cfa(frame, row))
		return CAUSE_CFA;
	if (!sp_is_cfa(frame, row))
		return CAUSE_SP;
	switch (expression_register(frame, REG_FP, &row->fp)) {
	case REGISTER_UNDEFINED:
		return CAUSE_FP_UNDEFINED;
	case REGISTER_FOUND:
		/* The control word of an address near the CFA stands for none. */
		return row->fp.kind == LOC_VALUE && row->fp.base == BASE_CFA ?
		       CAUSE_FP : NR_CAUSES;
	default:
		return CAUSE_FP;
	}
}

static bool same_rule(const struct row *one, const struct row *other)
{
	return one->flags == other->flags && one->pushed == other->pushed &&
	       same_loc(&one->cfa, &other->cfa) && same_loc(&one->ra, &other->ra) &&
	       same_loc(&one->fp, &other->fp);
}

static struct row *last_row(const struct reader *reader)
{
	size_t nr = reader->object->nr_rows;

	return nr ? &reader->rows[nr - 1] : NULL;
}

/* Adds a row, or extends the last one. */
static bool add_row(struct reader *reader, struct row *row)
{
	struct object *object = reader->object;
	struct row *last = last_row(reader);

	if (row->flags & (ROW_OUTERMOST | ROW_NOTHING)) {
		row->cfa = (struct loc){ 0 };
		row->ra = row->cfa;
		row->fp = row->cfa;
	}
	if (last && last->start + last->size == row->start &&
	    !row->pushed && same_rule(last, row) &&
	    (uint64_t)last->size + row->size < UINT32_MAX) {
		last->size += row->size;
		return true;
	}
	if (object->nr_rows == MAX_ROWS) {
		object->error = OBJECT_TOO_LARGE;
		return false;
	}
	if (!grow(&reader->rows, object->nr_rows, sizeof(*row))) {
		object->error = OBJECT_NO_MEMORY;
		return false;
	}
	reader->rows[object->nr_rows++] = *row;
	return true;
}

/* Adds that there is no rule from @at to @end; false on error. */
static bool add_nothing(struct reader *reader, enum cause cause, uint64_t at, uint64_t end)
{
	struct row row;

	count(&reader->object->causes[cause], end - at);
	for (; at < end; at += row.size) {
		row = (struct row){ .start = at, .flags = ROW_NOTHING };
		row.size = end - at < UINT32_MAX ? end - at : UINT32_MAX;
		if (!add_row(reader, &row))
			return false;
	}
	return true;
}

/* The row at @at, up to @end; false if libdw refuses it. */
static bool read_row(const struct fde *fde, uint64_t at, uint64_t end, struct row *row,
		     enum cause *cause)
{
	Dwarf_Addr row_start, row_end;
	Dwarf_Frame *frame;
	bool is_signal;
	int ra;

	if (dwarf_cfi_addrframe(fde->cfi, at, &frame))
		return false;
	*row = (struct row){ .start = at };
	ra = dwarf_frame_info(frame, &row_start, &row_end, &is_signal);
	if (ra == REG_RA && row_start <= at && row_end > at) {
		row->size = (row_end < end ? row_end : end) - at;
		row->flags = is_signal ? ROW_SIGNAL : 0;
		*cause = read_frame(frame, row);
		if (*cause == NR_CAUSES && !table_takes(row, 0))
			*cause = CAUSE_CFA;
	}
	free(frame);
	return row->size;
}

/* Adds the rows from @at to @end, in @fde; false on error. */
static bool read_rows(struct reader *reader, const struct fde *fde, uint64_t at,
		      uint64_t end)
{
	enum cause cause = NR_CAUSES;
	struct row row;

	for (; at < end; at += row.size) {
		if (!read_row(fde, at, end, &row, &cause))
			return add_nothing(reader, CAUSE_MALFORMED, at, end);
		if (cause != NR_CAUSES) {
			if (!add_nothing(reader, cause, at, at + row.size))
				return false;
			continue;
		}
		count(&reader->object->covered, row.size);
		if (!add_row(reader, &row))
			return false;
	}
	return true;
}

/* The bytes of the file that are mapped at @start, or NULL. */
static const uint8_t *find_bytes(struct reader *reader, uint64_t start, uint64_t size)
{
	const struct object *object = reader->object;
	size_t file_size;
	const char *file = elf_rawfile(reader->elf, &file_size);

	for (size_t i = 0; file && i < object->nr_segments; i++) {
		const struct segment *segment = &object->segments[i];
		uint64_t off = start - segment->vaddr;

		if (off < segment->len && size <= segment->len - off &&
		    segment->offset <= file_size && segment->len <= file_size - segment->offset)
			return (const uint8_t *)file + segment->offset + off;
	}
	return NULL;
}

/* For a return address the byte before it is looked up, which is in no function. */
static void begin_early(struct reader *reader, struct fde *fde)
{
	const uint8_t *before = find_bytes(reader, fde->start - 1, 1);

	if (before && is_padding(before, 1) &&
	    (fde == reader->fdes || fde[-1].end < fde->start))
		fde->start--;
}

static void find_known(struct reader *reader)
{
	struct topmost topmost;
	const uint8_t *code;

	known_find_topmost(reader->elf, &topmost);
	for (size_t i = 0; i < reader->nr_fdes; i++) {
		struct fde *fde = &reader->fdes[i];

		fde->topmost = known_is_topmost(&topmost, fde->start);
		code = fde->end - fde->start < KNOWN_RESTORER_SIZE ? NULL :
		       find_bytes(reader, fde->start, KNOWN_RESTORER_SIZE);
		fde->restorer = code && known_is_restorer(code);
		if (fde->restorer)
			begin_early(reader, fde);
	}
}

/* From @at to @end, in a known function; false on error. */
static bool add_known(struct reader *reader, const struct fde *fde, uint64_t at, uint64_t end)
{
	struct row row = known_restorer;

	if (at == end)
		return true;
	if (fde->topmost)
		row = (struct row){ .flags = ROW_OUTERMOST };
	row.start = at;
	row.size = end - at;
	count(&reader->object->covered, row.size);
	return add_row(reader, &row);
}

/*
 * Extends the last row over what is between its FDE, which ends at @from, and the next
 * one, if that is only alignment: nothing runs there, and rows of several functions
 * without a gap can share an FDE of SFrame, which keeps tables small.
 */
static void cover_padding(struct reader *reader, uint64_t from, uint64_t to)
{
	struct row *last = last_row(reader);
	const uint8_t *bytes;

	if (!last || last->start + last->size != from || last->pushed ||
	    last->flags & (ROW_SIGNAL | ROW_NOTHING) || to - from > MAX_PADDING ||
	    UINT32_MAX - last->size <= MAX_PADDING)
		return;
	bytes = find_bytes(reader, from, to - from);
	if (bytes && is_padding(bytes, to - from))
		last->size += to - from;
}

/*
 * Reads what only one FDE covers.  Which of several libdw would find depends on earlier
 * lookups, so there is no rule where they overlap.
 */
static bool read_fdes(struct reader *reader)
{
	uint64_t covered = 0, from, to, next;
	bool good;

	find_known(reader);
	for (size_t i = 0; i < reader->nr_fdes; i++) {
		const struct fde *fde = &reader->fdes[i];

		next = i + 1 < reader->nr_fdes ? fde[1].start : fde->end;
		from = fde->start > covered ? fde->start : covered;
		to = fde->end < next ? fde->end : next;
		if (from > to)
			to = from;
		covered = fde->end > covered ? fde->end : covered;
		if (to - from >= UINT32_MAX)
			good = add_nothing(reader, CAUSE_MALFORMED, from, to);
		else if (fde->topmost || fde->restorer)
			good = add_known(reader, fde, from, to);
		else
			good = read_rows(reader, fde, from, to);
		if (!good)
			return false;
		if (to < fde->end && !add_nothing(reader, CAUSE_OVERLAP, to, fde->end))
			return false;
		if (next > covered)
			cover_padding(reader, covered, next);
	}
	return true;
}

/* ------------------------------------------------------------------ sections */

/* The section named @name, with its contents in memory and uncompressed. */
static bool find_section(Elf *elf, const char *name, struct section *section)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr header;
	size_t names;

	if (elf_getshdrstrndx(elf, &names))
		return false;
	while ((scn = elf_nextscn(elf, scn))) {
		const char *is;

		if (!gelf_getshdr(scn, &header))
			return false;
		is = elf_strptr(elf, names, header.sh_name);
		if (!is || strcmp(is, name) || header.sh_type == SHT_NOBITS)
			continue;
		if (header.sh_flags & SHF_COMPRESSED && elf_compress(scn, 0, 0) < 0)
			return false;
		section->addr = header.sh_addr;
		section->data = elf_getdata(scn, NULL);
		return section->data && section->data->d_buf;
	}
	return false;
}

static bool read_sections(struct reader *reader, struct section *eh,
			  struct section *debug, Dwarf *dwarf)
{
	if (eh->cfi) {
		reader->object->cfi_size += eh->data->d_size;
		if (!read_section(reader, eh))
			return false;
	}
	debug->cfi = dwarf ? dwarf_getcfi(dwarf) : NULL;
	if (debug->cfi) {
		reader->object->cfi_size += debug->data->d_size;
		if (!read_section(reader, debug))
			return false;
	}
	return read_fdes(reader);
}

struct row *frames_rows(Elf *elf, struct object *object)
{
	struct reader reader = { .elf = elf, .object = object };
	struct section eh = { .eh = true }, debug = { 0 };
	Dwarf *dwarf = NULL;

	if (find_section(elf, ".eh_frame", &eh))
		eh.cfi = dwarf_getcfi_elf(elf);
	if (find_section(elf, ".debug_frame", &debug))
		dwarf = dwarf_begin_elf(elf, DWARF_C_READ, NULL);
	if (!eh.cfi && !dwarf) {
		object->error = OBJECT_NO_CFI;
	} else if (!read_sections(&reader, &eh, &debug, dwarf)) {
		if (!object->error)
			object->error = OBJECT_NO_MEMORY;
		free(reader.rows);
		reader.rows = NULL;
	}
	free(reader.fdes);
	if (dwarf)
		dwarf_end(dwarf);
	if (eh.cfi)
		dwarf_cfi_end(eh.cfi);
	return reader.rows;
}

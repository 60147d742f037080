// SPDX-License-Identifier: MIT
/*
 * Rows as an SFrame section, by libsframe.  The names in the comments are those of the
 * sections of the SFrame specification.
 */
#include <sframe-api.h>
#include <stdlib.h>
#include <string.h>

#include "table.h"

/* All functions of x86-64 have this in common: the return address is at CFA - 8. */
#define FIXED_RA	-8

/*
 * Rows of contiguous functions go into one FDE, which saves 21 bytes each, up to this
 * many: a lookup goes through all of them.
 */
#define MAX_FRES	32
/* A flexible FRE takes about two bytes more, an FDE 21. */
#define MIN_ALIKE	10
/* A block of .plt as rows costs 6 bytes, an FDE of its own 27. */
#define PLT_MIN_BLOCKS	5
#define PLT_MAX_SIZE	((MAX_FRES / 2 - 2) * PLT_ENTRY)

/* Data words of an FRE. */
struct words {
	int32_t at[6];
	unsigned int nr;
};

/* A run of rows that one FDE describes. */
struct run {
	const struct row *rows;
	size_t nr, nr_fres;
	uint64_t start;
	uint32_t size, last;	/* in bytes; where the last FRE starts */
	bool flex, mask, nothing;
};

struct writer {
	sframe_encoder_ctx *out;
	struct table *table;
	uint64_t table_addr;
	size_t bound;		/* of the size, in bytes */
};

/* --------------------------------------------------------------- rows */

static bool is_register(const struct loc *loc)
{
	return loc->base < NR_REGS;
}

static bool is_loc(const struct loc *loc, bool may_be_same)
{
	if (loc->zero)
		return false;
	if (loc->kind == LOC_SAME)
		return may_be_same;
	return is_register(loc) || (loc->base == BASE_CFA && loc->kind == LOC_WORD) ?
	       loc->kind <= LOC_WORD : false;
}

/* Does the row get an FDE that repeats itself? */
static bool is_masked(const struct row *row)
{
	return row->pushed && row->start % PLT_ENTRY == 0 &&
	       row->size / PLT_ENTRY >= PLT_MIN_BLOCKS;
}

/* Does the row share its FDE with no other? */
static bool is_alone(const struct row *row)
{
	return is_masked(row) || row->flags & ROW_NOTHING;
}

bool table_takes(const struct row *row, uint64_t end)
{
	if (row->start < end || row->start > MAX_ADDRESS || !row->size ||
	    row->flags & ~ROW_FLAGS || row->zero || row->pushed >= PLT_ENTRY)
		return false;
	if (row->flags & ROW_NOTHING)
		return row->flags == ROW_NOTHING && !row->pushed;
	if (row->flags & ROW_OUTERMOST)
		return !row->pushed;
	return is_loc(&row->cfa, false) && is_register(&row->cfa) &&
	       is_loc(&row->ra, false) && is_loc(&row->fp, true) &&
	       (!row->pushed || (row->cfa.kind == LOC_VALUE &&
				 row->cfa.off <= INT32_MAX - PLT_PUSHED &&
				 (is_masked(row) || row->size <= PLT_MAX_SIZE)));
}

static bool is_fixed_ra(const struct loc *ra)
{
	return ra->kind == LOC_WORD && ra->base == BASE_CFA && ra->off == FIXED_RA;
}

/* "Default FDE Type Interpretation" cannot express it. */
static bool needs_flex(const struct row *row)
{
	if (row->flags & (ROW_OUTERMOST | ROW_NOTHING))
		return false;
	return row->cfa.kind != LOC_VALUE ||
	       (row->cfa.base != REG_SP && row->cfa.base != REG_FP) ||
	       !is_fixed_ra(&row->ra) ||
	       (row->fp.kind != LOC_SAME &&
		(row->fp.kind != LOC_WORD || row->fp.base != BASE_CFA));
}

/* --------------------------------------------------------------- FREs */

static void put_word(struct words *words, int32_t word)
{
	words->at[words->nr++] = word;
}

/* "Flexible FDE Type Interpretation" */
static void put_loc(struct words *words, const struct loc *loc)
{
	bool reg = loc->base != BASE_CFA;

	put_word(words, SFRAME_V3_FLEX_FDE_CTRLWORD_ENCODE(reg ? loc->base : 0,
							   loc->kind == LOC_WORD, reg));
	put_word(words, loc->off);
}

static void put_row(struct words *words, const struct row *row, bool flex, int32_t more)
{
	struct loc cfa = row->cfa;

	if (row->flags & ROW_OUTERMOST)
		return;
	cfa.off += more;
	if (!flex) {
		put_word(words, cfa.off);
		if (row->fp.kind != LOC_SAME)
			put_word(words, row->fp.off);
		return;
	}
	put_loc(words, &cfa);
	if (!is_fixed_ra(&row->ra))
		put_loc(words, &row->ra);
	else if (row->fp.kind != LOC_SAME)
		put_word(words, 0);
	if (row->fp.kind != LOC_SAME)
		put_loc(words, &row->fp);
}

/* The logarithm of the size of each word. */
static unsigned int word_size(const struct words *words)
{
	unsigned int size = SFRAME_FRE_DATAWORD_1B;

	for (unsigned int i = 0; i < words->nr; i++) {
		if (words->at[i] != (int16_t)words->at[i])
			return SFRAME_FRE_DATAWORD_4B;
		if (words->at[i] != (int8_t)words->at[i])
			size = SFRAME_FRE_DATAWORD_2B;
	}
	return size;
}

/* "The SFrame FRE Info Word" */
static bool add_fre(struct writer *writer, const struct run *run, const struct row *row,
		    uint32_t start, int32_t more)
{
	sframe_frame_row_entry fre = { .fre_start_addr = start };
	struct words words = { .nr = 0 };
	unsigned int size, base;

	put_row(&words, row, run->flex, more);
	size = word_size(&words);
	base = row->cfa.base == REG_SP ? SFRAME_BASE_REG_SP : SFRAME_BASE_REG_FP;
	fre.fre_info = SFRAME_V1_FRE_INFO(base, words.nr, size);
	/* Little-endian, like everything. */
	for (unsigned int i = 0; i < words.nr; i++)
		memcpy(fre.fre_datawords + (i << size), &words.at[i], 1 << size);
	writer->table->nr_fres++;
	return !sframe_encoder_add_fre(writer->out, writer->table->nr_fdes, &fre);
}

/* The entries of .plt one by one; the first and the last may be incomplete. */
static bool add_plt_fres(struct writer *writer, const struct run *run,
			 const struct row *row)
{
	uint64_t at = row->start, end = row->start + row->size, next;
	bool pushed;

	for (; at < end; at = next) {
		pushed = at % PLT_ENTRY >= row->pushed;
		next = at - at % PLT_ENTRY + (pushed ? PLT_ENTRY : row->pushed);
		if (!add_fre(writer, run, row, at - run->start, pushed ? PLT_PUSHED : 0))
			return false;
	}
	return true;
}

static bool add_fres(struct writer *writer, const struct run *run)
{
	const struct row *row = run->rows;

	if (run->mask)
		return add_fre(writer, run, row, 0, 0) &&
		       add_fre(writer, run, row, row->pushed, PLT_PUSHED);
	for (; row < run->rows + run->nr; row++) {
		if (row->pushed ? !add_plt_fres(writer, run, row) :
		    !add_fre(writer, run, row, row->start - run->start, 0))
			return false;
	}
	return true;
}

/* --------------------------------------------------------------- FDEs */

/* "The SFrame FDE Info Word": addresses no wider than the last FRE needs. */
static uint8_t fde_info(const struct run *run)
{
	unsigned int type = run->last <= UINT8_MAX ? SFRAME_FRE_TYPE_ADDR1 :
			    run->last <= UINT16_MAX ? SFRAME_FRE_TYPE_ADDR2 :
			    SFRAME_FRE_TYPE_ADDR4;
	uint8_t info = SFRAME_V3_FDE_FUNC_INFO(run->mask ? SFRAME_V3_FDE_PCTYPE_MASK :
					       SFRAME_V3_FDE_PCTYPE_INC, type);

	return SFRAME_V3_FDE_UPDATE_SIGNAL_P(!!(run->rows->flags & ROW_SIGNAL), info);
}

/* Says that CFI covers the function, but there is no rule. */
static bool add_no_fres(struct writer *writer, const struct run *run)
{
	const sframe_func_desc_attr_v3 attr = { .sfda_func_info = fde_info(run) };

	/* sframe_encoder_write() needs this call. */
	return !sframe_encoder_add_fres_buf(writer->out, writer->table->nr_fdes, 0,
					    (const char *)&attr, sizeof(attr));
}

static bool add_run(struct writer *writer, const struct run *run)
{
	struct table *table = writer->table;
	uint64_t field;
	int error;

	field = writer->table_addr +
		sframe_encoder_get_offsetof_fde_start_addr(writer->out, table->nr_fdes,
							   &error);

	/* An index entry, an attribute, and rows of six words at most. */
	writer->bound += 21 + 29 * run->nr_fres;
	if (writer->bound > UINT32_MAX ||
	    sframe_encoder_add_funcdesc_v3(writer->out, run->start - field, run->size,
					   fde_info(run),
					   run->flex ? SFRAME_FDE_TYPE_FLEX :
						       SFRAME_FDE_TYPE_DEFAULT,
					   run->mask ? PLT_ENTRY : 0, 0) ||
	    (run->nothing ? !add_no_fres(writer, run) : !add_fres(writer, run)))
		return false;
	table->nr_fdes++;
	return true;
}

/* Maximum number of FREs that a row is written as. */
static size_t nr_fres(const struct row *row)
{
	if (row->flags & ROW_NOTHING)
		return 0;
	return row->pushed ? 2 * (row->size / PLT_ENTRY + 2) : 1;
}

/* How many of the rows are of one kind of FDE, as far as it matters. */
static size_t nr_alike(const struct row *row, const struct row *end)
{
	const struct row *next = row + 1;

	while (next < end && next - row < MIN_ALIKE &&
	       next->start == next[-1].start + next[-1].size && !is_alone(next) &&
	       needs_flex(next) == needs_flex(row))
		next++;
	return next - row;
}

/* Is an FDE of another kind shorter than more rows of the kind of @run? */
static bool is_other_kind(const struct run *run, const struct row *row,
			  const struct row *end)
{
	if (needs_flex(row) == run->flex)
		return false;
	return run->flex ? nr_alike(row, end) >= MIN_ALIKE : run->nr >= MIN_ALIKE;
}

/* Does @row go into the FDE of the rows before it? */
static bool joins(const struct run *run, const struct row *row, const struct row *end)
{
	return !is_alone(run->rows) && !is_alone(row) && row->start == run->start + run->size &&
	       !((row->flags ^ run->rows->flags) & ROW_SIGNAL) &&
	       run->nr_fres + nr_fres(row) <= MAX_FRES &&
	       (uint64_t)run->size + row->size <= UINT32_MAX &&
	       !is_other_kind(run, row, end);
}

static void extend(struct run *run, const struct row *row)
{
	run->nr++;
	run->nr_fres += run->mask ? 2 : nr_fres(row);
	/* The last entry of a .plt starts somewhere in it. */
	run->last = run->mask ? row->pushed :
		    run->size + (row->pushed ? row->size : 0);
	run->size += row->size;
	run->flex |= needs_flex(row);
}

/* The rows from @row on that one FDE describes. */
static struct run take_run(const struct row *row, const struct row *end)
{
	struct run run = {
		.rows = row, .start = row->start, .mask = is_masked(row),
		.nothing = row->flags & ROW_NOTHING,
	};

	for (extend(&run, row++); row < end && joins(&run, row, end); row++)
		extend(&run, row);
	return run;
}

static bool write_rows(struct writer *writer, const struct row *rows, size_t nr)
{
	const struct row *row = rows, *end = rows + nr;
	int error = 0;
	size_t size;
	char *data;

	while (row < end) {
		struct run run = take_run(row, end);

		if (!add_run(writer, &run))
			return false;
		row += run.nr;
	}
	data = sframe_encoder_write(writer->out, &size, true, &error);
	if (!data)
		return false;
	writer->table->data = malloc(size);
	writer->table->size = size;
	if (writer->table->data)
		memcpy(writer->table->data, data, size);
	return writer->table->data;
}

bool table_write(const struct row *rows, size_t nr, uint64_t table_addr,
		 struct table *table)
{
	struct writer writer = { .table = table, .table_addr = table_addr };
	bool good;
	int error = 0;

	*table = (struct table){ 0 };
	writer.out = sframe_encode(SFRAME_VERSION_3, SFRAME_F_FDE_FUNC_START_PCREL,
				   SFRAME_ABI_AMD64_ENDIAN_LITTLE,
				   SFRAME_CFA_FIXED_FP_INVALID, FIXED_RA, &error);
	if (!writer.out)
		return false;
	good = write_rows(&writer, rows, nr);
	sframe_encoder_free(&writer.out);
	return good;
}

void table_free(struct table *table)
{
	free(table->data);
}

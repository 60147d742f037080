// SPDX-License-Identifier: MIT
/*
 * libFuzzer target for rows from a possibly compromised process: the table has the accepted ones,
 * libsframe finds each of them in it, and finds no rule where a row says that there is none.
 */
#include <sframe-api.h>

#include "fuzz.h"
#include "sframe/table.h"

#define MAX_FUZZED	256
#define TABLE_ADDR	0x400000

/* The accepted rows of the input, one after another. */
static size_t take_rows(const uint8_t *data, size_t size, struct row *rows)
{
	uint64_t end = 0;
	size_t nr = 0;

	for (; size >= sizeof(*rows) && nr < MAX_FUZZED; size -= sizeof(*rows)) {
		memcpy(&rows[nr], data, sizeof(*rows));
		data += sizeof(*rows);
		/* Make many of them consecutive. */
		if (rows[nr].start < 0x1000)
			rows[nr].start += end;
		/* libsframe takes distances modulo 4 GiB. */
		if (!table_takes(&rows[nr], end) ||
		    rows[nr].start + rows[nr].size > UINT32_MAX)
			continue;
		end = rows[nr].start + rows[nr].size;
		nr++;
	}
	return nr;
}

static void check_loc(const sframe_frame_row_entry *fre, int *word, const struct loc *loc)
{
	int error = 0;
	uint32_t control = sframe_get_fre_udata(fre, (*word)++, &error);
	uint32_t reg = loc->base == BASE_CFA ? 0 : loc->base << 3 | 1;
	uint32_t deref = loc->kind == LOC_WORD ? 2 : 0;

	require(!error && control == (reg | deref));
	/* The offset follows; the default FREs check its value. */
	(*word)++;
}

static bool is_fixed(const struct loc *ra)
{
	return ra->kind == LOC_WORD && ra->base == BASE_CFA && ra->off == -8;
}

static void check_flex(sframe_decoder_ctx *decoder, sframe_frame_row_entry *fre,
		       const struct row *row, int32_t cfa_off)
{
	int word = 0, error = 0;

	require(sframe_fre_get_cfa_offset(decoder, fre, SFRAME_FDE_TYPE_FLEX, &error) ==
		cfa_off && !error);
	check_loc(fre, &word, &row->cfa);
	if (!is_fixed(&row->ra))
		check_loc(fre, &word, &row->ra);
	else if (row->fp.kind != LOC_SAME)
		require(!sframe_get_fre_udata(fre, word++, &error) && !error);
	if (row->fp.kind != LOC_SAME)
		check_loc(fre, &word, &row->fp);
	require((int)SFRAME_V3_FRE_DATAWORD_COUNT(fre->fre_info) == word);
}

static void check_default(sframe_decoder_ctx *decoder, sframe_frame_row_entry *fre,
			  const struct row *row, int32_t cfa_off)
{
	int error = 0, fp_error = 0;
	int32_t fp;

	require(is_fixed(&row->ra) && row->cfa.kind == LOC_VALUE);
	require(sframe_fre_get_base_reg_id(fre, &error) ==
		(row->cfa.base == REG_SP ? SFRAME_BASE_REG_SP : SFRAME_BASE_REG_FP));
	require(sframe_fre_get_cfa_offset(decoder, fre, SFRAME_FDE_TYPE_DEFAULT, &error) ==
		cfa_off && !error);
	fp = sframe_fre_get_fp_offset(decoder, fre, SFRAME_FDE_TYPE_DEFAULT, &fp_error);
	require(row->fp.kind == LOC_SAME ? fp_error :
		!fp_error && row->fp.kind == LOC_WORD && fp == row->fp.off);
}

/* Checks the result for the address @at of the row. */
static void check_at(sframe_decoder_ctx *decoder, const struct row *row, uint64_t at)
{
	sframe_frame_row_entry fre = { 0 };
	uint32_t fres, size, index = 0;
	unsigned char info, info2;
	uint8_t repeats;
	int64_t start;
	int error = 0;
	int32_t off;

	do {
		require(!sframe_decoder_get_funcdesc_v3(decoder, index, &fres, &size, &start,
							&info, &info2, &repeats));
		start += TABLE_ADDR +
			 sframe_decoder_get_offsetof_fde_start_addr(decoder, index++, &error);
	} while (at - start >= size);
	require(SFRAME_V3_FDE_SIGNAL_P(info) == !!(row->flags & ROW_SIGNAL));
	require(!fres == !!(row->flags & ROW_NOTHING));
	require(!sframe_find_fre(decoder, at - TABLE_ADDR, &fre) == !!fres);
	if (row->flags & ROW_NOTHING)
		return;
	if (row->flags & ROW_OUTERMOST) {
		require(sframe_fre_get_ra_undefined_p(decoder, &fre, &error));
		return;
	}
	off = row->cfa.off;
	if (row->pushed && at % PLT_ENTRY >= row->pushed)
		off += PLT_PUSHED;
	if (SFRAME_V3_FDE_TYPE(info2) == SFRAME_FDE_TYPE_FLEX)
		check_flex(decoder, &fre, row, off);
	else
		check_default(decoder, &fre, row, off);
}

static void check_rows(const struct row *rows, size_t nr)
{
	sframe_decoder_ctx *decoder;
	struct table table;
	int error = 0;

	require(table_write(rows, nr, TABLE_ADDR, &table));
	decoder = sframe_decode(table.data, table.size, &error);
	require(decoder);
	for (const struct row *row = rows; row < rows + nr; row++) {
		check_at(decoder, row, row->start);
		check_at(decoder, row, row->start + row->size / 2);
		check_at(decoder, row, row->start + row->size - 1);
	}
	sframe_decoder_free(&decoder);
	table_free(&table);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct row rows[MAX_FUZZED];
	size_t nr = take_rows(data, size, rows);

	if (nr)
		check_rows(rows, nr);
	return 0;
}

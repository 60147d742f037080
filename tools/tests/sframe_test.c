// SPDX-License-Identifier: MIT
/* CFI to rows, rows to a table, and what is refused. */
#include <elf.h>
#include <libelf.h>
#include <sframe-api.h>

#include "check.h"
#include "sframe/frames.h"
#include "sframe/image.h"
#include "sframe/object.h"
#include "sframe/padding.h"
#include "tool.h"

#define CFA(reg, off)	{ LOC_VALUE, reg, 0, off }
#define WORD(reg, off)	{ LOC_WORD, reg, 0, off }
#define SAME		{ LOC_SAME, 0, 0, 0 }
#define RA		WORD(BASE_CFA, -8)

enum { RAX, RDX, R10 = 10 };

/* The expected rows of cfi.S; starts are relative to its first function. */
static const struct row expected[] = {
	{ 0x00, 1, 0, 0, 0, CFA(REG_SP, 8), RA, SAME },
	{ 0x01, 3, 0, 0, 0, CFA(REG_SP, 16), RA, WORD(BASE_CFA, -16) },
	{ 0x04, 4, 0, 0, 0, CFA(REG_FP, 16), RA, WORD(BASE_CFA, -16) },
	{ 0x08, 8, 0, 0, 0, CFA(REG_SP, 8), RA, SAME },
	{ 0x10, 4, 0, 0, 0, CFA(REG_SP, 0x100), RA, SAME },
	{ 0x14, 12, 0, 0, 0, CFA(REG_SP, 0x10000), RA, SAME },
	{ 0x20, 16, ROW_OUTERMOST, 0, 0, SAME, SAME, SAME },
	{ 0x30, 4, 0, 0, 0, CFA(R10, 0), RA, SAME },
	{ 0x34, 4, 0, 0, 0, CFA(R10, 0), RA, WORD(REG_FP, 0) },
	{ 0x38, 8, 0, 0, 0, WORD(REG_FP, -8), RA, WORD(REG_FP, 0) },
	{ 0x40, 8, 0, 0, 0, CFA(REG_SP, 8), CFA(RDX, 0), SAME },
	{ 0x48, 8, 0, 0, 0, CFA(REG_SP, 8), CFA(RDX, 0), CFA(RAX, 0) },
	{ 0x50, 16, ROW_SIGNAL, 0, 0, WORD(REG_SP, 160), WORD(REG_SP, 168),
	  WORD(REG_SP, 120) },
	{ 0x60, 4, 0, 0, 0, CFA(REG_SP, 8), RA, SAME },
	{ 0x64, 4, ROW_NOTHING, 0, 0, SAME, SAME, SAME },
	{ 0x68, 8, 0, 0, 0, CFA(REG_SP, 8), RA, SAME },
	/* No rule: because of the return address, the frame pointer (twice), the stack pointer. */
	{ 0x70, 48, ROW_NOTHING, 0, 0, SAME, SAME, SAME },
	{ 0xa0, 16, 0, 0, 0, CFA(REG_SP, 8), RA, SAME },
	{ 0xb0, 96, 0, 11, 0, CFA(REG_SP, 8), RA, SAME },
	{ 0x110, 24, 0, 10, 0, CFA(REG_SP, 8), RA, SAME },
	{ 0x130, 16, 0, 0, 0, CFA(REG_SP, 8), RA, SAME },
	{ 0x15f, 17, ROW_SIGNAL, 0, 0, WORD(REG_SP, 160), WORD(REG_SP, 168),
	  WORD(REG_SP, 120) },
	{ 0x170, 16, ROW_OUTERMOST, 0, 0, SAME, SAME, SAME },
	{ 0x180, 16, 0, 0, 0, CFA(REG_SP, 8), RA, SAME },
};

static const size_t nr_expected = ARRAY_SIZE(expected);

static struct image image;

/* ---------------------------------------------------------------- CFI as rows */

static bool same_loc(const struct loc *one, const struct loc *other)
{
	return one->kind == other->kind &&
	       (one->kind == LOC_SAME || !memcmp(one, other, sizeof(*one)));
}

static bool same_row(const struct row *one, const struct row *other, uint64_t base)
{
	return one->start == base + other->start && one->size == other->size &&
	       one->flags == other->flags && one->pushed == other->pushed &&
	       same_loc(&one->cfa, &other->cfa) && same_loc(&one->ra, &other->ra) &&
	       same_loc(&one->fp, &other->fp);
}

static struct row *read_rows(void *data, size_t size, struct object *object)
{
	Elf *elf = object_open(data, size, object);
	struct row *rows = elf ? frames_rows(elf, object) : NULL;

	elf_end(elf);
	return rows;
}

static void cfi_becomes_rows(void)
{
	struct object object;
	struct row *rows = read_rows(image.data, image.size, &object);

	CHECK(rows && object.nr_rows == nr_expected);
	for (size_t i = 0; rows && i < nr_expected; i++) {
		if (!same_row(&rows[i], &expected[i], rows[0].start))
			printf("# row %zu: %#llx, %u bytes\n", i,
			       (long long)(rows[i].start - rows[0].start), rows[i].size);
		CHECK(same_row(&rows[i], &expected[i], rows[0].start));
	}
	free(rows);
}

static void what_has_no_rule_has_a_cause(void)
{
	struct object object;

	free(read_rows(image.data, image.size, &object));
	CHECK(object.causes[CAUSE_CFA].bytes == 4);
	CHECK(object.causes[CAUSE_RA].bytes == 16);
	CHECK(object.causes[CAUSE_FP].bytes == 8);
	CHECK(object.causes[CAUSE_FP_UNDEFINED].bytes == 8);
	CHECK(object.causes[CAUSE_SP].bytes == 16);
	CHECK(!object.causes[CAUSE_MALFORMED].ranges);
	CHECK(!object.causes[CAUSE_OVERLAP].ranges);
}

/*
 * Finds the FDE for the function of @bytes bytes that is @at bytes after the first one, and returns
 * the place of its address.  The size, no augmentation data and the instructions follow.
 */
static uint8_t *find_fde(char *data, uint64_t first, unsigned int at, int32_t bytes)
{
	for (size_t i = 0; i + 8 <= image.size; i += 4) {
		int32_t distance, size;

		memcpy(&distance, data + i, 4);
		memcpy(&size, data + i + 4, 4);
		if (size == bytes && i + distance == first + at)
			return (uint8_t *)data + i;
	}
	printf("Bail out! no FDE for %#x\n", at);
	exit(1);
}

/* The rows made from @data; the first row is that of the first function. */
static struct row *read_changed(char *data, struct object *object)
{
	struct row *rows = read_rows(data, image.size, object);

	free(data);
	CHECK(rows);
	return rows;
}

static bool has_nothing(const struct row *rows, const struct object *object,
			unsigned int at, unsigned int size)
{
	const struct row nothing = { at, size, ROW_NOTHING, 0, 0, SAME, SAME, SAME };

	for (size_t i = 0; i < object->nr_rows; i++)
		if (same_row(&rows[i], &nothing, rows[0].start))
			return true;
	return false;
}

static uint64_t first_function(void)
{
	struct object object;
	struct row *rows = read_rows(image.data, image.size, &object);
	uint64_t first = rows ? rows[0].start : 0;

	free(rows);
	return first;
}

static void code_of_two_fdes_has_no_rule(void)
{
	char *data = exact_copy(image.data, image.size);
	struct object object;
	struct row *rows;

	/* Covers half of the next function, too. */
	find_fde(data, first_function(), 0x10, 16)[4] = 24;
	rows = read_changed(data, &object);
	CHECK(rows && has_nothing(rows, &object, 0x20, 8));
	CHECK(object.causes[CAUSE_OVERLAP].bytes == 8);
	CHECK(object.nr_rows == nr_expected + 1);
	free(rows);
}

static void code_of_a_malformed_fde_has_no_rule(void)
{
	char *data = exact_copy(image.data, image.size);
	struct object object;
	struct row *rows;

	/* Replace its first instruction by an invalid one. */
	find_fde(data, first_function(), 0, 9)[9] = 0x3f;
	rows = read_changed(data, &object);
	/* The padding after it is no longer covered. */
	CHECK(rows && has_nothing(rows, &object, 0, 9));
	CHECK(object.causes[CAUSE_MALFORMED].bytes == 9);
	CHECK(object.nr_rows == nr_expected - 3);
	free(rows);
}

static void object_has_its_build_id_and_segments(void)
{
	struct object object;

	free(read_rows(image.data, image.size, &object));
	CHECK(!object.error && object.type == ET_DYN);
	CHECK(object.build_id_len == 20);
	CHECK(object.nr_segments == 1 && object.segments[0].len >= 0x150);
	CHECK(object.table_addr % 4096 == 0);
	CHECK(object.table_addr >= object.segments[0].vaddr + object.segments[0].len);
}

/* Only .eh_frame marks signal frames; .debug_frame does not. */
static void compressed_debug_frame_is_read(void)
{
	struct image other;
	struct object object;
	struct row *rows;
	bool elf;

	CHECK(!image_open(DEBUG_OBJECT, false, &other, &elf));
	rows = read_rows(other.data, other.size, &object);
	CHECK(rows && object.nr_rows == nr_expected);
	for (size_t i = 0; rows && i < nr_expected; i++)
		CHECK(expected[i].flags & ROW_SIGNAL ||
		      same_row(&rows[i], &expected[i], rows[0].start));
	free(rows);
	image_close(&other);
}

static void padding_is_what_aligns(void)
{
	static const struct {
		const char *code;
		size_t size;
		bool is;
	} cases[] = {
		{ "\x90", 1, true }, { "\xcc\xcc\xcc", 3, true }, { "\x66\x90", 2, true },
		{ "\x0f\x1f\x00", 3, true }, { "\x0f\x1f\x40\x00", 4, true },
		{ "\x0f\x1f\x44\x00\x00", 5, true },
		{ "\x66\x0f\x1f\x84\x00\x00\x00\x00\x00", 9, true },
		{ "\x66\x2e\x0f\x1f\x84\x00\x00\x00\x00\x00\x90", 11, true },
		{ "\x0f\x1f\x05\x00\x00\x00\x00", 7, true },
		{ "\x0f\x1f\xc0", 3, true },
		/* Truncated, and others. */
		{ "\x66", 1, false }, { "\x0f\x1f", 2, false },
		{ "\x0f\x1f\x44\x00", 4, false }, { "\xc3", 1, false },
		{ "\x90\xc3", 2, false }, { "\0\0", 2, false }, { "\x0f\x0b", 2, false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint8_t *code = exact_copy(cases[i].code, cases[i].size);

		if (is_padding(code, cases[i].size) != cases[i].is)
			printf("# case %zu\n", i);
		CHECK(is_padding(code, cases[i].size) == cases[i].is);
		free(code);
	}
}

/* --------------------------------------------------------------- rows as a table */

#define TABLE_ADDR	0x400000

static sframe_decoder_ctx *decode(const struct row *rows, size_t nr, struct table *table)
{
	int error = 0;

	CHECK(table_write(rows, nr, TABLE_ADDR, table));
	return table->data ? sframe_decode(table->data, table->size, &error) : NULL;
}

static void a_table_has_fdes_of_each_kind(void)
{
	/* The kind of FDE, pairs of an address and the layout of rows, and rows. */
	static const struct {
		uint32_t size;
		unsigned int mask, flex, signal;
		uint32_t fres;
	} want[] = {
		{ 0x50, 0, 1, 0, 12 }, { 0x10, 0, 1, 1, 1 }, { 4, 0, 0, 0, 1 },
		{ 4, 0, 0, 0, 0 }, { 8, 0, 0, 0, 1 }, { 48, 0, 0, 0, 0 },
		{ 0x10, 0, 0, 0, 1 }, { 0x60, 1, 0, 0, 2 },
		{ 24, 0, 0, 0, 3 }, { 0x10, 0, 0, 0, 1 }, { 17, 0, 1, 1, 1 },
		{ 0x20, 0, 0, 0, 2 },
	};
	struct table table;
	sframe_decoder_ctx *decoder = decode(expected, nr_expected, &table);
	unsigned char info, info2;
	uint32_t fres, size;
	uint8_t repeats;
	int64_t start;

	CHECK(decoder && sframe_decoder_get_num_fidx(decoder) == ARRAY_SIZE(want));
	for (unsigned int i = 0; decoder && i < ARRAY_SIZE(want); i++) {
		CHECK(!sframe_decoder_get_funcdesc_v3(decoder, i, &fres, &size, &start, &info,
						      &info2, &repeats));
		CHECK(size == want[i].size && fres == want[i].fres);
		CHECK(SFRAME_V3_FDE_PC_TYPE(info) == want[i].mask);
		CHECK(SFRAME_V3_FDE_TYPE(info2) == want[i].flex);
		CHECK(SFRAME_V3_FDE_SIGNAL_P(info) == want[i].signal);
		CHECK(repeats == (want[i].mask ? 16 : 0));
	}
	sframe_decoder_free(&decoder);
	table_free(&table);
}

/* A gap between rows is a separate FDE, without a rule. */
static void what_has_no_rule_has_an_fde_without_rows(void)
{
	static const struct row rows[] = {
		{ 0x1000, 16, 0, 0, 0, CFA(REG_SP, 8), RA, SAME },
		{ 0x1010, 0x12345, ROW_NOTHING, 0, 0, SAME, SAME, SAME },
		{ 0x13355, 16, 0, 0, 0, CFA(REG_SP, 24), RA, SAME },
		{ 0x20000, 0xffffffff, ROW_NOTHING, 0, 0, SAME, SAME, SAME },
	};
	sframe_frame_row_entry fre;
	struct table table;
	sframe_decoder_ctx *decoder = decode(rows, ARRAY_SIZE(rows), &table);

	CHECK(decoder && sframe_decoder_get_num_fidx(decoder) == 4);
	CHECK(table.nr_fdes == 4 && table.nr_fres == 2);
	/* Header, entries, attributes, and two rows of one word. */
	CHECK(table.size == 28 + 4 * 16 + 4 * 5 + 2 * 3);
	CHECK(!sframe_find_fre(decoder, 0x100fLL - TABLE_ADDR, &fre));
	CHECK(sframe_find_fre(decoder, 0x1010LL - TABLE_ADDR, &fre));
	CHECK(sframe_find_fre(decoder, 0x13354LL - TABLE_ADDR, &fre));
	CHECK(!sframe_find_fre(decoder, 0x13355LL - TABLE_ADDR, &fre));
	CHECK(sframe_find_fre(decoder, 0x20000LL - TABLE_ADDR, &fre));
	sframe_decoder_free(&decoder);
	table_free(&table);
}

static void a_file_may_have_no_rule_at_all(void)
{
	static const struct row nothing = { 0x1000, 16, ROW_NOTHING, 0, 0, SAME, SAME, SAME };
	struct table table;
	sframe_decoder_ctx *decoder = decode(&nothing, 1, &table);

	CHECK(decoder && sframe_decoder_get_num_fidx(decoder) == 1);
	CHECK(table.nr_fdes == 1 && !table.nr_fres);
	sframe_decoder_free(&decoder);
	table_free(&table);
}

static void an_fde_has_no_more_rows_than_a_lookup_may_take(void)
{
	struct row rows[100];
	struct table table;
	sframe_decoder_ctx *decoder;

	for (size_t i = 0; i < 100; i++)
		rows[i] = (struct row){
			0x1000 + i, 1, 0, 0, 0, CFA(REG_SP, 8 + 8 * i), RA, SAME,
		};
	decoder = decode(rows, 100, &table);
	CHECK(decoder && sframe_decoder_get_num_fidx(decoder) == 4);
	CHECK(table.nr_fres == 100 && table.nr_fdes == 4);
	sframe_decoder_free(&decoder);
	table_free(&table);
}

static void rows_that_no_table_takes(void)
{
	static const struct loc sp = CFA(REG_SP, 8), ra = RA, same = SAME;
	const struct row bad[] = {
		{ 0, 0, 0, 0, 0, sp, ra, same },
		{ MAX_ADDRESS + 1, 1, 0, 0, 0, sp, ra, same },
		{ 0, 1, ROW_FLAGS + 1, 0, 0, sp, ra, same },
		{ 0, 1, 0, 0, 1, sp, ra, same },
		{ 0, 1, 0, PLT_ENTRY, 0, sp, ra, same },
		{ 0, 1, 0, 0, 0, same, ra, same },
		{ 0, 1, 0, 0, 0, CFA(BASE_CFA, 8), ra, same },
		{ 0, 1, 0, 0, 0, WORD(BASE_CFA, 8), ra, same },
		{ 0, 1, 0, 0, 0, CFA(NR_REGS, 8), ra, same },
		{ 0, 1, 0, 0, 0, { LOC_WORD + 1, REG_SP, 0, 8 }, ra, same },
		{ 0, 1, 0, 0, 0, { LOC_VALUE, REG_SP, 1, 8 }, ra, same },
		{ 0, 1, 0, 0, 0, sp, same, same },
		{ 0, 1, 0, 0, 0, sp, CFA(BASE_CFA, -8), same },
		{ 0, 1, 0, 0, 0, sp, ra, CFA(BASE_CFA, -8) },
		{ 0, 1, 0, 0, 0, sp, ra, WORD(NR_REGS, 0) },
		{ 0, 1, 0, 1, 0, CFA(REG_SP, INT32_MAX), ra, same },
		{ 0, 1, 0, 1, 0, WORD(REG_SP, 8), ra, same },
		{ 1, 1 << 20, 0, 1, 0, sp, ra, same },
		{ 0, 1, ROW_OUTERMOST, 1, 0, same, same, same },
		/* An FDE with this would be that of a signal frame. */
		{ 0, 1, ROW_NOTHING | ROW_SIGNAL, 0, 0, same, same, same },
		{ 0, 1, ROW_NOTHING | ROW_OUTERMOST, 0, 0, same, same, same },
		{ 0, 1, ROW_NOTHING, 1, 0, same, same, same },
	};

	for (size_t i = 0; i < nr_expected; i++)
		CHECK(table_takes(&expected[i], expected[i].start));
	CHECK(!table_takes(&expected[1], expected[1].start + 1));
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		if (table_takes(&bad[i], 0))
			printf("# row %zu\n", i);
		CHECK(!table_takes(&bad[i], 0));
	}
}

int main(void)
{
	bool elf;

	if (image_open(CFI_OBJECT, false, &image, &elf)) {
		printf("Bail out! no %s\n", CFI_OBJECT);
		return 1;
	}
	RUN(cfi_becomes_rows);
	RUN(what_has_no_rule_has_a_cause);
	RUN(code_of_two_fdes_has_no_rule);
	RUN(code_of_a_malformed_fde_has_no_rule);
	RUN(object_has_its_build_id_and_segments);
	RUN(compressed_debug_frame_is_read);
	RUN(padding_is_what_aligns);
	RUN(a_table_has_fdes_of_each_kind);
	RUN(what_has_no_rule_has_an_fde_without_rows);
	RUN(a_file_may_have_no_rule_at_all);
	RUN(an_fde_has_no_more_rows_than_a_lookup_may_take);
	RUN(rows_that_no_table_takes);
	image_close(&image);
	return check_end();
}

// SPDX-License-Identifier: MIT
/*
 * Sections of .eh_frame made up here; rig/host compares those of real programs with
 * libdw.
 */
#include "stand_in.h"
#include "test.h"

#define LEN	(64 * PAGE)
#define CIE_AT	4

/* Registers. */
#define FP	6
#define SP	7
#define RA	16

static uint8_t section[65536];
static size_t size;
static struct codectl_eh_frame *frame;
static uint64_t text;

static void put(const void *from, size_t len)
{
	CHECK(size + len <= sizeof(section));
	memcpy(section + size, from, len);
	size += len;
}

static void put_u32(uint32_t value)
{
	put(&value, sizeof(value));
}

static void put_u64(uint64_t value)
{
	put(&value, sizeof(value));
}

/* Returns the place for the length of the entry, which end_entry() fills in. */
static size_t begin_entry(void)
{
	put_u32(0);

	return size;
}

static void end_entry(size_t start)
{
	uint32_t len;

	while ((size - start) % 4)
		put("", 1);
	len = size - start;
	memcpy(section + start - 4, &len, sizeof(len));
}

/* At the start: absolute addresses, CFA = SP + 8, RA at CFA - 8. */
static void begin_with(const char *augmentation, const char *program,
		       size_t len)
{
	const uint8_t align[] = { 1, 0x78, RA };
	size_t entry;

	size = 0;
	entry = begin_entry();
	put_u32(0);
	put("\1", 1);
	put(augmentation, strlen(augmentation) + 1);
	put(align, sizeof(align));
	if (strchr(augmentation, 'R'))
		put("\1\0", 2);
	else if (*augmentation == 'z')
		put("\0", 1);
	put(program, len);
	end_entry(entry);
}

static void begin(void)
{
	begin_with("", "\x0c\7\x08\x90\1", 5);
}

static void put_fde(uint64_t start, uint64_t len, const char *program,
		    size_t program_len)
{
	size_t entry = begin_entry();

	put_u32(size - CIE_AT + 4);
	put_u64(start);
	put_u64(len);
	put(program, program_len);
	end_entry(entry);
}

static int add_section(void)
{
	put_u32(0);

	return codectl_eh_frame_add(section, 0, &frame);
}

/* The program says something of a function at the start of the text. */
static void add_program(const char *program, size_t len)
{
	begin();
	put_fde(text, 64, program, len);
	CHECK_EQ(add_section(), 0);
}

static struct codectl_rule rule_at(uint64_t off)
{
	struct codectl_rule rule;

	CHECK_EQ(codectl_lookup(text + off, &rule), 0);

	return rule;
}

static void check_rule(uint64_t off, uint32_t info, int32_t cfa_off,
		       int32_t fp_off)
{
	struct codectl_rule rule = rule_at(off);

	CHECK_EQ(rule.info, info);
	CHECK_EQ(rule.cfa_off, cfa_off);
	CHECK_EQ(rule.fp_off, fp_off);
}

static void check_none(uint64_t off)
{
	struct codectl_rule rule;
	int ret = codectl_lookup(text + off, &rule);

	CHECK(ret == -ENODATA || ret == -ENOENT);
}

static void usual_function(void)
{
	text = test_text(LEN);
	/* push %rbp; mov %rsp, %rbp; ...; leave, from 1, 4 and 60 on */
	add_program("\x41\x0e\x10\x86\2\x43\x0d\6\x78\x0c\7\x08\xc6", 13);
	check_rule(0, CODE_FRE_BASE_SP, 8, 0);
	check_rule(1, CODE_FRE_BASE_SP | CODE_FRE_FP_SAVED, 16, -16);
	check_rule(3, CODE_FRE_BASE_SP | CODE_FRE_FP_SAVED, 16, -16);
	check_rule(4, CODE_FRE_FP_SAVED, 16, -16);
	check_rule(59, CODE_FRE_FP_SAVED, 16, -16);
	check_rule(60, CODE_FRE_BASE_SP, 8, 0);
	check_rule(63, CODE_FRE_BASE_SP, 8, 0);
	CHECK_EQ(rule_at(0).ra_off, -8);
	check_none(64);
	codectl_eh_frame_remove(frame);
	check_none(0);
	codectl_eh_frame_remove(NULL);
}

static void remembered_state(void)
{
	text = test_text(LEN);
	add_program("\x41\x0e\x20\x0a\x41\x0e\x08\x41\x0b\x41\x0e\x30", 12);
	check_rule(1, CODE_FRE_BASE_SP, 32, 0);
	check_rule(2, CODE_FRE_BASE_SP, 8, 0);
	check_rule(3, CODE_FRE_BASE_SP, 32, 0);
	check_rule(4, CODE_FRE_BASE_SP, 48, 0);
}

/* To what it was at the entry. */
static void restored_register(void)
{
	const uint32_t saved = CODE_FRE_BASE_SP | CODE_FRE_FP_SAVED;

	text = test_text(LEN);
	begin_with("", "\x0c\7\x10\x90\1\x86\2", 7);
	put_fde(text, 64, "\x41\x08\6\x41\xc6\x41\7\6\x41\6\6", 11);
	CHECK_EQ(add_section(), 0);
	check_rule(0, saved, 16, -16);
	check_rule(1, CODE_FRE_BASE_SP, 16, 0);
	check_rule(2, saved, 16, -16);
	check_rule(3, CODE_FRE_BASE_SP | CODE_FRE_FP_UNDEF, 16, 0);
	check_rule(4, saved, 16, -16);
}

/* What comes after the end of the function does not belong to it. */
static void program_that_goes_beyond(void)
{
	text = test_text(LEN);
	add_program("\x7f\x0e\x10\x7f\x0e\x20\x41", 7);
	check_rule(62, CODE_FRE_BASE_SP, 8, 0);
	check_rule(63, CODE_FRE_BASE_SP, 16, 0);
	check_none(64);
}

/* What a row cannot express, for as long as it holds. */
static void rules_that_are_not_known(void)
{
	static const struct {
		const char *program;
		size_t len;
		uint32_t info;
	} rules[] = {
		/* the CFA: an expression, another register */
		{ "\x0f\2\x77\x08", 4, CODE_FRE_UNKNOWN },
		{ "\x0c\x0a\x08", 3, CODE_FRE_UNKNOWN },
		{ "\x0f\2\x77\x08\x0e\x10", 6, CODE_FRE_UNKNOWN },
		/* the return address: an expression, a register, nowhere */
		{ "\x10\x10\2\x77\x08", 5, CODE_FRE_UNKNOWN },
		{ "\x09\x10\2", 3, CODE_FRE_UNKNOWN },
		{ "\x08\x10", 2, CODE_FRE_UNKNOWN },
		{ "\7\x10", 2, CODE_FRE_OUTERMOST },
		/* SP: saved, CFA + 8, CFA */
		{ "\x87\3", 2, CODE_FRE_UNKNOWN },
		{ "\x15\7\x7f", 3, CODE_FRE_UNKNOWN },
		{ "\x14\7\0", 3, CODE_FRE_BASE_SP },
		/* FP: an expression, a register, CFA - 16, nowhere, in place */
		{ "\x10\6\2\x77\x08", 5, CODE_FRE_BASE_SP | CODE_FRE_FP_UNDEF },
		{ "\x09\6\3", 3, CODE_FRE_BASE_SP | CODE_FRE_FP_UNDEF },
		{ "\x14\6\2", 3, CODE_FRE_BASE_SP | CODE_FRE_FP_UNDEF },
		{ "\7\6", 2, CODE_FRE_BASE_SP | CODE_FRE_FP_UNDEF },
		{ "\x08\6", 2, CODE_FRE_BASE_SP },
		/* FP at CFA + 16, in each encoding */
		{ "\x11\6\x7e", 3, CODE_FRE_BASE_SP | CODE_FRE_FP_SAVED },
		{ "\x2f\6\2", 3, CODE_FRE_BASE_SP | CODE_FRE_FP_SAVED },
		/* others: saved, an expression, arguments on the stack */
		{ "\x83\3\x10\3\2\x77\x08\x2e\x20", 9, CODE_FRE_BASE_SP },
	};
	size_t i;

	text = test_text(LEN);
	for (i = 0; i < ARRAY_SIZE(rules); i++) {
		char program[16] = { 0x41 };

		memcpy(program + 1, rules[i].program, rules[i].len);
		add_program(program, 1 + rules[i].len);
		check_rule(0, CODE_FRE_BASE_SP, 8, 0);
		CHECK_EQ(rule_at(1).info, rules[i].info);
		if (rules[i].info & CODE_FRE_FP_SAVED)
			CHECK_EQ(rule_at(1).fp_off, 16);
		CHECK_EQ(rule_at(63).info, rules[i].info);
		codectl_eh_frame_remove(frame);
	}
}

/* A truncated program is right as far as it goes; none is padded. */
static void programs_that_break_off(void)
{
	static const struct {
		const char *program;
		size_t len;
	} programs[] = {
		{ "\x44\x3f\0\0\0\x44\x0e\x20", 8 },	/* unknown */
		{ "\x44\x0b\0\0\0\x44\x0e\x20", 8 },	/* nothing remembered */
		{ "\0\x44\x0f\x70\0\x44\x0e\x20", 8 },	/* a block too long */
		{ "\x44\x0e\x80\x80", 4 },		/* a number without end */
		{ "\0\x44\4\1", 4 },			/* part of a number */
		{ "\x44\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a"
		  "\x0a\x0a\x0a\x44\x0e", 20 },	/* 17 states */
	};
	size_t i;

	text = test_text(LEN);
	for (i = 0; i < ARRAY_SIZE(programs); i++) {
		begin();
		put_fde(text, 64, programs[i].program, programs[i].len);
		CHECK_EQ(add_section(), 0);
		check_rule(3, CODE_FRE_BASE_SP, 8, 0);
		check_none(4);
		codectl_eh_frame_remove(frame);
	}
}

/* To an address, which must not be one that was already passed. */
static void locations_that_are_set(void)
{
	char program[12] = "\x44\0\0\1";
	uint64_t at;
	int back;

	text = test_text(LEN);
	for (back = 0; back < 2; back++) {
		at = text + (back ? 3 : 40);
		memcpy(program + 4, &at, sizeof(at));
		add_program(program, sizeof(program));
		check_rule(3, CODE_FRE_BASE_SP, 8, 0);
		if (back)
			check_none(4);
		else
			check_rule(63, CODE_FRE_BASE_SP, 8, 0);
		codectl_eh_frame_remove(frame);
	}
}

/* LuaJIT has one for each of its areas: it says nothing. */
static void without_rules(void)
{
	text = test_text(LEN);
	begin_with("", "", 0);
	put_fde(text, LEN, "", 0);
	CHECK_EQ(add_section(), -ENODATA);
	begin();
	CHECK_EQ(add_section(), -ENODATA);
	size = 0;
	CHECK_EQ(add_section(), -ENODATA);
	/* Next to one that says something. */
	begin();
	put_fde(text, 64, "", 0);
	put_fde(text + PAGE, 0, "", 0);
	put_fde(0, 64, "", 0);
	put_fde(-64ULL, 128, "", 0);
	put_fde(text, 1ULL << 32, "", 0);
	CHECK_EQ(add_section(), 0);
	check_rule(0, CODE_FRE_BASE_SP, 8, 0);
	check_none(PAGE);
}

/* Functions in any order, some of them twice or over others. */
static void order_and_overlap(void)
{
	uint32_t i;

	text = test_text(LEN);
	begin();
	for (i = 0; i < 100; i++)
		put_fde(text + 64 * (99 - i), 64, i % 2 ? "" : "\x0e\x10",
			i % 2 ? 0 : 2);
	put_fde(text, 32, "\x0e\x20", 2);
	put_fde(text + 32, 64, "\x0e\x20", 2);
	CHECK_EQ(add_section(), 0);
	for (i = 1; i < 100; i++) {
		CHECK_EQ(rule_at(64 * i).cfa_off, i % 2 ? 16 : 8);
		CHECK_EQ(rule_at(64 * i + 63).cfa_off, i % 2 ? 16 : 8);
	}
	check_none(6400);
	codectl_eh_frame_remove(frame);

	begin();
	put_fde(text, PAGE, "", 0);
	put_fde(text + 64, 32, "\x0e\x20", 2);
	CHECK_EQ(add_section(), 0);
	check_rule(64, CODE_FRE_BASE_SP, 8, 0);
	check_rule(PAGE - 1, CODE_FRE_BASE_SP, 8, 0);
}

/* Each part then has a region of its own; what nobody can have is left out. */
static void parts_that_lie_apart(void)
{
	struct codectl_region *region;
	uint32_t i;

	/* Nothing is mapped there unless it is explicitly mapped. */
	text = (uintptr_t)mmap((void *)0x10000000, LEN, PROT_NONE, MAP_PRIVATE |
			       MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	CHECK_EQ(text, 0x10000000);
	CHECK_EQ(munmap((void *)(text + 10 * PAGE), 10 * PAGE), 0);
	CHECK_EQ(codectl_region_open((void *)(text + 30 * PAGE), PAGE, NULL,
				     &region), 0);
	begin();
	for (i = 0; i < 64; i++)
		put_fde(text + i * PAGE, 64, "", 0);
	CHECK_EQ(add_section(), 0);
	for (i = 0; i < 64; i++) {
		if ((i >= 10 && i < 20) || i == 30)
			check_none(i * PAGE);
		else
			check_rule(i * PAGE, CODE_FRE_BASE_SP, 8, 0);
	}
	codectl_eh_frame_remove(frame);
	for (i = 0; i < 64; i++)
		check_none(i * PAGE);

	begin();
	put_fde(text + 15 * PAGE, 64, "", 0);
	CHECK_EQ(add_section(), -EINVAL);
	begin();
	put_fde(text + 30 * PAGE, 64, "", 0);
	CHECK_EQ(add_section(), -EEXIST);
}

/* There may be others' code between functions. */
static void others_in_between(void)
{
	struct codectl_region *region;

	text = test_text(LEN);
	begin();
	put_fde(text, 64, "", 0);
	put_fde(text + PAGE, 64, "", 0);
	put_fde(text + 3 * PAGE, 64, "", 0);
	CHECK_EQ(add_section(), 0);
	CHECK_EQ(codectl_region_open((void *)(text + 64), PAGE - 64, NULL,
				     &region), -EEXIST);
	CHECK_EQ(codectl_region_open((void *)(text + 2 * PAGE), PAGE, NULL,
				     &region), 0);
	check_rule(PAGE, CODE_FRE_BASE_SP, 8, 0);
	check_rule(3 * PAGE, CODE_FRE_BASE_SP, 8, 0);
}

/* 'S': the return address is that of an instruction. */
static void augmentations(void)
{
	static const char *const known[] = { "zR", "zRS", "zS" };
	static const char *const unknown[] = { "eh", "zX", "S" };
	size_t i;

	text = test_text(LEN);
	for (i = 0; i < ARRAY_SIZE(known); i++) {
		bool is_signal = strchr(known[i], 'S');

		begin_with(known[i], "\x0c\7\x08\x90\1", 5);
		/* It is absptr: 0. */
		put_fde(text, 64, "\0\x41\x0e\x10", 4);
		CHECK_EQ(add_section(), 0);
		check_rule(0, CODE_FRE_BASE_SP |
			      (is_signal ? CODE_FRE_SIGNAL : 0), 8, 0);
		check_rule(1, CODE_FRE_BASE_SP |
			      (is_signal ? CODE_FRE_SIGNAL : 0), 16, 0);
		codectl_eh_frame_remove(frame);
	}
	for (i = 0; i < ARRAY_SIZE(unknown); i++) {
		begin_with(unknown[i], "\x0c\7\x08\x90\1", 5);
		put_fde(text, 64, "\0\x41\x0e\x10", 4);
		CHECK_EQ(add_section(), -ENODATA);
	}
}

static void malformed_sections(void)
{
	uint32_t huge = 0x10000;

	text = test_text(LEN);
	begin();
	put_fde(text, 64, "", 0);
	/* An entry that leaves the section; a length without an entry. */
	CHECK_EQ(codectl_eh_frame_add(section, size - 1, &frame), -EINVAL);
	put_u32(3);
	CHECK_EQ(codectl_eh_frame_add(section, size, &frame), -EINVAL);
	put_u32(3);
	CHECK_EQ(codectl_eh_frame_add(section, size, &frame), -EINVAL);
	/* A function without a CIE. */
	begin();
	put_fde(text, 64, "", 0);
	memcpy(section + 24, &huge, sizeof(huge));
	CHECK_EQ(add_section(), -ENODATA);
	/* An unknown version. */
	begin();
	put_fde(text, 64, "", 0);
	section[8] = 2;
	CHECK_EQ(add_section(), -ENODATA);
}

/* Whatever the bytes are, nothing outside of the section is read. */
static void damaged_sections(void)
{
	uint8_t whole[sizeof(section)], *copy;
	unsigned int i, k;
	size_t len;

	text = test_text(LEN);
	begin_with("zR", "\x0c\7\x08\x90\1", 5);
	for (i = 0; i < 20; i++)
		put_fde(text + 64 * i, 64,
			"\0\x41\x0e\x10\x86\2\x0a\x43\x0d\6\x78\x0b\x0f\1\x77", 15);
	memcpy(whole, section, size);
	for (i = 0; i < test_rounds(20000); i++) {
		len = 1 + test_random(size);
		copy = malloc(len);
		CHECK(copy);
		memcpy(copy, whole, len);
		for (k = test_random(8); k; k--)
			copy[test_random(len)] = test_random(256);
		if (!codectl_eh_frame_add(copy, len, &frame))
			codectl_eh_frame_remove(frame);
		free(copy);
	}
	check_none(0);
}

/* --- entries, and .debug_frame */

/* The given one, whatever comes before and after it. */
static void one_entry(void)
{
	size_t at[3], i;

	text = test_text(LEN);
	begin();
	for (i = 0; i < 3; i++) {
		at[i] = size;
		put_fde(text + 64 * i, 64, "\x41\x0e\x10", 3);
	}
	put_u32(0xdeadbeef);
	CHECK_EQ(codectl_fde_add(section + at[1], &frame), 0);
	check_none(63);
	check_rule(64, CODE_FRE_BASE_SP, 8, 0);
	check_rule(65, CODE_FRE_BASE_SP, 16, 0);
	check_none(128);
	codectl_eh_frame_remove(frame);
	check_none(64);

	CHECK_EQ(codectl_fde_add(section, &frame), -EINVAL);
	memset(section + size - 4, 0, 4);
	CHECK_EQ(codectl_fde_add(section + size - 4, &frame), -EINVAL);
	/* Its CIE is another function. */
	memcpy(section + at[1] + 4, &(uint32_t){ at[1] + 4 - at[0] }, 4);
	CHECK_EQ(codectl_fde_add(section + at[1], &frame), -ENODATA);
}

/* Entries count the place of their CIE from the start, and addresses are absolute. */
static void debug_frame(uint8_t version, bool is_64)
{
	const uint8_t head[] = { version, 0, 8, 0 };
	size_t entry, half = is_64 ? 8 : 4;
	const uint64_t none = -1, cie = 0;
	const uint32_t long_len = UINT32_MAX;

	size = 0;
	for (int i = 0; i < 2; i++) {
		size_t len_at;

		if (is_64)
			put(&long_len, 4);
		len_at = size;
		put("\0\0\0\0\0\0\0", half);
		entry = size;
		put(i ? (const void *)&cie : &none, half);
		if (!i) {
			put(head, version == 4 ? 4 : 2);
			put((uint8_t[]){ 1, 0x78, RA }, 3);
			put("\x0c\7\x08\x90\1", 5);
		} else {
			put_u64(text);
			put_u64(64);
			put("\x41\x0e\x10", 3);
		}
		while ((size - entry) % 8)
			put("", 1);
		memcpy(section + len_at, &(uint64_t){ size - entry }, half);
	}
	CHECK_EQ(codectl_debug_frame_add(section, size, &frame), 0);
	check_rule(0, CODE_FRE_BASE_SP, 8, 0);
	check_rule(1, CODE_FRE_BASE_SP, 16, 0);
	check_none(64);
	codectl_eh_frame_remove(frame);
	/* The CIE is none. */
	memcpy(section + entry, &(uint64_t){ 8 }, half);
	CHECK_EQ(codectl_debug_frame_add(section, size, &frame), -ENODATA);
	memcpy(section + entry, &(uint64_t){ -2UL }, half);
	CHECK_EQ(codectl_debug_frame_add(section, size, &frame), -ENODATA);
}

static void debug_frames(void)
{
	text = test_text(LEN);
	debug_frame(1, false);
	debug_frame(3, false);
	debug_frame(4, false);
	debug_frame(4, true);
	begin();
	put_fde(text, 64, "", 0);
	CHECK(codectl_debug_frame_add(section, size, &frame) < 0);
}

static const struct test tests[] = {
	TEST(usual_function),
	TEST(remembered_state),
	TEST(restored_register),
	TEST(program_that_goes_beyond),
	TEST(rules_that_are_not_known),
	TEST(programs_that_break_off),
	TEST(locations_that_are_set),
	TEST(without_rules),
	TEST(order_and_overlap),
	TEST(parts_that_lie_apart),
	TEST(others_in_between),
	TEST(augmentations),
	TEST(malformed_sections),
	TEST(damaged_sections),
	TEST(one_entry),
	TEST(debug_frames),
};

int main(void)
{
	return test_main(tests, ARRAY_SIZE(tests));
}

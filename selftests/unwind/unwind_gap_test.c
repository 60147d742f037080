// SPDX-License-Identifier: GPL-2.0
/*
 * Stacks in which frames without a table, that have frame pointers, alternate with frames
 * that only their tables describe, below and above them in memory: the extent of text
 * without a table must not be overestimated.
 */
#include <stdlib.h>

#include "sframe_build.h"
#include "unwind_fixture.h"

/* push %rbp; mov %rsp, %rbp; call *%rdi; pop %rbp; ret */
static const uint8_t by_fp[] = { 0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3 };
/* sub $8, %rsp; call *%rsi; add $8, %rsp; ret */
static const uint8_t by_table[] = {
	0x48, 0x83, 0xec, 0x08, 0xff, 0xd6, 0x48, 0x83, 0xc4, 0x08, 0xc3,
};

#define BY_FP_RETURNS		6
#define BY_TABLE_AT		64
#define BY_TABLE_RETURNS	(BY_TABLE_AT + 6)

/* Pages of such code, one after the other, and then as many for their tables. */
#define NR_PAGES		8

static uint8_t *code;
/* What calls called_back(), and what calls that, if it is not compare(). */
static uint8_t *fp_page, *table_page;

static noinline void called_back(void)
{
	NOTE_FRAME();
	marker();
	asm volatile("");
}

/* The C library lies above the code, this program below. */
static int compare(const void *a, const void *b)
{
	void (*fp)(void (*function)(void)) = (void *)fp_page;
	void (*table)(void (*function)(void), void *next) =
		(void *)(table_page + BY_TABLE_AT);

	NOTE_FRAME();
	if (table_page)
		table(called_back, fp);
	else
		fp(called_back);
	asm volatile("");
	return 0;
}

static noinline void sort(void)
{
	char two[2] = { 0 };

	NOTE_FRAME();
	qsort(two, 2, 1, compare);
	asm volatile("");
}

static int map_code(void)
{
	code = mmap(NULL, 2 * NR_PAGES * PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (code == MAP_FAILED)
		return -1;
	for (uint8_t *page = code; page < code + NR_PAGES * PAGE; page += PAGE) {
		memcpy(page, by_fp, sizeof(by_fp));
		memcpy(page + BY_TABLE_AT, by_table, sizeof(by_table));
	}
	fp_page = code;
	return 0;
}

static bool has(const struct stack *stack, const void *addr)
{
	for (unsigned int i = 0; i < stack->nr; i++)
		if (stack->ip[i] == addr_of(addr))
			return true;
	return false;
}

static int unregister_page(unsigned int nr)
{
	uint64_t page = addr_of(code) + nr * PAGE;

	return unregister_text(page, page + PAGE);
}

#define EXPECT_WHOLE_STACK() do {					\
	truth_reset();							\
	sampler_drain(&self->sampler);					\
	sort();								\
	ASSERT_TRUE(sampler_next(&self->sampler, &self->stack));	\
	EXPECT_TRUE(stack_has_noted(&self->stack) &&			\
		    has(&self->stack, fp_page + BY_FP_RETURNS) &&	\
		    ends_in_start(&self->stack)) {			\
		print_stack(&self->stack, &truth);			\
	}								\
} while (0)

TEST_F(unwind, gap_between_registrations)
{
	ASSERT_EQ(0, map_code());
	EXPECT_WHOLE_STACK();
}

TEST_F(unwind, registration_without_a_table)
{
	ASSERT_EQ(0, map_code());
	ASSERT_EQ(0, register_elf_text(addr_of(code), addr_of(code) + PAGE));
	EXPECT_WHOLE_STACK();
	EXPECT_EQ(0, unregister_page(0));
}

/* Its only function comes after the code that it says nothing of. */
static int register_page(unsigned int nr)
{
	const struct fre_spec rows[] = {
		{ 0, FRE_INFO(FRE_SP, 1, FRE_WORD1), { 8 } },
		{ 4, FRE_INFO(FRE_SP, 1, FRE_WORD1), { 16 } },
		{ 10, FRE_INFO(FRE_SP, 1, FRE_WORD1), { 8 } },
	};
	uint8_t *page = code + nr * PAGE, *table = page + NR_PAGES * PAGE;
	struct fde_spec fde = {
		.func = addr_of(page) + BY_TABLE_AT, .size = sizeof(by_table),
		.nr_fres = 3, .fre = rows,
	};
	size_t size = sframe_build(table, PAGE, &fde, 1, 0);

	return size ? register_text(addr_of(page), addr_of(page) + PAGE, table, size) : -1;
}

TEST_F(unwind, table_that_begins_later)
{
	ASSERT_EQ(0, map_code());
	ASSERT_EQ(0, register_page(0));
	table_page = code;
	EXPECT_WHOLE_STACK();
	EXPECT_TRUE(has(&self->stack, code + BY_TABLE_RETURNS));
	EXPECT_EQ(0, unregister_page(0));
}

/*
 * The gap does not reach into the registration below, wherever that is in the tree: some
 * of these have it above them there, and some below.
 */
TEST_F(unwind, table_below_a_gap)
{
	ASSERT_EQ(0, map_code());
	for (unsigned int i = 0; i < NR_PAGES; i++)
		ASSERT_EQ(0, register_page(i));
	for (unsigned int i = 1; i < NR_PAGES; i++) {
		fp_page = code + i * PAGE;
		table_page = fp_page - PAGE;
		EXPECT_WHOLE_STACK();
		EXPECT_TRUE(has(&self->stack, table_page + BY_TABLE_RETURNS));
	}
	for (unsigned int i = 0; i < NR_PAGES; i++)
		EXPECT_EQ(0, unregister_page(i));
}

TEST_HARNESS_MAIN

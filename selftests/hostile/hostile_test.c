// SPDX-License-Identifier: GPL-2.0
/*
 * Malformed sections, under a live sampler.  Recorded stacks are right, or short; no
 * address of the kernel's is ever in them; and nothing of it lasts: with the table
 * repaired the stack is complete again.
 */
#include <limits.h>

#include "hostile_fixture.h"

#define SFRAME_PARTS							\
	struct sframe_header *h = (void *)s->table;			\
	struct sframe_fde *fde HOSTILE_UNUSED = sframe_fde_at(h, 0);	\
	struct sframe_attr *attr HOSTILE_UNUSED = sframe_attr_at(h, 0);	\
	uint8_t *fre HOSTILE_UNUSED = sframe_fre_at(h, 0)

#define HOSTILE(name, wanted, ...)					\
	HOSTILE_PARTS(name, wanted, SFRAME_PARTS, __VA_ARGS__)

#define FAR(addr) ((int64_t)((addr) - addr_of(fde)))

HOSTILE(start_in_the_kernel, SHORT, fde->func_off = FAR(KERNEL_ADDR));
HOSTILE(start_at_the_last_byte, SHORT, fde->func_off = FAR(-1UL));
HOSTILE(start_at_zero, PREFIX, fde->func_off = FAR(0UL); fde->func_size = ~0U);
HOSTILE(start_beyond_user_space, SHORT, fde->func_off = FAR(USER_END));
HOSTILE(start_int64_max, SHORT, fde->func_off = INT64_MAX);
HOSTILE(start_int64_min, SHORT, fde->func_off = INT64_MIN);
HOSTILE(start_below_with_huge_size, PREFIX,
	fde->func_off -= PAGE; fde->func_size = ~0U);
HOSTILE(describes_other_text, SHORT, fde->func_off -= PAGE);
HOSTILE(size_zero, SHORT, fde->func_size = 0);
HOSTILE(size_huge, PREFIX, fde->func_size = ~0U);

HOSTILE(rows_beyond_the_section, SHORT, fde->fre_off = h->fre_len);
HOSTILE(rows_far_beyond, SHORT, fde->fre_off = ~0U);
HOSTILE(rows_wrap, SHORT, fde->fre_off = -(uint32_t)sizeof(*attr));
HOSTILE(rows_at_the_last_byte, SHORT, fde->fre_off = h->fre_len - 1);
HOSTILE(attributes_at_the_very_end, SHORT,
	fde->fre_off = h->fre_len - sizeof(*attr));
HOSTILE(rows_before_the_section, SHORT,
	fde->fre_off = 0x80000000U);

HOSTILE(rows_cut_off, PREFIX, h->fre_len = sizeof(*attr) + 1);
HOSTILE(no_rows, SHORT, attr->num_fres = 0);
HOSTILE(too_many_rows, PREFIX, attr->num_fres = 0xffff);
HOSTILE(one_row_only, LIES, attr->num_fres = 1);
HOSTILE(start_size_3, SHORT, attr->info = 3);
HOSTILE(start_size_15, SHORT, attr->info = 15);
HOSTILE(unused_attribute_bit, SHORT, attr->info |= 1 << 6);
HOSTILE(unknown_type_2, SHORT, attr->info2 = 2);
HOSTILE(unknown_type_31, SHORT, attr->info2 = 31);
HOSTILE(unused_type_bits, SHORT, attr->info2 = 0xe0);
HOSTILE(wide_starts, LIES, attr->info = FDE_ADDR4);
HOSTILE(rep_size_0, SHORT, attr->info |= FDE_PCMASK; attr->rep_size = 0);
HOSTILE(rep_size_1, LIES, attr->info |= FDE_PCMASK; attr->rep_size = 1);
HOSTILE(signal_frame_without_one, SHORT,
	attr->info |= FDE_SIGNAL; attr->num_fres = 0);
HOSTILE(signal_flag, WHOLE, attr->info |= FDE_SIGNAL);
HOSTILE(flexible_by_mistake, LIES, attr->info2 = FDE_FLEX);

/* Each row of the right table is a start, the info, then its words. */
static void set_all_rows(struct stub *s, uint8_t info, int32_t a, int32_t b)
{
	const struct fre_spec row = { 0, info, { a, b } };
	struct fde_spec fde = stub_fde(s);

	fde.fre = &row;
	fde.nr_fres = 1;
	stub_table_of(s, &fde);
}

#define ROW(name, wanted, info, a, b)					\
	HOSTILE(name, wanted, set_all_rows(s, info, a, b))

#define W1 FRE_INFO(FRE_SP, 2, FRE_WORD1)
#define W4 FRE_INFO(FRE_SP, 2, FRE_WORD4)

ROW(fifteen_words, SHORT, FRE_INFO(FRE_SP, 15, FRE_WORD4), STUB_FRAME, -16);
ROW(four_words, SHORT, FRE_INFO(FRE_SP, 4, FRE_WORD1), STUB_FRAME, -16);
ROW(word_size_3, SHORT, FRE_INFO(FRE_SP, 2, 3), STUB_FRAME, -16);
ROW(mangled_return_address, SHORT, W1 | 0x80, STUB_FRAME, -16);
HOSTILE(row_starts_after_the_address, SHORT,
	set_all_rows(s, W1, STUB_FRAME, -16); *sframe_fre_at(h, 0) = 0xff);
/* A function that has popped its return address has this. */
ROW(cfa_at_sp, LIES_AT_THE_TOP, W1, 0, -16);
ROW(cfa_below_sp, SHORT, W1, -8, -16);
ROW(cfa_misaligned, SHORT, W1, STUB_FRAME + 1, -16);
ROW(cfa_far_above, SHORT, W4, INT_MAX - 7, -16);
ROW(cfa_far_below, SHORT, W4, INT_MIN, -16);
ROW(cfa_by_fp_that_is_0, SHORT, FRE_INFO(FRE_FP, 2, FRE_WORD1), 16, -16);
ROW(cfa_by_fp_that_is_0_wrapping, SHORT, FRE_INFO(FRE_FP, 2, FRE_WORD1), -8,
	-16);
ROW(cfa_by_fp_far, SHORT, FRE_INFO(FRE_FP, 2, FRE_WORD4), INT_MIN, -16);
ROW(cfa_one_word_off, LIES, W1, STUB_FRAME - 8, -16);
ROW(fp_at_the_cfa_far_above, SHORT, W4, STUB_FRAME, INT_MAX - 7);
ROW(fp_far_below, SHORT, W4, STUB_FRAME, INT_MIN);
ROW(fp_misaligned, PREFIX, W1, STUB_FRAME, -15);

/* Flexible rules reach whatever the stub has planted at its SP. */
static void set_flex(struct stub *s, uint64_t plant, unsigned int words,
		     int32_t a, int32_t b, int32_t c, int32_t d)
{
	const struct fre_spec row = {
		0, FRE_INFO(FRE_SP, words, FRE_WORD4), { a, b, c, d }
	};
	struct fde_spec fde = stub_fde(s);

	stub_plant = plant;
	fde.fre = &row;
	fde.nr_fres = 1;
	fde.info2 = FDE_FLEX;
	stub_table_of(s, &fde);
}

#define AT_SP FLEX_CTL(DWARF_RSP, 1, 1)
#define BY_SP FLEX_CTL(DWARF_RSP, 0, 1)
#define AT_CFA FLEX_CTL(0, 1, 0)

#define CFA(name, plant)						\
	HOSTILE(cfa_##name, SHORT, set_flex(s, plant, 2, AT_SP, 0, 0, 0))
#define RA(name, plant)							\
	HOSTILE(ra_##name, SHORT,					\
		set_flex(s, plant, 4, BY_SP, STUB_FRAME, AT_SP, 0))
#define RA_SLOT(name, off)						\
	HOSTILE(ra_slot_##name, SHORT,					\
		set_flex(s, 0, 4, BY_SP, STUB_FRAME, AT_CFA, off))

CFA(in_the_kernel, KERNEL_ADDR + 8);
CFA(at_the_direct_map, 0xffff888000001000UL);
CFA(at_user_end, USER_END);
CFA(after_user_end, USER_END + 8);
HOSTILE(cfa_in_the_last_page, LIES,
	set_flex(s, USER_END - PAGE + 8, 2, AT_SP, 0, 0, 0));
CFA(not_canonical, 1UL << 60);
CFA(at_0, 0);
CFA(at_8, 8);
CFA(at_minus_8, -8UL);
CFA(at_minus_1, -1UL);
CFA(at_the_stack_misaligned, addr_of(&s) + 4);
RA(in_the_kernel, KERNEL_ADDR);
RA(at_user_end, USER_END);
RA(after_user_end, USER_END + 1);
RA(at_minus_1, -1UL);
RA(not_canonical, 1UL << 60);
RA_SLOT(far_above, INT_MAX - 7);
RA_SLOT(far_below, INT_MIN);
HOSTILE(ra_is_an_address_by_the_cfa, SHORT,
	set_flex(s, 0, 4, BY_SP, STUB_FRAME, FLEX_CTL(0, 0, 0) | 4, -8));
HOSTILE(cfa_by_the_cfa, SHORT, set_flex(s, 0, 2, AT_CFA, STUB_FRAME, 0, 0));
HOSTILE(cfa_by_no_register, SHORT, set_flex(s, 0, 2, 0, STUB_FRAME, 0, 0));
HOSTILE(cfa_by_register_16, SHORT,
	set_flex(s, 0, 2, FLEX_CTL(16, 0, 1), STUB_FRAME, 0, 0));
HOSTILE(cfa_by_register_huge, SHORT,
	set_flex(s, 0, 2, FLEX_CTL(0x1fffffff, 0, 1), STUB_FRAME, 0, 0));
HOSTILE(odd_number_of_words, SHORT,
	set_flex(s, 0, 1, BY_SP, STUB_FRAME, 0, 0));
HOSTILE(words_left_over, SHORT,
	set_flex(s, 0, 6, BY_SP, STUB_FRAME, AT_CFA, -8));

/* Several functions in the wrong order, and the same one twice. */
static void set_many(struct stub *s, int order)
{
	struct fde_spec fdes[32];

	for (int i = 0; i < 32; i++) {
		fdes[i] = stub_fde(s);
		if (order == 1)
			fdes[i].func += (31 - i) * STUB_SIZE;
		else if (order == 2)
			fdes[i].func += (i * 7 % 32 - 8) * STUB_SIZE;
	}
	s->table_size = sframe_build(s->table, s->table_room, fdes, 32, 0);
}

HOSTILE(descending_functions, PREFIX, set_many(s, 1));
HOSTILE(shuffled_functions, PREFIX, set_many(s, 2));
HOSTILE(same_function_again, PREFIX, set_many(s, 0));

/* The header is no longer what was registered. */
HOSTILE(header_erased, PREFIX, memset(h, 0, sizeof(*h)));
HOSTILE(header_all_ones, PREFIX, memset(h, 0xff, sizeof(*h)));
HOSTILE(header_num_fdes_huge, PREFIX, h->num_fdes = ~0U);
HOSTILE(header_fde_off_huge, PREFIX, h->fde_off = ~0U);
HOSTILE(header_fre_len_huge, PREFIX, h->fre_len = ~0U; fde->fre_off = ~0U);
HOSTILE(all_zero, SHORT, memset(h + 1, 0, s->table_size - sizeof(*h)));
HOSTILE(all_ones, SHORT, memset(h + 1, 0xff, s->table_size - sizeof(*h)));

/*
 * Two ways in: registered while valid, and then changed; and changed before, if the
 * kernel accepts it at all.
 */
static void check_hostile(struct __test_metadata *_metadata,
			  FIXTURE_DATA(hostile) * self,
			  const FIXTURE_VARIANT(hostile) * variant)
{
	size_t room;

	stub_table(&self->stub);
	room = self->stub.table_size;
	self->stub.table_size = self->stub.table_room;
	ASSERT_EQ(0, stub_register(&self->stub));
	self->stub.table_size = room;
	variant->change(&self->stub);
	check_both(_metadata, self, variant->verdict);
	check_samples(_metadata, self, 200);
	ASSERT_EQ(0, stub_unregister(&self->stub));

	self->stub.table_size = self->stub.table_room;
	if (!stub_register(&self->stub)) {
		check_both(_metadata, self, variant->verdict);
		ASSERT_EQ(0, stub_unregister(&self->stub));
	}

	stub_table(&self->stub);
	ASSERT_EQ(0, stub_register(&self->stub));
	check_both(_metadata, self, PREFIX);
	EXPECT_EQ(truth.nr, self->stack.nr);
	ASSERT_EQ(0, stub_unregister(&self->stub));
}

TEST_F(hostile, table)
{
	check_hostile(_metadata, self, variant);
}

/* Nothing after it can be read. */
TEST_F(hostile, table_before_unmapped_memory)
{
	ASSERT_EQ(0, mprotect(self->stub.table + PAGE, PAGE, PROT_NONE));
	self->stub.table_room = PAGE;
	stub_table(&self->stub);
	check_hostile(_metadata, self, variant);
}

TEST_F(hostile, table_in_the_last_page_of_user_space)
{
	ASSERT_EQ(0, stub_table_at(&self->stub, USER_END - PAGE, 1));
	check_hostile(_metadata, self, variant);
}

TEST_HARNESS_MAIN

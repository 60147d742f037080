// SPDX-License-Identifier: GPL-2.0
/*
 * Tables of compiled code that are wrong, under a live sampler: a stack may be
 * short, the walk ends, and no address of the kernel's is ever recorded.
 */
#include <limits.h>

#include "hostile_fixture.h"
#include "jit_table.h"

/* The body is what both walks look up. */
#define BODY_ROW 2

#define JIT_PARTS							\
	struct code_jit_unwind_table *t = (void *)s->table;		\
	struct code_jit_unwind_fre *body HOSTILE_UNUSED = &t->fre[BODY_ROW]

#define HOSTILE(name, wanted, ...)					\
	HOSTILE_PARTS(name, wanted, JIT_PARTS, __VA_ARGS__)

/* A table with one row, which covers byte @off of the region. */
static jit_table *table_of_byte(void *at, uint32_t off)
{
	const jit_row row = { 1, off, .info = CODE_FRE_OUTERMOST };
	jit_table *t = jit_table_init(at, 256);

	jit_table_append(t, &row, 1);
	return t;
}

/* Not found in the first table, so that the next one is read. */
static void set_next(struct stub *s, uint64_t next)
{
	table_of_byte(s->table, 0)->next = next;
}

/* A valid table, to which the first one leaves a byte, where none may be. */
static void set_next_right(struct stub *s, unsigned int off)
{
	jit_table *t = jit_table_init(s->table + off, 1024);
	jit_row row[STUB_ROWS];

	stub_jit_rows(row, 0);
	jit_table_append(t, &row[1], STUB_ROWS - 1);
	set_next(s, addr_of(t));
}

HOSTILE(next_is_right, WHOLE, set_next_right(s, 1024));
HOSTILE(next_misaligned_by_4, SHORT, set_next_right(s, 1028));
HOSTILE(next_misaligned_by_1, SHORT, set_next_right(s, 1025));
HOSTILE(next_is_itself, SHORT, set_next(s, addr_of(s->table)));
HOSTILE(next_is_in_the_kernel, SHORT, set_next(s, KERNEL_ADDR));
HOSTILE(next_is_in_the_direct_map, SHORT, set_next(s, 0xffff888000001000UL));
HOSTILE(next_is_user_end, SHORT, set_next(s, USER_END));
HOSTILE(next_is_last_word, SHORT, set_next(s, USER_END - 8));
HOSTILE(next_is_last_header, SHORT, set_next(s, USER_END - 24));
HOSTILE(next_is_last_row, SHORT, set_next(s, USER_END - 48));
HOSTILE(next_is_last_page, SHORT, set_next(s, USER_END - PAGE));
HOSTILE(next_is_not_canonical, SHORT, set_next(s, 1UL << 60));
HOSTILE(next_is_minus_8, SHORT, set_next(s, -8UL));
HOSTILE(next_is_minus_1, SHORT, set_next(s, -1UL));
HOSTILE(next_is_8, SHORT, set_next(s, 8));
HOSTILE(next_is_in_text, SHORT, set_next(s, addr_of(s->text)));
HOSTILE(next_is_on_the_stack, PREFIX, set_next(s, addr_of(&s) & -8));
HOSTILE(next_of_a_table_that_covers, WHOLE, t->next = KERNEL_ADDR);

/* Two tables that follow each other; and a second one that is before. */
static void set_pair(struct stub *s, uint32_t first, uint32_t second)
{
	jit_table *a = table_of_byte(s->table, first);
	jit_table *b = table_of_byte(s->table + 512, second);

	a->next = addr_of(b);
	b->next = addr_of(a);
}

HOSTILE(next_of_next_is_the_first, SHORT, set_pair(s, 0, 1));
HOSTILE(next_goes_backward, SHORT, set_pair(s, 1, 0));
HOSTILE(next_goes_nowhere, SHORT, set_pair(s, 1, 1));

/* Some memory follows the rows, and then none. */
#define ROOM (s->table_room - sizeof(*t))

HOSTILE(used_0, SHORT, t->used_len = 0);
HOSTILE(used_23, SHORT, t->used_len = 23);
HOSTILE(used_in_the_middle_of_a_row, WHOLE, t->used_len -= 1);
HOSTILE(used_before_the_row, SHORT, t->used_len = BODY_ROW * 24 + 23);
HOSTILE(reserved_0, SHORT, t->reserved_len = 0);
HOSTILE(reserved_bounds_used, WHOLE,
	t->reserved_len = t->used_len; t->used_len = -1UL);
HOSTILE(reserved_alone_is_huge, WHOLE, t->reserved_len = -1UL);
HOSTILE(rows_that_are_not_written, SHORT, t->used_len = ROOM);

#define CLAIM(name, len)						\
	HOSTILE(claim_##name, SHORT,					\
		t->used_len = len; t->reserved_len = len)

CLAIM(beyond_the_memory, ROOM + 24);
CLAIM(of_1_gib, 1UL << 30);
CLAIM(of_4_gi_rows, 24UL << 32);
CLAIM(of_more_rows_than_32_bits, (24UL << 32) + 24 * STUB_ROWS);
CLAIM(of_int64_max, LONG_MAX);
CLAIM(of_uint64_max, -1UL);
CLAIM(up_to_the_last_byte, -addr_of(t));
CLAIM(up_to_user_end, USER_END - addr_of(t->fre));
CLAIM(beyond_user_end, USER_END - addr_of(t->fre) + 24);

/* Order, overlaps, and rows that are elsewhere. */
HOSTILE(reversed, PREFIX, jit_rows_reverse(t->fre, STUB_ROWS));
HOSTILE(two_swapped, PREFIX, jit_rows_reverse(&t->fre[1], 3));
HOSTILE(all_start_at_0, LIES,
	for (int i = 0; i < STUB_ROWS; i++) {
		t->fre[i].ip_off = 0;
		t->fre[i].size = ~0U;
	});
HOSTILE(all_are_endless, WHOLE,
	for (int i = 0; i < STUB_ROWS; i++)
		t->fre[i].size = ~0U);
HOSTILE(first_covers_a_retired_one, SHORT,
	t->fre[0].size = ~0U; body->size = 0);
HOSTILE(outside_the_region, SHORT,
	for (int i = 0; i < STUB_ROWS; i++)
		t->fre[i].ip_off += PAGE);
HOSTILE(at_the_last_offset, SHORT,
	for (int i = 0; i < STUB_ROWS; i++) {
		t->fre[i].ip_off = ~0U;
		t->fre[i].size = ~0U;
	});
HOSTILE(far_offset_behind, WHOLE,
	t->fre[4].ip_off = ~0U; t->fre[4].size = ~0U);
HOSTILE(all_zero, SHORT, memset(t, 0, s->table_room));
HOSTILE(all_ones, SHORT, memset(t, 0xff, s->table_room));
HOSTILE(rows_all_ones, SHORT,
	memset(t->fre, 0xff, ROOM); t->used_len = ROOM);

static void set_random(struct stub *s, unsigned int seed, size_t off)
{
	for (size_t i = off; i < s->table_room; i++) {
		seed = seed * 1103515245 + 12345;
		s->table[i] = seed >> 16;
	}
}

HOSTILE(random_1, PREFIX, set_random(s, 1, 0));
HOSTILE(random_2, LIES, set_random(s, 2, 24); t->used_len = ROOM);
HOSTILE(random_3, LIES, set_random(s, 3, 24); t->used_len = ROOM);

/* One row for all of the stub. */
static void set_row(struct stub *s, int32_t cfa, int32_t ra, int32_t fp,
		    uint8_t info)
{
	const jit_row row = { STUB_SIZE, 0, cfa, ra, fp, info };

	jit_table_append(jit_table_init(s->table, s->table_room), &row, 1);
}

#define SP CODE_FRE_BASE_SP
#define SAVED CODE_FRE_FP_SAVED

#define ROW(name, wanted, cfa, ra, fp, info)				\
	HOSTILE(name, wanted, set_row(s, cfa, ra, fp, info))

/* A function that has popped its return address has this. */
ROW(cfa_at_sp, LIES_AT_THE_TOP, 0, -8, -16, SP | SAVED);
ROW(cfa_below_sp, SHORT, -8, -8, -16, SP | SAVED);
ROW(cfa_misaligned, SHORT, STUB_FRAME + 1, -8, -16, SP | SAVED);
ROW(cfa_misaligned_by_4, SHORT, STUB_FRAME + 4, -8, -16, SP | SAVED);
ROW(cfa_far_above, SHORT, INT_MAX - 7, -8, -16, SP | SAVED);
ROW(cfa_far_below, SHORT, INT_MIN, -8, -16, SP | SAVED);
ROW(cfa_one_word_off, LIES, STUB_FRAME - 8, -8, -16, SP | SAVED);
ROW(ra_far_above, SHORT, STUB_FRAME, INT_MAX - 7, -16, SP | SAVED);
ROW(ra_far_below, SHORT, STUB_FRAME, INT_MIN, -16, SP | SAVED);
ROW(ra_misaligned, LIES, STUB_FRAME, -7, -16, SP | SAVED);
ROW(fp_far_above, SHORT, STUB_FRAME, -8, INT_MAX - 7, SP | SAVED);
ROW(fp_far_below, SHORT, STUB_FRAME, -8, INT_MIN, SP | SAVED);
ROW(fp_misaligned, PREFIX, STUB_FRAME, -8, -15, SP | SAVED);
ROW(cfa_by_fp_that_is_0, SHORT, 16, -8, -16, SAVED);
ROW(cfa_by_fp_that_is_0_wrapping, SHORT, -8, -8, -16, SAVED);
ROW(cfa_by_fp_far, SHORT, INT_MIN, -8, -16, SAVED);

#define CFA(name, wanted, fp, off)					\
	HOSTILE(cfa_##name, wanted,					\
		set_row(s, off, -8, -16, SAVED); stub_fp = fp)

CFA(in_the_kernel, SHORT, KERNEL_ADDR, 16);
CFA(in_the_direct_map, SHORT, 0xffff888000001000UL, 0);
CFA(at_user_end, SHORT, USER_END, 0);
CFA(up_to_user_end, SHORT, USER_END - (1 << 30), 1 << 30);
CFA(after_user_end, SHORT, USER_END - 8, 16);
CFA(in_the_last_page, LIES, USER_END - PAGE, 16);
CFA(not_canonical, SHORT, 1UL << 60, 16);
CFA(not_canonical_by_its_offset, SHORT, (1UL << 47) - 16, 16);
CFA(at_0, SHORT, -16UL, 16);
CFA(at_8, SHORT, -8UL, 16);
CFA(at_minus_8, SHORT, 8, -16);
CFA(at_minus_1, SHORT, -1UL, 0);
CFA(at_int64_max, SHORT, LONG_MAX, 0);
CFA(on_the_stack_misaligned, SHORT, addr_of(&s) + 0x100000 + 4, 0);

/* A word of the stub's frame, taken for the return address or for FP. */
#define PLANTED(name, wanted, plant, ra, fp)				\
	HOSTILE(name, wanted,						\
		set_row(s, STUB_FRAME, ra, fp, SP | SAVED);		\
		stub_plant = plant)
#define RA(name, plant)							\
	PLANTED(ra_##name, SHORT, plant, -STUB_FRAME, STUB_FP_OFF)
#define FP(name, plant)							\
	PLANTED(fp_##name, PREFIX, plant, -8, -STUB_FRAME)

RA(in_the_kernel, KERNEL_ADDR);
RA(in_the_direct_map, 0xffff888000001000UL);
RA(at_user_end, USER_END);
RA(after_user_end, USER_END + 1);
RA(at_minus_1, -1UL);
RA(at_0, 0);
RA(not_canonical, 1UL << 60);
FP(in_the_kernel, KERNEL_ADDR);
FP(at_minus_1, -1UL);
FP(at_user_end, USER_END);

#define SAMPLED_RUNS 40

/* Damaged while it is registered, and repaired; nothing of it lasts. */
static void check_hostile(struct __test_metadata *_metadata,
			  FIXTURE_DATA(hostile) * self,
			  const FIXTURE_VARIANT(hostile) * variant)
{
	stub_jit_table(&self->stub);
	ASSERT_EQ(0, stub_register_jit(&self->stub));
	variant->change(&self->stub);
	check_both(_metadata, self, variant->verdict);
	check_samples(_metadata, self, SAMPLED_RUNS);
	memset(self->stub.table, 0, self->stub.table_room);
	stub_jit_table(&self->stub);
	check_both(_metadata, self, WHOLE);
	ASSERT_EQ(0, stub_unregister(&self->stub));
}

/* Before memory that cannot be read; and at the end of user space. */
TEST_F(hostile, table)
{
	ASSERT_EQ(0, munmap(self->stub.table + PAGE, PAGE));
	self->stub.table_room = PAGE;
	check_hostile(_metadata, self, variant);
	ASSERT_EQ(0, stub_table_at(&self->stub, USER_END - PAGE, 1));
	check_hostile(_metadata, self, variant);
}

FIXTURE(claims)
{
	FIXTURE_DATA(hostile) base;
	struct code_jit_info info;
};

FIXTURE_SETUP(claims)
{
	REQUIRE_CODECTL();
	ASSERT_EQ(0, sampler_open_syscall(&self->base.marks, MARKER_NR));
	ASSERT_EQ(0, stub_map(&self->base.stub, 2));
	stub_jit_table(&self->base.stub);
	self->info = stub_jit_info(&self->base.stub);
}

FIXTURE_TEARDOWN(claims)
{
	sampler_close(&self->base.marks);
}

static void check_info(struct __test_metadata *_metadata,
		       FIXTURE_DATA(claims) * self, enum verdict verdict)
{
	ASSERT_EQ(0, register_jit(&self->info));
	check_both(_metadata, &self->base, verdict);
	check_samples(_metadata, &self->base, SAMPLED_RUNS);
	ASSERT_EQ(0, unregister_text(self->info.text_start,
				     self->info.text_end));
}

TEST_F(claims, head_where_nothing_is)
{
	const uint64_t heads[] = { 8, PAGE, USER_END - PAGE,
				   addr_of(self->base.stub.text),
				   addr_of(self->base.stub.text) + PAGE - 8 };

	for (size_t i = 0; i < ARRAY_SIZE(heads); i++) {
		self->info.unwind_head = heads[i];
		check_info(_metadata, self, SHORT);
	}
}

/* A counter that cannot be read says nothing about the tables. */
TEST_F(claims, seq_where_nothing_is)
{
	uint8_t *none = map_pages(1, PROT_NONE);
	const uint64_t seqs[] = { 4, addr_of(none), addr_of(none) + PAGE - 4,
				  USER_END - 4, USER_END - PAGE };

	for (size_t i = 0; i < ARRAY_SIZE(seqs); i++) {
		self->info.seq = seqs[i];
		check_info(_metadata, self, SHORT);
	}
	self->info.seq = addr_of(self->base.stub.table) + PAGE;
	check_info(_metadata, self, WHOLE);
}

static void *reserve(uint64_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

/* The right rows are the last ones; all before are zeros, which is in order. */
static jit_table *sparse_table(void *at, uint64_t rows, uint32_t stub_off)
{
	jit_table *t = at;

	t->reserved_len = rows * sizeof(jit_row);
	t->used_len = t->reserved_len;
	stub_jit_rows(&t->fre[rows - STUB_ROWS], stub_off);
	return t;
}

TEST_F(claims, more_rows_than_there_can_be)
{
	const uint64_t rows[] = { 1UL << 20, 1UL << 31, (1UL << 32) - 2 };
	const uint64_t size = (26UL << 32) + PAGE;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		void *mem = reserve(size);

		ASSERT_NE(NULL, mem);
		self->info.unwind_head = addr_of(sparse_table(mem, rows[i], 0));
		check_info(_metadata, self, WHOLE);
		/* There are no more than 2^32 different offsets. */
		((jit_table *)mem)->used_len = 25UL << 32;
		((jit_table *)mem)->reserved_len = 25UL << 32;
		check_info(_metadata, self, PREFIX);
		munmap(mem, size);
	}
}

/* The maximum number of tables, each of maximum length. */
TEST_F(claims, longest_chain_of_longest_tables)
{
	const uint64_t rows = 1UL << 31, room = (rows + 1024) * sizeof(jit_row);
	uint8_t *text = map_pages(2, PROT_READ | PROT_EXEC);
	uint8_t *mem = reserve(64 * room);
	jit_table *t = NULL;

	ASSERT_NE(NULL, mem);
	ASSERT_NE(NULL, text);
	ASSERT_EQ(0, stub_text_at(&self->base.stub, text + PAGE));
	self->info.text_start = addr_of(text);
	self->info.text_end = addr_of(text) + 2 * PAGE;
	self->info.unwind_head = addr_of(mem);
	for (unsigned int i = 0; i < 64; i++) {
		jit_table *next = sparse_table(mem + i * room, rows, PAGE);

		next->fre[0].ip_off = 2 * i + 1;
		if (i < 63)
			next->fre[rows - 1] = (jit_row) { 1, 2 * i + 1 };
		if (t)
			jit_table_link(t, next);
		t = next;
	}
	check_info(_metadata, self, WHOLE);
	munmap(mem, 64 * room);
}

/*
 * Over the process's own text, which is no longer registered: a rule that takes each
 * word of the stack for a return address ends with the stack.
 */
TEST_F(claims, every_word_is_a_return_address)
{
	struct stack *stack = &self->base.stack;
	uint64_t start, end;

	ASSERT_EQ(0, text_segment_of(map_pages, &start, &end));
	self->info.text_start = start;
	self->info.text_end = end;
	ASSERT_EQ(-EEXIST, register_jit(&self->info));
	ASSERT_EQ(0, unregister_text(self->info.text_start,
				     self->info.text_end));
	self->info.unwind_head = 0;
	self->info.jit_flags = CODE_JIT_DEFAULT_RULE;
	self->info.cfa_off = 8;
	self->info.ra_off = -8;
	self->info.info = CODE_FRE_BASE_SP;
	ASSERT_EQ(0, register_jit(&self->info));
	marker();
	ASSERT_TRUE(sampler_next(&self->base.marks, stack));
	EXPECT_LE(1, stack->nr);
	EXPECT_GE(STACK_MAX, stack->nr);
	EXPECT_FALSE(has_kernel_address(stack));
}

TEST_HARNESS_MAIN

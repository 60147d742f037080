// SPDX-License-Identifier: GPL-2.0
/*
 * Tables that are right, in every encoding there is: each walks a function
 * that no other table describes, as the topmost frame and below another.
 */
#include <pthread.h>

#include "table_fixture.h"

#define OUTERMOST FRE_INFO(FRE_SP, 0, FRE_WORD1), { 0 }

TEST_F(table, none)
{
	walk(_metadata, self, 1, 2);
}

TEST_F(table, identity_only)
{
	self->stub.table = NULL;
	ASSERT_EQ(0, register_text(addr_of(self->stub.text),
				   addr_of(self->stub.text) + PAGE, NULL, 0));
	walk(_metadata, self, 1, 2);
}

TEST_F(table, sizes_of_starts_and_words)
{
	struct fre_spec rows[8];
	struct fde_spec fde;

	for (int addr = FDE_ADDR1; addr <= FDE_ADDR4; addr++) {
		for (int word = FRE_WORD1; word <= FRE_WORD4; word++) {
			fde = stub_fde(&self->stub);
			memcpy(rows, stub_rows, fde.nr_fres * sizeof(rows[0]));
			for (unsigned int i = 0; i < fde.nr_fres; i++)
				rows[i].info |= word << 5;
			fde.fre = rows;
			fde.info = addr;
			stub_table_of(&self->stub, &fde);
			register_and_walk(_metadata, self, COMPLETE, COMPLETE);
		}
	}
}

TEST_F(table, auxiliary_header)
{
	struct fde_spec fde = stub_fde(&self->stub);

	self->stub.table_size = sframe_build(self->stub.table,
					     self->stub.table_room, &fde, 1,
					     200);
	register_and_walk(_metadata, self, COMPLETE, COMPLETE);
}

TEST_F(table, header_left_for_later)
{
	struct sframe_header *h = (void *)self->stub.table;

	stub_table(&self->stub);
	ASSERT_EQ(0, stub_register_unread(&self->stub));
	walk(_metadata, self, COMPLETE, COMPLETE);
	ASSERT_EQ(0, stub_unregister(&self->stub));
	h->version++;
	ASSERT_EQ(0, stub_register_unread(&self->stub));
	walk(_metadata, self, 1, 2);
	ASSERT_EQ(0, stub_unregister(&self->stub));
}

TEST_F(table, starts_relative_to_the_section)
{
	struct sframe_header *h = (void *)self->stub.table;

	stub_table(&self->stub);
	h->flags &= ~SFRAME_F_PCREL;
	sframe_fde_at(h, 0)->func_off = addr_of(self->stub.text) - addr_of(h);
	register_and_walk(_metadata, self, COMPLETE, COMPLETE);
}

static int register_made_for(const struct stub *stub, uint64_t addr)
{
	struct code_elf_info info = stub_elf_info(stub);

	info.sframe_addr = addr;
	return register_elf(&info);
}

/*
 * A section that was made for @distance from the text, and lies elsewhere: with starts
 * relative to themselves, and to the section.
 */
static void walk_made_for(struct __test_metadata *_metadata,
			  FIXTURE_DATA(table) * self, int64_t distance)
{
	uint64_t text = addr_of(self->stub.text);
	struct sframe_header *h = (void *)self->stub.table;

	for (int pcrel = 0; pcrel < 2; pcrel++) {
		stub_table(&self->stub);
		if (pcrel) {
			sframe_fde_at(h, 0)->func_off += addr_of(h) - text - distance;
		} else {
			h->flags &= ~SFRAME_F_PCREL;
			sframe_fde_at(h, 0)->func_off = -distance;
		}
		ASSERT_EQ(0, register_made_for(&self->stub, text + distance));
		walk(_metadata, self, COMPLETE, COMPLETE);
		ASSERT_EQ(0, stub_unregister(&self->stub));
		/* In its place it is one of other functions. */
		ASSERT_EQ(0, stub_register(&self->stub));
		walk(_metadata, self, 1, 2);
		ASSERT_EQ(0, stub_unregister(&self->stub));
	}
}

TEST_F(table, made_for_another_place)
{
	const int64_t distances[] = { PAGE, -PAGE, -(1L << 33) };

	for (size_t i = 0; i < ARRAY_SIZE(distances); i++)
		walk_made_for(_metadata, self, distances[i]);
	/* Below all of the object. */
	ASSERT_EQ(0, stub_table_at(&self->stub, 0x10000, 1));
	walk_made_for(_metadata, self, 1L << 24);
}

/* Starts are 64-bit, and signed. */
TEST_F(table, any_distance_from_the_text)
{
	const int64_t distances[] = { 1L << 20, -(1L << 20), 1L << 33,
				      -(1L << 33), 1L << 42, -(1L << 42) };
	/* There is nothing else for as far as that. */
	uint8_t *text = mmap((void *)(1L << 45), PAGE,
			     PROT_READ | PROT_WRITE | PROT_EXEC,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE,
			     -1, 0);

	ASSERT_EQ(1L << 45, addr_of(text));
	self->stub.text = memcpy(text, self->stub.text, PAGE);
	for (size_t i = 0; i < ARRAY_SIZE(distances); i++) {
		ASSERT_EQ(0, stub_table_at(&self->stub,
					   addr_of(text) + distances[i], 2));
		stub_table(&self->stub);
		register_and_walk(_metadata, self, COMPLETE, COMPLETE);
	}
}

/* The first, the last and the middle function of many. */
TEST_F(table, position_among_many)
{
	static struct fde_spec fdes[301];
	const int before[] = { 0, 1, 150, 299, 300 };

	ASSERT_EQ(0, stub_table_at(&self->stub, addr_of(self->stub.text) +
				   (1L << 24), 16));
	for (size_t i = 0; i < ARRAY_SIZE(before); i++) {
		for (int f = 0; f < 301; f++) {
			fdes[f] = stub_fde(&self->stub);
			fdes[f].func += (f - before[i]) * STUB_SIZE;
			if (f != before[i])
				fdes[f].nr_fres = 0;
		}
		self->stub.table_size = sframe_build(self->stub.table,
						     self->stub.table_room,
						     fdes, 301, 0);
		register_and_walk(_metadata, self, COMPLETE, COMPLETE);
	}
}

/* The one row of a block that repeats. */
TEST_F(table, pc_mask)
{
	const struct fre_spec row = {
		0, FRE_INFO(FRE_SP, 2, FRE_WORD1), { STUB_FRAME, STUB_FP_OFF }
	};
	struct fde_spec fde = stub_fde(&self->stub);

	fde.fre = &row;
	fde.nr_fres = 1;
	fde.info |= FDE_PCMASK;
	for (int size = 1; size < 200; size *= 3) {
		fde.rep_size = size;
		stub_table_of(&self->stub, &fde);
		register_and_walk(_metadata, self, COMPLETE, COMPLETE);
	}
}

/* Of two rows, the one for the offset in the block. */
TEST_F(table, pc_mask_rows)
{
	const unsigned int block = 12;
	unsigned int off = self->stub.marker_off % block;
	const struct fre_spec rows[] = {
		{ 0, OUTERMOST },
		{ off, FRE_INFO(FRE_SP, 2, FRE_WORD1),
		  { STUB_FRAME, STUB_FP_OFF } },
	};
	struct fde_spec fde = stub_fde(&self->stub);

	ASSERT_LT(0, off);
	fde.fre = rows;
	fde.nr_fres = 2;
	fde.info |= FDE_PCMASK;
	fde.rep_size = block;
	stub_table_of(&self->stub, &fde);
	register_and_walk(_metadata, self, COMPLETE,
			  (self->stub.call_off - 1) % block < off ? 2 : COMPLETE);
}

#define BODY FRE_INFO(FRE_SP, 2, FRE_WORD1), { STUB_FRAME, STUB_FP_OFF }

static void walk_rows(struct __test_metadata *_metadata,
		      FIXTURE_DATA(table) * self, const struct fre_spec *rows,
		      unsigned int nr, unsigned int topmost, unsigned int below)
{
	struct fde_spec fde = stub_fde(&self->stub);

	fde.fre = rows;
	fde.nr_fres = nr;
	stub_table_of(&self->stub, &fde);
	register_and_walk(_metadata, self, topmost, below);
}

/* A row starts at its first byte: the topmost frame's address is exact. */
TEST_F(table, row_at_the_address)
{
	const struct fre_spec rows[] = { { 0, OUTERMOST },
					 { self->stub.marker_off, BODY } };

	walk_rows(_metadata, self, rows, 2, COMPLETE, 2);
}

TEST_F(table, row_after_the_address)
{
	const struct fre_spec rows[] = { { 0, BODY },
					 { self->stub.marker_off + 1,
					   OUTERMOST } };

	walk_rows(_metadata, self, rows, 2, COMPLETE, COMPLETE);
}

/* Below another frame the address is a return address. */
TEST_F(table, row_after_the_call)
{
	const struct fre_spec rows[] = { { 0, BODY },
					 { self->stub.call_off, OUTERMOST } };

	walk_rows(_metadata, self, rows, 2, 1, COMPLETE);
}

TEST_F(table, outermost)
{
	const struct fre_spec row = { 0, OUTERMOST };

	walk_rows(_metadata, self, &row, 1, 1, 2);
}

TEST_F(table, function_ends_at_the_address)
{
	struct fde_spec fde = stub_fde(&self->stub);

	fde.size = self->stub.marker_off;
	stub_table_of(&self->stub, &fde);
	register_and_walk(_metadata, self, 1, COMPLETE);
	fde.size++;
	stub_table_of(&self->stub, &fde);
	register_and_walk(_metadata, self, COMPLETE, COMPLETE);
}

/* A function may end with a call: the return address is beyond it. */
TEST_F(table, function_ends_at_the_call)
{
	struct fde_spec fde = stub_fde(&self->stub);

	fde.size = self->stub.call_off;
	stub_table_of(&self->stub, &fde);
	register_and_walk(_metadata, self, 1, COMPLETE);
	fde.size--;
	stub_table_of(&self->stub, &fde);
	register_and_walk(_metadata, self, 1, 2);
}

static void walk_flex(struct __test_metadata *_metadata,
		      FIXTURE_DATA(table) * self, const struct fre_spec *row,
		      unsigned int topmost, unsigned int below)
{
	struct fde_spec fde = stub_fde(&self->stub);
	struct fre_spec wide;

	fde.info2 = FDE_FLEX;
	fde.nr_fres = 1;
	for (int word = FRE_WORD1; word <= FRE_WORD4; word++) {
		wide = *row;
		wide.info |= word << 5;
		fde.fre = &wide;
		stub_table_of(&self->stub, &fde);
		register_and_walk(_metadata, self, topmost, below);
	}
}

#define AT_CFA FLEX_CTL(0, 1, 0)

TEST_F(table, flexible)
{
	const struct fre_spec cfa = {
		0, FRE_INFO(FRE_SP, 2, 0), { CFA_BY_SP }
	};
	const struct fre_spec cfa_ra = {
		0, FRE_INFO(FRE_SP, 4, 0), { CFA_BY_SP, AT_CFA, -8 }
	};
	const struct fre_spec cfa_fp = {
		0, FRE_INFO(FRE_SP, 5, 0),
		{ CFA_BY_SP, 0, AT_CFA, STUB_FP_OFF }
	};
	const struct fre_spec all = {
		0, FRE_INFO(FRE_SP, 6, 0),
		{ CFA_BY_SP, AT_CFA, -8, AT_CFA, STUB_FP_OFF }
	};
	const struct fre_spec ra_by_sp = {
		0, FRE_INFO(FRE_SP, 4, 0),
		{ CFA_BY_SP, FLEX_CTL(DWARF_RSP, 1, 1), STUB_FRAME - 8 }
	};

	walk_flex(_metadata, self, &cfa, COMPLETE, COMPLETE);
	walk_flex(_metadata, self, &cfa_ra, COMPLETE, COMPLETE);
	walk_flex(_metadata, self, &cfa_fp, COMPLETE, COMPLETE);
	walk_flex(_metadata, self, &all, COMPLETE, COMPLETE);
	walk_flex(_metadata, self, &ra_by_sp, COMPLETE, COMPLETE);
}

/* Registers other than SP and FP are known in the topmost frame alone. */
TEST_F(table, flexible_by_other_register)
{
	const struct fre_spec row = {
		0, FRE_INFO(FRE_SP, 4, 0),
		/* The stub has the address of a word of its caller in %rsi. */
		{ CFA_BY_SP, FLEX_CTL(4, 1, 1), 0 }
	};

	walk_flex(_metadata, self, &row, COMPLETE, 2);
}

/* What a table at an address said before does not count. */
TEST_F(table, reused_after_unregistering)
{
	const struct fre_spec row = { 0, OUTERMOST };
	struct fde_spec outermost = stub_fde(&self->stub);

	outermost.fre = &row;
	outermost.nr_fres = 1;
	for (int i = 0; i < 3; i++) {
		stub_table(&self->stub);
		register_and_walk(_metadata, self, COMPLETE, COMPLETE);
		stub_table_of(&self->stub, &outermost);
		register_and_walk(_metadata, self, 1, 2);
	}
}

TEST_F(table, shared_by_two_texts)
{
	struct stub other;
	struct fde_spec fdes[2];
	bool swap;

	ASSERT_EQ(0, stub_map(&other, 1));
	swap = other.text < self->stub.text;
	fdes[swap] = stub_fde(&self->stub);
	fdes[!swap] = stub_fde(&other);
	self->stub.table_size = sframe_build(self->stub.table,
					     self->stub.table_room, fdes, 2, 0);
	ASSERT_EQ(0, stub_register(&self->stub));
	ASSERT_EQ(0, register_text(addr_of(other.text),
				   addr_of(other.text) + PAGE,
				   self->stub.table, self->stub.table_size));
	walk(_metadata, self, COMPLETE, COMPLETE);
	self->stub.text = other.text;
	walk(_metadata, self, COMPLETE, COMPLETE);
}

static void *run_stub(void *stub)
{
	stub_run(stub, NULL);
	return NULL;
}

/* As far below the frame as an offset can be there is no address any more. */
TEST_F(table, stack_in_the_lowest_2_gib)
{
	const size_t size = 64 * PAGE;
	void *stack = mmap(NULL, size, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	pthread_attr_t attr;
	pthread_t thread;

	ASSERT_NE(MAP_FAILED, stack);
	ASSERT_GT(1UL << 31, addr_of(stack));
	stub_table(&self->stub);
	ASSERT_EQ(0, stub_register(&self->stub));
	ASSERT_EQ(0, pthread_attr_init(&attr));
	ASSERT_EQ(0, pthread_attr_setstack(&attr, stack, size));
	truth_reset();
	ASSERT_EQ(0, pthread_create(&thread, &attr, run_stub, &self->stub));
	ASSERT_EQ(0, pthread_join(thread, NULL));
	ASSERT_TRUE(sampler_next(&self->sampler, &self->stack));
	EXPECT_LT(3, self->stack.nr);
	EXPECT_EQ(self->stack.nr, common_prefix(&self->stack, &truth)) {
		print_stack(&self->stack, &truth);
	}
	munmap(stack, size);
}

TEST_HARNESS_MAIN

// SPDX-License-Identifier: GPL-2.0
/* The fields of struct code_jit_info that describe a granule map. */
#include "codectl_test.h"
#include "granule_map.h"
#include "kselftest_harness.h"

#define OFFSET(type, field, at)						\
	_Static_assert(offsetof(struct type, field) == (at),		\
		       "offset of " #field)

OFFSET(code_jit_info, slots, 56);
OFFSET(code_jit_info, pool, 64);
OFFSET(code_jit_info, pool_len, 72);
OFFSET(code_jit_info, granule_shift, 80);
OFFSET(code_jit_info, __reserved2, 84);

OFFSET(code_jit_record, seq, 0);
OFFSET(code_jit_record, start, 4);
OFFSET(code_jit_record, len, 8);
OFFSET(code_jit_record, nr, 12);
OFFSET(code_jit_record, code_id, 16);
OFFSET(code_jit_record, fre, 24);

_Static_assert(CODE_JIT_GRANULES == 8 && CODE_JIT_RECORD_ALIGN == 8 &&
	       CODE_JIT_MIN_SHIFT == 4 && CODE_JIT_MAX_SHIFT == 12, "granules");

/* A text of two pages, whose map is where the fields say, if anywhere. */
FIXTURE(granules)
{
	uint8_t *mem;
	struct code_jit_info info;
};

FIXTURE_SETUP(granules)
{
	REQUIRE_CODECTL();
	self->mem = map_pages(2, PROT_READ | PROT_EXEC);
	ASSERT_NE(NULL, self->mem);
	self->info = (struct code_jit_info) {
		.text_start = addr_of(self->mem),
		.text_end = addr_of(self->mem) + 2 * PAGE,
		.jit_flags = CODE_JIT_GRANULES,
		.slots = PAGE,
		.pool = 4 * PAGE,
		.pool_len = PAGE,
		.granule_shift = 4,
	};
}

FIXTURE_TEARDOWN(granules)
{
}

/* Registers what can be registered, and makes room for the next one. */
static int try_jit(FIXTURE_DATA(granules) * self)
{
	int err = register_jit(&self->info);

	if (!err)
		err = unregister_text(self->info.text_start,
				      self->info.text_end);
	return err;
}

TEST_F(granules, every_shift)
{
	for (uint32_t shift = 0; shift < 80; shift++) {
		self->info.granule_shift = shift;
		EXPECT_EQ(shift >= 4 && shift <= 12 ? 0 : -EINVAL, try_jit(self))
			TH_LOG("shift %u", shift);
	}
	self->info.granule_shift = ~0U;
	EXPECT_EQ(-EINVAL, try_jit(self));
	self->info.granule_shift = 1U << 31 | 4;
	EXPECT_EQ(-EINVAL, try_jit(self));
}

TEST_F(granules, beside_other_flags)
{
	self->info.jit_flags = CODE_JIT_GRANULES | CODE_JIT_CALLSITE;
	EXPECT_EQ(0, try_jit(self));
	self->info.jit_flags = CODE_JIT_GRANULES | CODE_JIT_DESCENDING;
	EXPECT_EQ(-EINVAL, try_jit(self));
	self->info.jit_flags = CODE_JIT_GRANULES | CODE_JIT_DEFAULT_RULE;
	EXPECT_EQ(0, try_jit(self));
	self->info.cfa_off = 16;
	self->info.info = CODE_FRE_BASE_SP;
	EXPECT_EQ(0, try_jit(self));
	self->info.jit_flags = CODE_JIT_GRANULES;
	EXPECT_EQ(-EINVAL, try_jit(self));
}

/* A chain and a map exclude each other. */
TEST_F(granules, with_a_chain)
{
	self->info.unwind_head = PAGE;
	EXPECT_EQ(-EINVAL, try_jit(self));
	self->info.unwind_head = 0;
	self->info.seq = PAGE;
	EXPECT_EQ(-EINVAL, try_jit(self));
	self->info.seq = 0;
	self->info.__reserved2 = 1;
	EXPECT_EQ(-EINVAL, try_jit(self));
}

TEST_F(granules, without_the_flag)
{
	const struct code_jit_info right = {
		.text_start = self->info.text_start,
		.text_end = self->info.text_end,
		.unwind_head = PAGE,
	};

	self->info = right;
	EXPECT_EQ(0, try_jit(self));
	for (int byte = offsetof(struct code_jit_info, slots);
	     byte < sizeof(right); byte++) {
		self->info = right;
		((uint8_t *)&self->info)[byte] = 1;
		EXPECT_EQ(-EINVAL, register_jit(&self->info))
			TH_LOG("byte %d", byte);
	}
}

TEST_F(granules, where_slots_may_be)
{
	const uint64_t len = 2 * PAGE / 16 * 4;
	const uint64_t bad[] = { 0, USER_END - len + 4, USER_END, 1UL << 60,
				 KERNEL_ADDR, -PAGE, -4UL };

	for (int off = 0; off < 8; off++) {
		self->info.slots = PAGE + off;
		EXPECT_EQ(off % 4 ? -EINVAL : 0, try_jit(self))
			TH_LOG("misaligned by %d", off);
	}
	self->info.slots = USER_END - len;
	EXPECT_EQ(0, try_jit(self));
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		self->info.slots = bad[i];
		EXPECT_EQ(-EINVAL, register_jit(&self->info))
			TH_LOG("slots at %lx", bad[i]);
	}
}

/* The rest of the text after the last whole granule has a slot, too. */
TEST_F(granules, slot_of_a_rest)
{
	self->info.text_start = self->info.text_end - 4097;
	self->info.granule_shift = 12;
	self->info.slots = USER_END - 8;
	EXPECT_EQ(0, try_jit(self));
	self->info.slots = USER_END - 4;
	EXPECT_EQ(-EINVAL, try_jit(self));
	self->info.text_start++;
	EXPECT_EQ(0, try_jit(self));
}

TEST_F(granules, where_the_pool_may_be)
{
	const uint64_t bad[] = { 0, USER_END - PAGE + 8, USER_END, 1UL << 60,
				 KERNEL_ADDR, -PAGE, -8UL };

	for (int off = 0; off < 16; off++) {
		self->info.pool = 4 * PAGE + off;
		EXPECT_EQ(off % 8 ? -EINVAL : 0, try_jit(self))
			TH_LOG("misaligned by %d", off);
	}
	self->info.pool = USER_END - PAGE;
	EXPECT_EQ(0, try_jit(self));
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		self->info.pool = bad[i];
		EXPECT_EQ(-EINVAL, register_jit(&self->info))
			TH_LOG("pool at %lx", bad[i]);
	}
}

TEST_F(granules, lengths_of_the_pool)
{
	const uint64_t end = USER_END - self->info.pool;
	const uint64_t bad[] = { 0, 1, 23, end + 1, USER_END + 1, 1UL << 63,
				 -self->info.pool, -1UL };
	const uint64_t good[] = { 24, 25, PAGE - 1, 1UL << 40, end };

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		self->info.pool_len = bad[i];
		EXPECT_EQ(-EINVAL, register_jit(&self->info))
			TH_LOG("%lx bytes", bad[i]);
	}
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		self->info.pool_len = good[i];
		EXPECT_EQ(0, try_jit(self))
			TH_LOG("%lx bytes", good[i]);
	}
}

/* The maximum number of slots. */
TEST_F(granules, of_4_gib)
{
	const uint64_t len = CODE_JIT_MAX_TEXT;
	void *mem = mmap(NULL, len, PROT_NONE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	ASSERT_NE(MAP_FAILED, mem);
	self->info.text_start = addr_of(mem);
	self->info.text_end = addr_of(mem) + len;
	self->info.slots = USER_END - len / 4;
	EXPECT_EQ(0, try_jit(self));
	self->info.slots += 4;
	EXPECT_EQ(-EINVAL, try_jit(self));
	munmap(mem, len);
}

TEST_HARNESS_MAIN

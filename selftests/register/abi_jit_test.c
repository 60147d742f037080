// SPDX-License-Identifier: GPL-2.0
/* The fields of struct code_jit_info. */
#include "codectl_test.h"
#include "jit_table.h"
#include "kselftest_harness.h"

#define OFFSET(type, field, at)						\
	_Static_assert(offsetof(struct type, field) == (at),		\
		       "offset of " #field)

OFFSET(code_jit_info, text_start, 0);
OFFSET(code_jit_info, text_end, 8);
OFFSET(code_jit_info, unwind_head, 16);
OFFSET(code_jit_info, jit_flags, 24);
OFFSET(code_jit_info, fre_size, 28);
OFFSET(code_jit_info, seq, 32);
OFFSET(code_jit_info, cfa_off, 40);
OFFSET(code_jit_info, ra_off, 44);
OFFSET(code_jit_info, fp_off, 48);
OFFSET(code_jit_info, info, 52);
OFFSET(code_jit_info, __reserved, 53);

OFFSET(code_jit_unwind_fre, size, 0);
OFFSET(code_jit_unwind_fre, ip_off, 4);
OFFSET(code_jit_unwind_fre, cfa_off, 8);
OFFSET(code_jit_unwind_fre, ra_off, 12);
OFFSET(code_jit_unwind_fre, fp_off, 16);
OFFSET(code_jit_unwind_fre, info, 20);
OFFSET(code_jit_unwind_fre, __reserved, 21);
_Static_assert(sizeof(struct code_jit_unwind_fre) == 24 &&
	       CODE_JIT_UNWIND_FRE_SIZE == 24, "size of a row");

OFFSET(code_jit_unwind_table, reserved_len, 0);
OFFSET(code_jit_unwind_table, used_len, 8);
OFFSET(code_jit_unwind_table, next, 16);
OFFSET(code_jit_unwind_table, fre, 24);

_Static_assert(CODE_JIT_MAX_TABLES == 64 &&
	       CODE_JIT_MAX_TEXT == 1ULL << 32, "limits");
_Static_assert(CODE_JIT_DEFAULT_RULE == 1 && CODE_JIT_DESCENDING == 2 &&
	       CODE_JIT_CALLSITE == 4, "jit_flags");
_Static_assert(CODE_FRE_BASE_SP == 1 && CODE_FRE_FP_SAVED == 2 &&
	       CODE_FRE_OUTERMOST == 4 && CODE_FRE_SIGNAL == 8 &&
	       CODE_FRE_UNKNOWN == 16 && CODE_FRE_RA_REG == 32 &&
	       CODE_FRE_FP_UNDEF == 64 && CODE_FRE_SP_SAVED == 128, "info of a row");

/* Six pages, of which a registration takes the third and fourth. */
FIXTURE(jit)
{
	uint8_t *mem;
	uint64_t start;
	uint64_t end;
	jit_table *table;
	struct code_jit_info info;
};

FIXTURE_SETUP(jit)
{
	REQUIRE_CODECTL();
	self->mem = map_pages(6, PROT_READ | PROT_EXEC);
	ASSERT_NE(NULL, self->mem);
	self->start = addr_of(self->mem) + 2 * PAGE;
	self->end = self->start + 2 * PAGE;
	self->table = map_pages(1, PROT_READ | PROT_WRITE);
	ASSERT_NE(NULL, self->table);
	jit_table_init(self->table, PAGE);
	self->info = (struct code_jit_info) {
		.text_start = self->start,
		.text_end = self->end,
		.unwind_head = addr_of(self->table),
	};
}

/* Even when the test died in between. */
FIXTURE_TEARDOWN_PARENT(jit)
{
	sysctl_write("kernel/codectl", 1);
	sysctl_write("kernel/codectl_max_regions", 65530);
}

/* Registers what can be registered, and makes room for the next one. */
static int try_jit(FIXTURE_DATA(jit) * self)
{
	int err = register_jit(&self->info);

	if (!err)
		err = unregister_text(self->info.text_start,
				      self->info.text_end);
	return err;
}

TEST_F(jit, every_size_from_the_first_to_the_last)
{
	size_t room = sizeof(self->info);
	uint8_t mem[sizeof(self->info)];

	for (size_t size = CODE_JIT_INFO_SIZE_VER0; size <= room; size++) {
		/* Bytes that are not passed must not be read. */
		memset(mem, 0xff, room);
		memcpy(mem, &self->info, size);
		EXPECT_EQ(0, sys_codectl(CODE_REGISTER_JIT, mem, size, 0))
			TH_LOG("size %zu", size);
		EXPECT_EQ(0, unregister_text(self->start, self->end));
	}
}

TEST_F(jit, bad_text_ranges)
{
	for (size_t i = 0; i < NR_BAD_RANGES; i++) {
		const struct bad_range *r = bad_range(i);

		self->info.text_start = r->start;
		self->info.text_end = r->end;
		EXPECT_EQ(-EINVAL, register_jit(&self->info))
			TH_LOG("text %s", r->name);
	}
}

TEST_F(jit, empty_text_inside_a_mapping)
{
	self->info.text_end = self->info.text_start;
	EXPECT_EQ(-EINVAL, register_jit(&self->info));
}

TEST_F(jit, text_not_mapped)
{
	munmap(self->mem + 3 * PAGE, PAGE);
	EXPECT_EQ(-EINVAL, register_jit(&self->info));
	munmap(self->mem + 2 * PAGE, PAGE);
	EXPECT_EQ(-EINVAL, register_jit(&self->info));
	self->info.text_start -= PAGE;
	self->info.text_end += PAGE;
	EXPECT_EQ(-EINVAL, register_jit(&self->info));
}

/* Code comes later: a reservation may be anything. */
TEST_F(jit, any_protection)
{
	for (int prot = PROT_NONE; prot <= (PROT_READ | PROT_WRITE | PROT_EXEC);
	     prot++) {
		ASSERT_EQ(0, mprotect(self->mem + 3 * PAGE, PAGE, prot));
		EXPECT_EQ(0, try_jit(self))
			TH_LOG("protection %d", prot);
	}
}

static const uint64_t four_gib = CODE_JIT_MAX_TEXT;

static uint8_t *reserve(uint64_t size)
{
	void *p = mmap(NULL, size, PROT_NONE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

TEST_F(jit, at_most_4_gib)
{
	uint8_t *mem = reserve(four_gib + PAGE);

	ASSERT_NE(NULL, mem);
	self->info.text_start = addr_of(mem);
	self->info.text_end = addr_of(mem) + four_gib;
	EXPECT_EQ(0, try_jit(self));
	self->info.text_end++;
	EXPECT_EQ(-EINVAL, register_jit(&self->info));
	self->info.text_end += PAGE - 1;
	EXPECT_EQ(-EINVAL, register_jit(&self->info));
	munmap(mem, four_gib + PAGE);
}

TEST_F(jit, reservation_with_a_hole)
{
	uint8_t *mem = reserve(four_gib);

	ASSERT_NE(NULL, mem);
	ASSERT_EQ(0, munmap(mem + four_gib / 2, PAGE));
	self->info.text_start = addr_of(mem);
	self->info.text_end = addr_of(mem) + four_gib;
	EXPECT_EQ(-EINVAL, register_jit(&self->info));
	munmap(mem, four_gib);
}

TEST_F(jit, unknown_flags)
{
	for (int bit = 0; bit < 32; bit++) {
		bool known = 1U << bit & (CODE_JIT_DEFAULT_RULE |
					  CODE_JIT_DESCENDING |
					  CODE_JIT_CALLSITE);

		self->info.jit_flags = 1U << bit;
		EXPECT_EQ(known ? 0 : -EINVAL, try_jit(self))
			TH_LOG("bit %d", bit);
	}
	self->info.jit_flags = 7;
	EXPECT_EQ(0, try_jit(self));
}

TEST_F(jit, row_sizes)
{
	const uint32_t bad[] = { 1, 16, 23, 25, 32, 48, 1U << 31, ~0U };

	self->info.fre_size = 24;
	EXPECT_EQ(0, try_jit(self));
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		self->info.fre_size = bad[i];
		EXPECT_EQ(-EOPNOTSUPP, register_jit(&self->info))
			TH_LOG("size %u", bad[i]);
	}
	/* The meaning of such rows and flags is not known, either. */
	self->info.jit_flags = ~0U;
	EXPECT_EQ(-EOPNOTSUPP, register_jit(&self->info));
	self->info.jit_flags = CODE_JIT_DEFAULT_RULE;
	self->info.info = CODE_FRE_FP_SAVED | CODE_FRE_FP_UNDEF;
	EXPECT_EQ(-EOPNOTSUPP, register_jit(&self->info));
}

/* The table itself is read only when there is something to look up. */
TEST_F(jit, where_the_table_may_be)
{
	uint8_t *gone = map_pages(1, PROT_READ);

	ASSERT_NE(NULL, gone);
	ASSERT_EQ(0, munmap(gone, PAGE));
	self->info.unwind_head = addr_of(gone);
	EXPECT_EQ(0, try_jit(self));
	for (int off = 1; off < 8; off++) {
		self->info.unwind_head = addr_of(self->table) + off;
		EXPECT_EQ(-EINVAL, register_jit(&self->info))
			TH_LOG("misaligned by %d", off);
	}
}

TEST_F(jit, table_outside_user_space)
{
	const uint64_t bad[] = { USER_END, USER_END + 8, 1UL << 60, KERNEL_ADDR,
				 -PAGE, -8UL };

	for (int flags = 0; flags <= 1; flags++) {
		self->info.jit_flags = flags;
		for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
			self->info.unwind_head = bad[i];
			EXPECT_EQ(-EINVAL, register_jit(&self->info))
				TH_LOG("table at %lx", bad[i]);
		}
	}
}

TEST_F(jit, no_table)
{
	self->info.unwind_head = 0;
	EXPECT_EQ(-EINVAL, register_jit(&self->info));
	self->info.jit_flags = CODE_JIT_DESCENDING | CODE_JIT_CALLSITE;
	EXPECT_EQ(-EINVAL, register_jit(&self->info));
	self->info.jit_flags = CODE_JIT_DEFAULT_RULE;
	EXPECT_EQ(0, try_jit(self));
}

TEST_F(jit, where_seq_may_be)
{
	const uint64_t bad[] = { USER_END, USER_END + 4, 1UL << 60, KERNEL_ADDR,
				 -PAGE, -4UL };

	for (int off = 0; off < 8; off++) {
		self->info.seq = addr_of(self->mem) + off;
		EXPECT_EQ(off % 4 ? -EINVAL : 0, try_jit(self))
			TH_LOG("misaligned by %d", off);
	}
	self->info.seq = USER_END - 4;
	EXPECT_EQ(0, try_jit(self));
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		self->info.seq = bad[i];
		EXPECT_EQ(-EINVAL, register_jit(&self->info))
			TH_LOG("seq at %lx", bad[i]);
	}
}

TEST_F(jit, default_rule)
{
	self->info.jit_flags = CODE_JIT_DEFAULT_RULE;
	self->info.cfa_off = 69696;
	self->info.ra_off = -8;
	self->info.fp_off = -16;
	self->info.info = CODE_FRE_BASE_SP | CODE_FRE_FP_SAVED;
	EXPECT_EQ(0, try_jit(self));
	self->info.cfa_off = INT32_MIN;
	self->info.ra_off = INT32_MAX;
	self->info.info = 0;
	EXPECT_EQ(0, try_jit(self));
}

/* None of its fields may be anything without the flag. */
TEST_F(jit, default_rule_without_the_flag)
{
	const uint32_t flags[] = { 0, CODE_JIT_DESCENDING | CODE_JIT_CALLSITE };
	struct code_jit_info right = self->info;

	for (size_t i = 0; i < ARRAY_SIZE(flags); i++) {
		right.jit_flags = flags[i];
		for (int byte = offsetof(struct code_jit_info, cfa_off);
		     byte < sizeof(right); byte++) {
			self->info = right;
			((uint8_t *)&self->info)[byte] = 1;
			EXPECT_EQ(-EINVAL, register_jit(&self->info))
				TH_LOG("byte %d", byte);
		}
	}
}

/* Anything that would make a row unknown. */
TEST_F(jit, default_rule_that_is_none)
{
	self->info.jit_flags = CODE_JIT_DEFAULT_RULE;
	self->info.info = CODE_FRE_FP_SAVED | CODE_FRE_FP_UNDEF;
	EXPECT_EQ(-EINVAL, register_jit(&self->info));
	self->info.info = 0;
	for (int i = 0; i < 3; i++) {
		memset(self->info.__reserved, 0, 3);
		self->info.__reserved[i] = 1;
		EXPECT_EQ(-EINVAL, register_jit(&self->info));
	}
}

static void check_overlaps(struct __test_metadata *_metadata,
			   FIXTURE_DATA(jit) * self,
			   int (*reg)(uint64_t start, uint64_t end))
{
	const int ranges[][2] = { { 0, 0 }, { -1, 0 }, { 0, 1 }, { -1, 1 },
				  { 0, -1 }, { 1, 0 } };

	for (size_t i = 0; i < ARRAY_SIZE(ranges); i++) {
		EXPECT_EQ(-EEXIST, reg(self->start + ranges[i][0] * (int)PAGE,
				       self->end + ranges[i][1] * (int)PAGE))
			TH_LOG("range %zu", i);
	}
	/* A byte is enough, and neighbours do not overlap. */
	EXPECT_EQ(-EEXIST, reg(self->end - 1, self->end));
	EXPECT_EQ(0, reg(self->end, self->end + 1));
	EXPECT_EQ(0, reg(self->start - 1, self->start));
}


TEST_F(jit, overlaps_compiled_code)
{
	ASSERT_EQ(0, register_jit(&self->info));
	check_overlaps(_metadata, self, register_jit_text);
	EXPECT_EQ(0, unregister_text(self->start, self->end));
}

TEST_F(jit, overlaps_a_file)
{
	ASSERT_EQ(0, register_elf_text(self->start, self->end));
	check_overlaps(_metadata, self, register_jit_text);
	EXPECT_EQ(0, unregister_text(self->start, self->end));
}

TEST_F(jit, file_overlaps_it)
{
	ASSERT_EQ(0, register_jit(&self->info));
	check_overlaps(_metadata, self, register_elf_text);
	EXPECT_EQ(0, unregister_text(self->start, self->end));
}

/* The C library's text, the program's own, and text that nobody registered. */
TEST_F(jit, text_of_others)
{
	const void *text[] = { printf, map_pages };
	uint64_t start, end;
	void *map;
	FILE *exe;

	for (size_t i = 0; i < ARRAY_SIZE(text); i++) {
		ASSERT_EQ(0, text_segment_of(text[i], &start, &end));
		EXPECT_EQ(-EEXIST, register_jit_text(start, end));
		EXPECT_EQ(-EEXIST, register_jit_text(addr_of(text[i]),
						     addr_of(text[i]) + 1));
	}
	exe = fopen("/proc/self/exe", "r");
	ASSERT_NE(NULL, exe);
	map = mmap(NULL, 2 * PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE,
		   fileno(exe), 0);
	fclose(exe);
	ASSERT_NE(MAP_FAILED, map);
	EXPECT_EQ(0, register_jit_text(addr_of(map), addr_of(map) + 2 * PAGE));
}

TEST_F(jit, unregister_takes_the_exact_range)
{
	ASSERT_EQ(0, register_jit(&self->info));
	EXPECT_EQ(-ENOENT, unregister_text(self->start, self->end - 1));
	EXPECT_EQ(-ENOENT, unregister_text(self->start + 1, self->end));
	EXPECT_EQ(-ENOENT, unregister_text(self->start - 1, self->end + 1));
	EXPECT_EQ(0, unregister_text(self->start, self->end));
	EXPECT_EQ(-ENOENT, unregister_text(self->start, self->end));
}

/* Tables may be shared, and ranges count bytes. */
TEST_F(jit, regions_of_one_byte)
{
	for (uint64_t at = self->start; at < self->start + 100; at++) {
		self->info.text_start = at;
		self->info.text_end = at + 1;
		EXPECT_EQ(0, register_jit(&self->info));
	}
	EXPECT_EQ(-EEXIST, register_jit(&self->info));
}

TEST_F(jit, limit_of_registrations)
{
	uint64_t at = self->start;
	int nr = 0;

	ASSERT_EQ(0, sysctl_write("kernel/codectl_max_regions", 32));
	while (nr < 64 && !register_jit_text(at + nr, at + nr + 1))
		nr++;
	EXPECT_LT(0, nr);
	EXPECT_GE(32, nr);
	EXPECT_EQ(-ENOSPC, register_jit_text(at + nr, at + nr + 1));
	/* Both kinds count together. */
	EXPECT_EQ(-ENOSPC, register_elf_text(at + nr, at + nr + 1));
	EXPECT_EQ(0, unregister_text(at, at + 1));
	EXPECT_EQ(0, register_elf_text(at, at + 1));
	EXPECT_EQ(-ENOSPC, register_jit_text(at + nr, at + nr + 1));
	EXPECT_EQ(0, sysctl_write("kernel/codectl_max_regions", 65530));
	EXPECT_EQ(0, register_jit_text(at + nr, at + nr + 1));
}

TEST_F(jit, switched_off)
{
	ASSERT_EQ(0, register_jit(&self->info));
	ASSERT_EQ(0, sysctl_write("kernel/codectl", 0));
	EXPECT_EQ(-ENOSYS, register_jit_text(self->end, self->end + 1));
	EXPECT_EQ(-ENOSYS, unregister_text(self->start, self->end));
	EXPECT_EQ(0, sysctl_write("kernel/codectl", 1));
	EXPECT_EQ(0, register_jit_text(self->end, self->end + 1));
	EXPECT_EQ(0, unregister_text(self->start, self->end));
}

TEST_HARNESS_MAIN

// SPDX-License-Identifier: GPL-2.0
/*
 * codectl(2) as a caller sees it: options, flags, structure sizes, the switch and the
 * limit.  The values of fields are tested in abi_elf_test.c, abi_sframe_test.c and
 * abi_jit_test.c; CODE_BATCH in abi_batch_test.c.
 */
#include <linux/limits.h>

#include "codectl_test.h"
#include "kselftest_harness.h"
#include "proc_file.h"

_Static_assert(sizeof(struct code_elf_info) == CODE_ELF_INFO_SIZE_VER2,
	       "size of struct code_elf_info");
_Static_assert(offsetof(struct code_elf_info, unwind_format) ==
	       CODE_ELF_INFO_SIZE_VER0, "VER0 of struct code_elf_info");
_Static_assert(offsetof(struct code_elf_info, sframe_addr) ==
	       CODE_ELF_INFO_SIZE_VER1, "VER1 of struct code_elf_info");
_Static_assert(sizeof(struct code_jit_info) == CODE_JIT_INFO_SIZE_VER2,
	       "size of struct code_jit_info");
_Static_assert(offsetof(struct code_jit_info, jit_flags) ==
	       CODE_JIT_INFO_SIZE_VER0, "VER0 of struct code_jit_info");
_Static_assert(offsetof(struct code_jit_info, slots) ==
	       CODE_JIT_INFO_SIZE_VER1, "VER1 of struct code_jit_info");
_Static_assert(sizeof(struct code_unregister_info) ==
	       CODE_UNREGISTER_INFO_SIZE_VER0,
	       "size of struct code_unregister_info");
_Static_assert(__NR_codectl == 473, "number of codectl(2)");

/* The structures as a later kernel might have them. */
struct elf_info_ext {
	struct code_elf_info inner;
	uint64_t extra1, extra2, extra3;
};

struct jit_info_ext {
	struct code_jit_info inner;
	uint64_t extra1, extra2, extra3;
};

struct unregister_info_ext {
	struct code_unregister_info inner;
	uint64_t extra1, extra2, extra3;
};

struct batch_ext {
	struct code_batch inner;
	uint64_t extra1, extra2, extra3;
};

union any_info {
	struct elf_info_ext elf;
	struct batch_ext batch;
	struct jit_info_ext jit;
	struct unregister_info_ext unregister;
};

FIXTURE(codectl)
{
	uint8_t *text;
	union any_info info;
};

FIXTURE_SETUP(codectl)
{
	uint64_t text;

	REQUIRE_CODECTL();
	self->text = map_pages(4, PROT_READ | PROT_EXEC);
	ASSERT_NE(NULL, self->text);
	text = addr_of(self->text);
	self->info.elf.inner = (struct code_elf_info) {
		.elf_start = text,
		.elf_end = text + PAGE,
		.text_start = text,
		.text_end = text + PAGE,
	};
}

FIXTURE_TEARDOWN(codectl)
{
	munmap(self->text, 4 * PAGE);
}

FIXTURE_VARIANT(codectl)
{
	unsigned int option;
	size_t ver0;
	size_t known;
	size_t ext;
};

FIXTURE_VARIANT_ADD(codectl, register_elf)
{
	.option = CODE_REGISTER_ELF,
	.ver0 = CODE_ELF_INFO_SIZE_VER0,
	.known = sizeof(struct code_elf_info),
	.ext = sizeof(struct elf_info_ext),
};

FIXTURE_VARIANT_ADD(codectl, register_jit)
{
	.option = CODE_REGISTER_JIT,
	.ver0 = CODE_JIT_INFO_SIZE_VER0,
	.known = sizeof(struct code_jit_info),
	.ext = sizeof(struct jit_info_ext),
};

FIXTURE_VARIANT_ADD(codectl, unregister)
{
	.option = CODE_UNREGISTER,
	.ver0 = CODE_UNREGISTER_INFO_SIZE_VER0,
	.known = sizeof(struct code_unregister_info),
	.ext = sizeof(struct unregister_info_ext),
};

/* Without entries. */
FIXTURE_VARIANT_ADD(codectl, batch)
{
	.option = CODE_BATCH,
	.ver0 = CODE_BATCH_SIZE_VER0,
	.known = sizeof(struct code_batch),
	.ext = sizeof(struct batch_ext),
};

/* The same call can be repeated, whatever the option. */
static long call_and_undo(const FIXTURE_VARIANT(codectl) * variant,
			  uint64_t text, const void *info, size_t size)
{
	bool reg = variant->option != CODE_UNREGISTER;
	long ret;

	if (!reg)
		register_text(text, text + PAGE, NULL, 0);
	ret = sys_codectl(variant->option, info, size, 0);
	if (!reg || !ret)
		unregister_text(text, text + PAGE);
	return ret;
}

static void fill_info(const FIXTURE_VARIANT(codectl) * variant,
		      FIXTURE_DATA(codectl) * self)
{
	uint64_t text = addr_of(self->text);

	if (variant->option == CODE_REGISTER_ELF)
		return;
	memset(&self->info, 0, sizeof(self->info));
	if (variant->option == CODE_BATCH)
		return;
	/* Both structures start with the text. */
	self->info.jit.inner.text_start = text;
	self->info.jit.inner.text_end = text + PAGE;
	if (variant->option == CODE_REGISTER_JIT)
		self->info.jit.inner.unwind_head = text + PAGE;
}

/* Sizes and alignments, as copy_struct_from_user() promises. */
TEST_F(codectl, struct_argument_sizes)
{
	const int misalignments[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 17, 87 };
	const struct {
		const char *name;
		size_t size;
		int extra;	/* 1, 2, 3: which unknown word is not zero */
		long err;
	} tests[] = {
		{ "zero-sized", 0, 0, -EINVAL },
		{ "smaller than VER0", variant->ver0 - 1, 0, -EINVAL },
		{ "VER0", variant->ver0, 0, 0 },
		{ "all that is known", variant->known, 0, 0 },
		{ "bigger, zeroed", variant->ext, 0, 0 },
		{ "bigger, garbage first", variant->ext, 1, -E2BIG },
		{ "bigger, garbage in the middle", variant->ext, 2, -E2BIG },
		{ "bigger, garbage at the end", variant->ext, 3, -E2BIG },
		{ "bigger, garbage beyond what is passed", variant->known, 1, 0 },
	};
	uint8_t *mem = calloc(1, 2 * PAGE);

	ASSERT_NE(NULL, mem);
	fill_info(variant, self);
	for (size_t i = 0; i < ARRAY_SIZE(tests) * ARRAY_SIZE(misalignments); i++) {
		size_t t = i / ARRAY_SIZE(misalignments);
		int misalign = misalignments[i % ARRAY_SIZE(misalignments)];
		uint8_t *info = mem + misalign;
		long ret;

		/* Bytes outside the structure do not concern the kernel. */
		memset(mem, 0xff, 2 * PAGE);
		memcpy(info, &self->info, variant->ext);
		if (tests[t].extra)
			info[variant->known + 8 * (tests[t].extra - 1)] = 0xde;
		ret = call_and_undo(variant, addr_of(self->text), info,
				    tests[t].size);
		EXPECT_EQ(tests[t].err, ret)
			TH_LOG("%s, misaligned by %d", tests[t].name, misalign);
	}
	free(mem);
}

TEST_F(codectl, struct_up_to_a_page)
{
	uint8_t *mem = calloc(1, 2 * PAGE);

	ASSERT_NE(NULL, mem);
	fill_info(variant, self);
	memcpy(mem, &self->info, variant->ext);
	EXPECT_EQ(0, call_and_undo(variant, addr_of(self->text), mem, PAGE));
	EXPECT_EQ(-E2BIG, call_and_undo(variant, addr_of(self->text), mem,
					PAGE + 1));
	EXPECT_EQ(-E2BIG, call_and_undo(variant, addr_of(self->text), mem,
					SIZE_MAX));
	mem[PAGE - 1] = 1;
	EXPECT_EQ(-E2BIG, call_and_undo(variant, addr_of(self->text), mem,
					PAGE));
	free(mem);
}

TEST_F(codectl, info_that_cannot_be_read)
{
	uint8_t *gap = map_pages(2, PROT_READ | PROT_WRITE);
	const void *bad[] = {
		NULL, (void *)1, gap + PAGE, gap + PAGE - 8,
		(void *)(USER_END - 8), (void *)USER_END,
		(void *)KERNEL_ADDR, (void *)-8UL,
	};

	ASSERT_NE(NULL, gap);
	ASSERT_EQ(0, munmap(gap + PAGE, PAGE));
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		EXPECT_EQ(-EFAULT, sys_codectl(variant->option, bad[i],
					       variant->known, 0))
			TH_LOG("info at %p", bad[i]);
	}
	munmap(gap, PAGE);
}

/* The structure may end where its page does. */
TEST_F(codectl, info_at_the_end_of_a_page)
{
	uint8_t *page = map_pages(2, PROT_READ | PROT_WRITE);
	uint8_t *info = page + PAGE - variant->known;

	ASSERT_NE(NULL, page);
	ASSERT_EQ(0, munmap(page + PAGE, PAGE));
	fill_info(variant, self);
	memcpy(info, &self->info, variant->known);
	EXPECT_EQ(0, call_and_undo(variant, addr_of(self->text), info,
				   variant->known));
	munmap(page, PAGE);
}

TEST_F(codectl, unknown_flags)
{
	fill_info(variant, self);
	for (int bit = 0; bit < 32; bit++) {
		EXPECT_EQ(-EINVAL, sys_codectl(variant->option, &self->info,
					       variant->known, 1U << bit))
			TH_LOG("flag bit %d", bit);
	}
	EXPECT_EQ(-EINVAL, sys_codectl(variant->option, NULL, 0,
				       CODE_FLAG_INVALID));
}

TEST(unknown_options)
{
	const unsigned int options[] = { 4, 5, 255, 1U << 31, ~0U };
	uint64_t zero[16] = { 0 };

	REQUIRE_CODECTL();
	for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
		EXPECT_EQ(-EINVAL, sys_codectl(options[i], zero, sizeof(zero),
					       0))
			TH_LOG("option %u", options[i]);
	}
}

/* The C library's syscall() cannot enter another table. */
static long int80(long nr, long a, long b, long c, long d)
{
	asm volatile("int $0x80"
		     : "+a"(nr)
		     : "b"(a), "c"(b), "d"(c), "S"(d)
		     : "r8", "r9", "r10", "r11", "memory");
	return (int)nr;
}

TEST(zero_registers_nothing)
{
	struct code_elf_info info = {};
	void *text = map_pages(1, PROT_READ | PROT_EXEC);

	REQUIRE_CODECTL();
	ASSERT_NE(NULL, text);
	info.elf_start = addr_of(text);
	info.elf_end = info.elf_start + PAGE;
	EXPECT_EQ(-EINVAL, sys_codectl(0, NULL, 0, 0));
	/* What CODE_REGISTER_ELF would take for an object without a table */
	info.text_start = info.elf_start;
	info.text_end = info.elf_end;
	EXPECT_EQ(-E2BIG, sys_codectl(0, &info, sizeof(info), 0));
	/* and what CODE_REGISTER_JIT would, as far as it goes. */
	EXPECT_EQ(-ENOENT, sys_codectl(0, &info.text_start, 16, 0));
	EXPECT_FALSE(text_is_registered(addr_of(text)));
	EXPECT_EQ(0, sys_codectl(1, &info, sizeof(info), 0));
}

TEST(other_tables_do_not_have_it)
{
	REQUIRE_CODECTL();
	/* 20 is getpid() there: the table answers. */
	if (int80(20, 0, 0, 0, 0) != getpid())
		SKIP(return, "no CONFIG_IA32_EMULATION");
	EXPECT_EQ(-ENOSYS, int80(__NR_codectl, CODE_UNREGISTER, 0, 0,
				 CODE_FLAG_INVALID));
	EXPECT_EQ(-1, syscall(__NR_codectl | 0x40000000, CODE_UNREGISTER, NULL,
			      0, CODE_FLAG_INVALID));
	EXPECT_EQ(ENOSYS, errno);
}

FIXTURE(codectl_sysctl)
{
	long enabled;
	long max_regions;
	uint8_t *text;
};

FIXTURE_SETUP(codectl_sysctl)
{
	REQUIRE_CODECTL();
	self->enabled = sysctl_read("kernel/codectl");
	self->max_regions = sysctl_read("kernel/codectl_max_regions");
	ASSERT_EQ(1, self->enabled);
	ASSERT_LT(0, self->max_regions);
	self->text = map_pages(64, PROT_READ | PROT_EXEC);
	ASSERT_NE(NULL, self->text);
}

/* Even when the test died in between. */
FIXTURE_TEARDOWN_PARENT(codectl_sysctl)
{
	sysctl_write("kernel/codectl", 1);
	sysctl_write("kernel/codectl_max_regions", 65530);
}

TEST_F(codectl_sysctl, switched_off)
{
	uint64_t text = addr_of(self->text);

	ASSERT_EQ(0, register_text(text, text + PAGE, NULL, 0));
	ASSERT_EQ(0, sysctl_write("kernel/codectl", 0));
	EXPECT_EQ(-ENOSYS, register_text(text + PAGE, text + 2 * PAGE, NULL, 0));
	EXPECT_EQ(-ENOSYS, unregister_text(text, text + PAGE));
	EXPECT_EQ(-ENOSYS, sys_codectl(77, NULL, 0, ~0U));
	ASSERT_EQ(0, sysctl_write("kernel/codectl", 1));
	EXPECT_EQ(0, register_text(text + PAGE, text + 2 * PAGE, NULL, 0));
}

TEST_F(codectl_sysctl, default_limit)
{
	EXPECT_EQ(65530, self->max_regions);
}

TEST_F(codectl_sysctl, switch_takes_only_0_and_1)
{
	EXPECT_NE(0, sysctl_write("kernel/codectl", 2));
	EXPECT_NE(0, sysctl_write("kernel/codectl", -1));
	EXPECT_EQ(1, sysctl_read("kernel/codectl"));
}

TEST_F(codectl_sysctl, largest_limit)
{
	EXPECT_EQ(0, sysctl_write("kernel/codectl_max_regions", 1 << 20));
	EXPECT_NE(0, sysctl_write("kernel/codectl_max_regions", (1 << 20) + 1));
	EXPECT_NE(0, sysctl_write("kernel/codectl_max_regions", -1));
	EXPECT_EQ(1 << 20, sysctl_read("kernel/codectl_max_regions"));
}

/* Existing registrations count; dropping some makes room again. */
TEST_F(codectl_sysctl, limit_of_registrations)
{
	uint64_t text = addr_of(self->text);
	int nr = 0;

	ASSERT_EQ(0, sysctl_write("kernel/codectl_max_regions", 32));
	while (nr < 64 && !register_text(text + nr * PAGE,
					 text + (nr + 1) * PAGE, NULL, 0))
		nr++;
	EXPECT_LT(0, nr);
	EXPECT_GE(32, nr);
	EXPECT_EQ(-ENOSPC, register_text(text + nr * PAGE,
					 text + (nr + 1) * PAGE, NULL, 0));
	/* An overlap is reported as such, whatever the limit. */
	EXPECT_EQ(-EEXIST, register_text(text, text + PAGE, NULL, 0));
	EXPECT_EQ(0, unregister_text(text, text + PAGE));
	EXPECT_EQ(0, register_text(text + nr * PAGE, text + (nr + 1) * PAGE,
				   NULL, 0));
	EXPECT_EQ(-ENOSPC, register_text(text, text + PAGE, NULL, 0));
	ASSERT_EQ(0, sysctl_write("kernel/codectl_max_regions", 33));
	EXPECT_EQ(0, register_text(text, text + PAGE, NULL, 0));
}

/* Also in a process that has none. */
TEST_F(codectl_sysctl, limit_of_none)
{
	uint64_t text = addr_of(self->text);

	ASSERT_EQ(0, sysctl_write("kernel/codectl_max_regions", 0));
	EXPECT_EQ(-ENOSPC, register_text(text, text + PAGE, NULL, 0));
	ASSERT_EQ(0, proc_unregister_all());
	EXPECT_EQ(-ENOENT, unregister_text(text, text + PAGE));
	EXPECT_EQ(-EINVAL, unregister_text(text, text));
	EXPECT_EQ(-EINVAL, unregister_text(text, user_end() + PAGE));
	EXPECT_EQ(-ENOSPC, register_text(text, text + PAGE, NULL, 0));
	ASSERT_EQ(0, sysctl_write("kernel/codectl_max_regions", 1));
	EXPECT_EQ(0, register_text(text, text + PAGE, NULL, 0));
	EXPECT_EQ(-ENOSPC, register_text(text + PAGE, text + 2 * PAGE, NULL, 0));
}

TEST_HARNESS_MAIN

// SPDX-License-Identifier: GPL-2.0
/* The fields of struct code_elf_info and struct code_unregister_info. */
#include <linux/limits.h>
#include <sys/wait.h>

#include "codectl_test.h"
#include "kselftest_harness.h"
#include "stub.h"

/*
 * Six pages of text, of which a registration takes the third and fourth, of an object
 * that claims one more page at each end.
 */
FIXTURE(elf)
{
	uint8_t *mem;
	uint64_t start;
	uint64_t end;
	struct code_elf_info info;
};

FIXTURE_SETUP(elf)
{
	REQUIRE_CODECTL();
	self->mem = map_pages(6, PROT_READ | PROT_EXEC);
	ASSERT_NE(NULL, self->mem);
	self->start = addr_of(self->mem) + 2 * PAGE;
	self->end = self->start + 2 * PAGE;
	self->info = (struct code_elf_info) {
		.elf_start = addr_of(self->mem) - PAGE,
		.elf_end = addr_of(self->mem) + 7 * PAGE,
		.text_start = self->start,
		.text_end = self->end,
	};
}

FIXTURE_TEARDOWN(elf)
{
	munmap(self->mem, 6 * PAGE);
}

TEST_F(elf, bad_text_ranges)
{
	for (size_t i = 0; i < NR_BAD_RANGES; i++) {
		const struct bad_range *r = bad_range(i);

		self->info.text_start = r->start;
		self->info.text_end = r->end;
		EXPECT_EQ(-EINVAL, register_elf(&self->info))
			TH_LOG("text %s", r->name);
		EXPECT_EQ(-EINVAL, unregister_text(r->start, r->end))
			TH_LOG("unregister, text %s", r->name);
	}
}

TEST_F(elf, bad_elf_ranges)
{
	for (size_t i = 0; i < NR_BAD_RANGES; i++) {
		const struct bad_range *r = bad_range(i);

		self->info.elf_start = r->start;
		self->info.elf_end = r->end;
		EXPECT_EQ(-EINVAL, register_elf(&self->info))
			TH_LOG("elf %s", r->name);
	}
}

TEST_F(elf, text_within_the_object)
{
	const struct {
		int64_t start;
		int64_t end;
		int err;
	} objects[] = {
		{ 0, 0, 0 },
		{ -PAGE, PAGE, 0 },
		{ 1, 0, -EINVAL },
		{ 0, -1, -EINVAL },
		{ PAGE, -PAGE / 2, -EINVAL },
		{ -2 * PAGE, -2 * PAGE, -EINVAL },
		{ 2 * PAGE, 2 * PAGE, -EINVAL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(objects); i++) {
		self->info.elf_start = self->start + objects[i].start;
		self->info.elf_end = self->end + objects[i].end;
		EXPECT_EQ(objects[i].err, register_elf(&self->info))
			TH_LOG("object %zu", i);
		EXPECT_EQ(objects[i].err ? -ENOENT : 0,
			  unregister_text(self->start, self->end));
	}
}

TEST_F(elf, bad_sframe_ranges)
{
	for (size_t i = 0; i < NR_BAD_RANGES; i++) {
		const struct bad_range *r = bad_range(i);

		if (!r->start && !r->end)
			continue;
		self->info.sframe_start = r->start;
		self->info.sframe_end = r->end;
		EXPECT_EQ(-EINVAL, register_elf(&self->info))
			TH_LOG("sframe %s", r->name);
	}
}

TEST_F(elf, empty_text_inside_a_mapping)
{
	self->info.text_end = self->info.text_start;
	EXPECT_EQ(-EINVAL, register_elf(&self->info));
}

TEST_F(elf, unknown_flags)
{
	for (int bit = 1; bit < 32; bit++) {
		self->info.elf_flags = 1U << bit;
		EXPECT_EQ(-EINVAL, register_elf(&self->info))
			TH_LOG("bit %d", bit);
	}
}

/* It is the address of a section, all of which would be in user space. */
TEST_F(elf, bad_section_addresses)
{
	struct stub stub;
	const uint64_t bad[] = { USER_END, KERNEL_ADDR, -1UL, -8UL, 1UL << 60 };

	self->info.sframe_addr = self->start;
	EXPECT_EQ(-EINVAL, register_elf(&self->info));
	ASSERT_EQ(0, stub_map(&stub, 1));
	stub_table(&stub);
	self->info.sframe_start = addr_of(stub.table);
	self->info.sframe_end = self->info.sframe_start + stub.table_size;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		self->info.sframe_addr = bad[i];
		EXPECT_EQ(-EINVAL, register_elf(&self->info))
			TH_LOG("section at %lx", bad[i]);
	}
	self->info.sframe_addr = USER_END - stub.table_size + 1;
	EXPECT_EQ(-EINVAL, register_elf(&self->info));
	self->info.sframe_addr--;
	EXPECT_EQ(0, register_elf(&self->info));
	EXPECT_EQ(0, unregister_text(self->start, self->end));
	self->info.sframe_addr = 1;
	EXPECT_EQ(0, register_elf(&self->info));
	stub_unmap(&stub);
}

TEST_F(elf, unknown_unwind_format)
{
	const uint32_t formats[] = { 1, 2, 1U << 31, ~0U };

	for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
		self->info.unwind_format = formats[i];
		EXPECT_EQ(-EOPNOTSUPP, register_elf(&self->info))
			TH_LOG("format %u", formats[i]);
	}
}

TEST_F(elf, text_not_mapped)
{
	munmap(self->mem + 3 * PAGE, PAGE);
	EXPECT_EQ(-EINVAL, register_elf(&self->info));
	munmap(self->mem + 2 * PAGE, PAGE);
	EXPECT_EQ(-EINVAL, register_elf(&self->info));
}

TEST_F(elf, text_with_a_hole)
{
	self->info.text_start -= PAGE;
	self->info.text_end += PAGE;
	munmap(self->mem + 2 * PAGE, PAGE);
	EXPECT_EQ(-EINVAL, register_elf(&self->info));
}

TEST_F(elf, text_starts_or_ends_outside)
{
	self->info.text_start = self->start - 3 * PAGE;
	munmap(self->mem, PAGE);
	EXPECT_EQ(-EINVAL, register_elf(&self->info));
	self->info.text_start = self->start;
	self->info.text_end = self->start + 4 * PAGE;
	munmap(self->mem + 5 * PAGE, PAGE);
	EXPECT_EQ(-EINVAL, register_elf(&self->info));
}

TEST_F(elf, text_not_executable)
{
	ASSERT_EQ(0, mprotect(self->mem + 3 * PAGE, PAGE, PROT_READ));
	EXPECT_EQ(-EINVAL, register_elf(&self->info));
	ASSERT_EQ(0, mprotect(self->mem + 2 * PAGE, 2 * PAGE,
			      PROT_READ | PROT_WRITE));
	EXPECT_EQ(-EINVAL, register_elf(&self->info));
}

TEST_F(elf, text_in_adjacent_mappings)
{
	/* A different protection makes a separate mapping. */
	ASSERT_EQ(0, mprotect(self->mem + 3 * PAGE, PAGE,
			      PROT_READ | PROT_WRITE | PROT_EXEC));
	self->info.text_start -= PAGE;
	self->info.text_end += PAGE;
	EXPECT_EQ(0, register_elf(&self->info));
}

TEST_F(elf, execute_only_text)
{
	ASSERT_EQ(0, mprotect(self->mem, 6 * PAGE, PROT_EXEC));
	EXPECT_EQ(0, register_elf(&self->info));
}

/* Ranges count bytes, not pages. */
TEST_F(elf, text_by_the_byte)
{
	uint64_t p = self->start + 5;

	EXPECT_EQ(0, register_text(p, p + 1, NULL, 0));
	EXPECT_EQ(0, register_text(p + 1, p + 2, NULL, 0));
	EXPECT_EQ(0, register_text(p - 1, p, NULL, 0));
	EXPECT_EQ(-EEXIST, register_text(p, p + 1, NULL, 0));
	EXPECT_EQ(0, unregister_text(p, p + 1));
	EXPECT_EQ(-EEXIST, register_text(p - 1, p + 1, NULL, 0));
	EXPECT_EQ(0, register_text(p, p + 1, NULL, 0));
}

TEST_F(elf, overlapping_text)
{
	const struct {
		int start;
		int end;
	} overlaps[] = { { 0, 2 }, { -1, 1 }, { 1, 3 }, { -1, 3 }, { 1, 2 },
			 { 0, 1 } };

	ASSERT_EQ(0, register_elf(&self->info));
	for (size_t i = 0; i < ARRAY_SIZE(overlaps); i++) {
		EXPECT_EQ(-EEXIST,
			  register_text(self->start + overlaps[i].start * PAGE,
					self->start + overlaps[i].end * PAGE,
					NULL, 0))
			TH_LOG("pages %d to %d", overlaps[i].start,
			       overlaps[i].end);
	}
	EXPECT_EQ(-EEXIST, register_text(self->end - 1, self->end + 1, NULL, 0));
	EXPECT_EQ(0, register_text(self->end, self->end + 1, NULL, 0));
	EXPECT_EQ(0, register_text(self->start - 1, self->start, NULL, 0));
}

TEST_F(elf, elf_ranges_may_overlap_and_lie_anywhere)
{
	self->info.elf_start = 0x1000;
	self->info.elf_end = USER_END;
	EXPECT_EQ(0, register_elf(&self->info));
	self->info.text_start = self->end;
	self->info.text_end = self->end + PAGE;
	EXPECT_EQ(0, register_elf(&self->info));
}

TEST_F(elf, unregister_wants_the_exact_range)
{
	uint64_t s = self->start, e = self->end;

	EXPECT_EQ(-ENOENT, unregister_text(s, e));
	ASSERT_EQ(0, register_elf(&self->info));
	EXPECT_EQ(-ENOENT, unregister_text(s, e - 1));
	EXPECT_EQ(-ENOENT, unregister_text(s + 1, e));
	EXPECT_EQ(-ENOENT, unregister_text(s - 1, e));
	EXPECT_EQ(-ENOENT, unregister_text(s, e + 1));
	EXPECT_EQ(-ENOENT, unregister_text(s, s + PAGE));
	EXPECT_EQ(-EEXIST, register_elf(&self->info));
	EXPECT_EQ(0, unregister_text(s, e));
	EXPECT_EQ(-ENOENT, unregister_text(s, e));
	EXPECT_EQ(0, register_elf(&self->info));
}

/* A refused registration changes nothing. */
TEST_F(elf, all_or_nothing)
{
	self->info.pathname = 8;
	ASSERT_EQ(-EFAULT, register_elf(&self->info));
	self->info.pathname = 0;
	self->info.sframe_start = addr_of(self->mem);
	self->info.sframe_end = self->info.sframe_start + PAGE;
	ASSERT_EQ(-EINVAL, register_elf(&self->info));
	EXPECT_EQ(-ENOENT, unregister_text(self->start, self->end));
}

TEST_F(elf, build_id_length)
{
	uint8_t id[32];

	memset(id, 0x5a, sizeof(id));
	self->info.build_id = addr_of(id);
	for (uint32_t len = 1; len <= 20; len += 19) {
		self->info.build_id_len = len;
		EXPECT_EQ(0, register_elf(&self->info));
		EXPECT_EQ(0, unregister_text(self->start, self->end));
	}
	self->info.build_id_len = 21;
	EXPECT_EQ(-ENAMETOOLONG, register_elf(&self->info));
	self->info.build_id_len = ~0U;
	EXPECT_EQ(-ENAMETOOLONG, register_elf(&self->info));
}

TEST_F(elf, build_id_length_without_build_id)
{
	const uint32_t lens[] = { 1, 20, 21, ~0U };

	for (size_t i = 0; i < ARRAY_SIZE(lens); i++) {
		self->info.build_id_len = lens[i];
		EXPECT_EQ(-EINVAL, register_elf(&self->info));
	}
	self->info.pathname = addr_of("/a/claim");
	EXPECT_EQ(-EINVAL, register_elf(&self->info));
}

TEST_F(elf, checksum_without_debug_link)
{
	self->info.debug_link_crc = 1;
	EXPECT_EQ(-EINVAL, register_elf(&self->info));
	self->info.pathname = addr_of("/a/claim");
	EXPECT_EQ(-EINVAL, register_elf(&self->info));
	self->info.debug_link_pathname = addr_of("a.debug");
	EXPECT_EQ(0, register_elf(&self->info));
}

TEST_F(elf, build_id_that_cannot_be_read)
{
	const uint64_t bad[] = { 8, addr_of(self->mem) + 6 * PAGE - 19,
				 USER_END, KERNEL_ADDR, -8UL };

	self->info.build_id_len = 20;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		uint8_t *guard = map_pages(1, PROT_NONE);

		self->info.build_id = i == 1 ? addr_of(guard) : bad[i];
		EXPECT_EQ(-EFAULT, register_elf(&self->info))
			TH_LOG("build-id at %llx", self->info.build_id);
		munmap(guard, PAGE);
	}
}

/* Both strings follow the same rules. */
static void check_string(struct __test_metadata *_metadata,
			 FIXTURE_DATA(elf) * self, __u64 *field)
{
	char *mem = map_pages(3, PROT_READ | PROT_WRITE);

	ASSERT_NE(NULL, mem);
	memset(mem, 'a', 2 * PAGE);
	ASSERT_EQ(0, mprotect(mem + 2 * PAGE, PAGE, PROT_NONE));
	*field = addr_of(mem);
	EXPECT_EQ(-ENAMETOOLONG, register_elf(&self->info));
	mem[PATH_MAX] = '\0';
	EXPECT_EQ(-ENAMETOOLONG, register_elf(&self->info));
	mem[PATH_MAX - 1] = '\0';
	EXPECT_EQ(0, register_elf(&self->info));
	EXPECT_EQ(0, unregister_text(self->start, self->end));
	/* A string may end where its page does, and the next is not touched. */
	mem[2 * PAGE - 1] = '\0';
	*field = addr_of(mem) + 2 * PAGE - 6;
	EXPECT_EQ(0, register_elf(&self->info));
	EXPECT_EQ(0, unregister_text(self->start, self->end));
	mem[2 * PAGE - 1] = 'a';
	EXPECT_EQ(-EFAULT, register_elf(&self->info));
	*field = KERNEL_ADDR;
	EXPECT_EQ(-EFAULT, register_elf(&self->info));
	*field = USER_END;
	EXPECT_EQ(-EFAULT, register_elf(&self->info));
	munmap(mem, 3 * PAGE);
}

TEST_F(elf, pathname)
{
	check_string(_metadata, self, &self->info.pathname);
}

TEST_F(elf, debug_link_pathname)
{
	check_string(_metadata, self, &self->info.debug_link_pathname);
}

static int register_claim(uint64_t text, const char *path)
{
	return register_elf(&(struct code_elf_info) {
		.elf_start = text,
		.elf_end = text + 1,
		.text_start = text,
		.text_end = text + 1,
		.pathname = addr_of(path),
		.debug_link_pathname = addr_of(path),
	});
}

/* Two strings of nearly a page each, against the limit of 256 KiB. */
TEST_F(elf, limit_of_claims)
{
	static char path[4000];
	uint64_t text = self->start;
	int nr = 0, status;
	pid_t pid;

	memset(path, 'x', sizeof(path) - 1);
	while (nr < 64 && !register_claim(text + nr, path))
		nr++;
	EXPECT_LE(28, nr);
	EXPECT_GE(32, nr);
	EXPECT_EQ(-ENOSPC, register_claim(text + nr, path));
	EXPECT_EQ(-EEXIST, register_claim(text, path));
	EXPECT_EQ(0, register_text(text + nr, text + nr + 1, NULL, 0));
	/* A child's copy is as full. */
	pid = fork();
	if (!pid)
		_exit(register_claim(text + nr + 1, path) != -ENOSPC ||
		      unregister_text(text, text + 1) ||
		      register_claim(text, path));
	ASSERT_LT(0, pid);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_EQ(-ENOSPC, register_claim(text + nr + 1, path));
	EXPECT_EQ(0, unregister_text(text, text + 1));
	EXPECT_EQ(0, register_claim(text + nr + 1, path));
	/* What goes with its mapping makes room, too. */
	ASSERT_EQ(0, munmap(self->mem + 2 * PAGE, PAGE));
	for (int i = 0; i < nr; i++)
		EXPECT_EQ(0, register_claim(text + PAGE + i, path));
	EXPECT_EQ(-ENOSPC, register_claim(text + PAGE + nr, path));
}

/* Claims are kept or dropped, never checked. */
TEST_F(elf, false_claims_do_not_fail)
{
	static const char name[] = "/no/such/file";

	self->info.pathname = addr_of(name);
	self->info.debug_link_pathname = addr_of(name);
	self->info.debug_link_crc = 0xdeadbeef;
	EXPECT_EQ(0, register_elf(&self->info));
}

TEST_HARNESS_MAIN

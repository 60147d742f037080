// SPDX-License-Identifier: GPL-2.0
/* CODE_BATCH: several calls in one. */
#include "codectl_test.h"
#include "jit_table.h"
#include "kselftest_harness.h"
#include "proc_file.h"

_Static_assert(sizeof(struct code_batch) == CODE_BATCH_SIZE_VER0,
	       "size of struct code_batch");
_Static_assert(sizeof(struct code_batch_entry) == CODE_BATCH_ENTRY_SIZE,
	       "size of struct code_batch_entry");

#define PAGES 128

/* A text of one page each, the calls for it, and what a test assembles from them. */
FIXTURE(batch)
{
	uint8_t *mem;
	uint64_t text;
	struct code_elf_info elf[PAGES];
	struct code_unregister_info old[PAGES];
	struct code_batch_entry entry[CODE_BATCH_MAX];
	unsigned int nr;
};

FIXTURE_SETUP(batch)
{
	REQUIRE_CODECTL();
	self->mem = map_pages(PAGES + 1, PROT_READ | PROT_EXEC);
	ASSERT_NE(NULL, self->mem);
	ASSERT_EQ(0, mprotect(self->mem + PAGES * PAGE, PAGE, PROT_READ));
	self->text = addr_of(self->mem);
	self->nr = 0;
	for (unsigned int i = 0; i < PAGES; i++) {
		uint64_t start = self->text + i * PAGE;

		self->elf[i] = (struct code_elf_info) {
			.elf_start = start,
			.elf_end = start + PAGE,
			.text_start = start,
			.text_end = start + PAGE,
		};
		self->old[i] = (struct code_unregister_info) {
			.text_start = start,
			.text_end = start + PAGE,
		};
	}
}

FIXTURE_TEARDOWN(batch)
{
	munmap(self->mem, (PAGES + 1) * PAGE);
}

static void add(FIXTURE_DATA(batch) * self, unsigned int option, const void *info,
		size_t size)
{
	self->entry[self->nr++] = (struct code_batch_entry) {
		.option = option,
		.info_size = size,
		.info = addr_of(info),
	};
}

static void add_register(FIXTURE_DATA(batch) * self, unsigned int page)
{
	add(self, CODE_REGISTER_ELF, &self->elf[page], sizeof(self->elf[page]));
}

static void add_unregister(FIXTURE_DATA(batch) * self, unsigned int page)
{
	add(self, CODE_UNREGISTER, &self->old[page], sizeof(self->old[page]));
}

static long call_entries(const void *entries, unsigned int nr)
{
	struct code_batch batch = { .entries = addr_of(entries), .nr = nr };

	return sys_codectl(CODE_BATCH, &batch, sizeof(batch), 0);
}

static long call(FIXTURE_DATA(batch) * self)
{
	return call_entries(self->entry, self->nr);
}

/* The number of pages registered from the first on, if none is after those; else -1. */
static int registered(FIXTURE_DATA(batch) * self)
{
	int nr = 0;

	while (nr < PAGES && text_is_registered(self->text + nr * PAGE))
		nr++;
	for (int i = nr; i < PAGES; i++)
		if (text_is_registered(self->text + i * PAGE))
			return -1;
	return nr;
}

TEST_F(batch, nothing)
{
	EXPECT_EQ(0, call(self));
	EXPECT_EQ(0, call_entries((void *)KERNEL_ADDR, 0));
}

TEST_F(batch, one_of_each)
{
	struct code_jit_info jit = {
		.text_start = self->text + PAGE,
		.text_end = self->text + 2 * PAGE,
		.jit_flags = CODE_JIT_DEFAULT_RULE,
	};
	struct proc_line l;

	add_register(self, 0);
	add(self, CODE_REGISTER_JIT, &jit, sizeof(jit));
	add_register(self, 2);
	add_unregister(self, 2);
	EXPECT_EQ(4, call(self));
	EXPECT_EQ(2, registered(self));
	ASSERT_TRUE(proc_line_of(self->text, &l));
	EXPECT_EQ(CODE_REGISTER_ELF, l.q.kind);
	ASSERT_TRUE(proc_line_of(self->text + PAGE, &l));
	EXPECT_EQ(CODE_REGISTER_JIT, l.q.kind);
}

/* Each finds what the earlier ones have left. */
TEST_F(batch, in_order)
{
	for (int i = 0; i < 40; i++) {
		add_register(self, 0);
		add_unregister(self, 0);
	}
	add_register(self, 0);
	EXPECT_EQ(81, call(self));
	EXPECT_EQ(1, registered(self));
	EXPECT_EQ(-EEXIST, call(self));
	EXPECT_EQ(1, registered(self));
	/* From the second one on nothing is wrong. */
	EXPECT_EQ(80, call_entries(self->entry + 1, 80));
}

/* Whether or not the lock is taken again in between. */
TEST_F(batch, ends_at_the_first_that_fails)
{
	for (unsigned int bad = 0; bad < 70; bad++) {
		self->nr = 0;
		for (unsigned int i = 0; i < 70; i++)
			add_register(self, i);
		/* The previous one twice, or one that is already there. */
		if (bad)
			self->entry[bad] = self->entry[bad - 1];
		else
			ASSERT_EQ(0, register_elf(&self->elf[0]));
		EXPECT_EQ(bad ? (long)bad : -EEXIST, call(self));
		EXPECT_EQ(bad ?: 1, registered(self))
			TH_LOG("entry %u is wrong", bad);
		self->nr = 0;
		for (unsigned int i = 0; i < (bad ?: 1); i++)
			add_unregister(self, i);
		EXPECT_EQ(self->nr, call(self));
		EXPECT_EQ(0, registered(self));
	}
}

/* Entries fail for the same reasons as single calls. */
TEST_F(batch, errors_of_entries)
{
	static char longest[5000];
	uint8_t big[PAGE + 1] = {}, tail[128] = {};
	struct code_elf_info not_exec = self->elf[PAGES - 1];
	struct code_elf_info format = self->elf[PAGES - 1];
	struct code_elf_info name = self->elf[PAGES - 1];
	const struct {
		const char *what;
		unsigned int option;
		const void *info;
		size_t size;
		int err;
	} bad[] = {
		{ "a batch", CODE_BATCH, self->entry, 16, -EINVAL },
		{ "unknown option", 4, self->entry, 16, -EINVAL },
		{ "largest option", ~0U, self->entry, 16, -EINVAL },
		{ "no info", CODE_UNREGISTER, NULL, 16, -EFAULT },
		{ "of the kernel", CODE_REGISTER_ELF, (void *)KERNEL_ADDR, 80, -EFAULT },
		{ "size 0", CODE_REGISTER_ELF, self->elf, 0, -EINVAL },
		{ "less than VER0", CODE_REGISTER_ELF, self->elf, 79, -EINVAL },
		{ "over a page", CODE_REGISTER_ELF, big, sizeof(big), -E2BIG },
		{ "largest size", CODE_REGISTER_ELF, big, ~0U, -E2BIG },
		{ "unknown tail", CODE_UNREGISTER, tail, sizeof(tail), -E2BIG },
		{ "not there", CODE_UNREGISTER, &self->old[100], 16, -ENOENT },
		{ "not executable", CODE_REGISTER_ELF, &not_exec, sizeof(not_exec),
		  -EINVAL },
		{ "format", CODE_REGISTER_ELF, &format, sizeof(format), -EOPNOTSUPP },
		{ "long name", CODE_REGISTER_ELF, &name, sizeof(name), -ENAMETOOLONG },
	};

	tail[127] = 1;
	not_exec.text_end += PAGE;
	not_exec.elf_end += PAGE;
	format.unwind_format = 1;
	memset(longest, 'x', sizeof(longest));
	name.pathname = addr_of(longest);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		self->nr = 0;
		add(self, bad[i].option, bad[i].info, bad[i].size);
		add_register(self, 0);
		EXPECT_EQ(bad[i].err, call(self)) TH_LOG("%s", bad[i].what);
		EXPECT_EQ(0, registered(self)) TH_LOG("%s", bad[i].what);

		self->nr = 0;
		add_register(self, 0);
		add_register(self, 1);
		add(self, bad[i].option, bad[i].info, bad[i].size);
		add_register(self, 2);
		EXPECT_EQ(2, call(self)) TH_LOG("%s", bad[i].what);
		EXPECT_EQ(2, registered(self)) TH_LOG("%s", bad[i].what);
		EXPECT_EQ(0, unregister_text(self->text, self->text + PAGE));
		EXPECT_EQ(0, unregister_text(self->text + PAGE,
					     self->text + 2 * PAGE));
	}
}

TEST_F(batch, versions_of_entries)
{
	uint8_t page[PAGE] = {};

	memcpy(page, &self->elf[2], sizeof(self->elf[2]));
	add(self, CODE_REGISTER_ELF, &self->elf[0], CODE_ELF_INFO_SIZE_VER0);
	add(self, CODE_REGISTER_ELF, &self->elf[1], CODE_ELF_INFO_SIZE_VER1);
	add(self, CODE_REGISTER_ELF, page, PAGE);
	EXPECT_EQ(3, call(self));
	EXPECT_EQ(3, registered(self));
}

TEST_F(batch, reserved_must_be_zero)
{
	struct code_batch batch = { .entries = addr_of(self->entry), .nr = 1 };

	add_register(self, 0);
	for (int bit = 0; bit < 32; bit++) {
		batch.__reserved = 1U << bit;
		EXPECT_EQ(-EINVAL, sys_codectl(CODE_BATCH, &batch, sizeof(batch), 0))
			TH_LOG("bit %d", bit);
	}
	EXPECT_EQ(0, registered(self));
}

TEST_F(batch, as_many_as_there_may_be)
{
	static struct code_elf_info elf[CODE_BATCH_MAX];

	for (unsigned int i = 0; i < CODE_BATCH_MAX; i++) {
		elf[i] = self->elf[0];
		elf[i].text_start = self->text + i;
		elf[i].text_end = self->text + i + 1;
		add(self, CODE_REGISTER_ELF, &elf[i], sizeof(elf[i]));
	}
	EXPECT_EQ(-EINVAL, call_entries(self->entry, CODE_BATCH_MAX + 1));
	EXPECT_EQ(-EINVAL, call_entries(self->entry, ~0U));
	EXPECT_EQ(0, registered(self));
	EXPECT_EQ(CODE_BATCH_MAX, call(self));
	for (unsigned int i = 0; i < CODE_BATCH_MAX; i++)
		ASSERT_EQ(0, unregister_text(self->text + i, self->text + i + 1));
	EXPECT_EQ(0, registered(self));
}

TEST_F(batch, entries_that_cannot_be_read)
{
	const uint64_t bad[] = { 0, 8, KERNEL_ADDR, USER_END, -8UL, -16UL };
	struct code_batch_entry *at;
	uint8_t *page = map_pages(2, PROT_READ | PROT_WRITE);

	ASSERT_NE(NULL, page);
	ASSERT_EQ(0, mprotect(page + PAGE, PAGE, PROT_NONE));
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		EXPECT_EQ(-EFAULT, call_entries((void *)bad[i], 2))
			TH_LOG("entries at %lx", bad[i]);
	}
	for (unsigned int i = 0; i < 20; i++)
		add_register(self, i);
	/* Half an entry is not read, and an array may end where its page does. */
	at = (void *)(page + PAGE - 20 * sizeof(*at));
	memcpy(at, self->entry, 20 * sizeof(*at));
	EXPECT_EQ(20, call_entries(at, 21));
	EXPECT_EQ(20, registered(self));
	EXPECT_EQ(-EFAULT, call_entries(page + PAGE - 8, 1));
	self->nr = 0;
	for (unsigned int i = 0; i < 20; i++)
		add_unregister(self, i);
	memcpy((void *)at + 8, self->entry, 20 * sizeof(*at) - 8);
	EXPECT_EQ(19, call_entries((void *)at + 8, 20));
	EXPECT_EQ(-ENOENT, unregister_text(self->text, self->text + PAGE));
	EXPECT_EQ(0, unregister_text(self->text + 19 * PAGE, self->text + 20 * PAGE));
	munmap(page, 2 * PAGE);
}

FIXTURE(batch_limit)
{
	struct code_elf_info elf[64];
	struct code_batch_entry entry[64];
};

FIXTURE_SETUP(batch_limit)
{
	uint64_t text;

	REQUIRE_CODECTL();
	text = addr_of(map_pages(64, PROT_READ | PROT_EXEC));
	ASSERT_NE(0, text);
	for (unsigned int i = 0; i < 64; i++, text += PAGE) {
		self->elf[i] = (struct code_elf_info) {
			.elf_start = text,
			.elf_end = text + PAGE,
			.text_start = text,
			.text_end = text + PAGE,
		};
		self->entry[i] = (struct code_batch_entry) {
			.option = CODE_REGISTER_ELF,
			.info_size = sizeof(self->elf[i]),
			.info = addr_of(&self->elf[i]),
		};
	}
}

/* Even when the test died in between. */
FIXTURE_TEARDOWN_PARENT(batch_limit)
{
	sysctl_write("kernel/codectl", 1);
	sysctl_write("kernel/codectl_max_regions", 65530);
}

TEST_F(batch_limit, of_registrations)
{
	long nr;

	ASSERT_EQ(0, sysctl_write("kernel/codectl_max_regions", 40));
	nr = call_entries(self->entry, 64);
	EXPECT_LT(0, nr);
	EXPECT_GE(40, nr);
	EXPECT_EQ(-ENOSPC, call_entries(self->entry + nr, 1));
	ASSERT_EQ(0, sysctl_write("kernel/codectl_max_regions", 41));
	EXPECT_EQ(1, call_entries(self->entry + nr, 64 - nr));
}

TEST_F(batch_limit, switched_off)
{
	ASSERT_EQ(0, sysctl_write("kernel/codectl", 0));
	EXPECT_EQ(-ENOSYS, call_entries(self->entry, 1));
	EXPECT_EQ(-ENOSYS, call_entries(NULL, ~0U));
}

TEST_HARNESS_MAIN

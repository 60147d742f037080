// SPDX-License-Identifier: MIT
/*
 * Registration of ELF objects, each made up of headers over mapped pages.
 */
#include <elf.h>

#include "stand_in.h"
#include "test.h"

static uint64_t base;

static Elf64_Phdr segment(unsigned int page, uint32_t flags)
{
	return (Elf64_Phdr) {
		.p_type = PT_LOAD,
		.p_flags = flags,
		.p_vaddr = 0x10000 + page * PAGE,
		.p_memsz = PAGE,
	};
}

/* Four executable pages; returns the bias. */
static uint64_t map_object(void)
{
	void *map = mmap(NULL, 4 * PAGE, PROT_READ | PROT_EXEC,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(map != MAP_FAILED);
	base = (uintptr_t)map;
	stand_in();

	return base - 0x10000;
}

static int register_page(unsigned int page)
{
	struct code_elf_info info = {
		.elf_start = base,
		.elf_end = base + 4 * PAGE,
		.text_start = base + page * PAGE,
		.text_end = base + (page + 1) * PAGE,
	};

	return codectl_syscall(CODE_REGISTER_ELF, &info, sizeof(info), 0);
}

static void returns_what_the_kernel_does(void)
{
	struct code_unregister_info info[2];
	struct code_batch_entry entries[2];
	struct code_batch batch = { (uintptr_t)entries, 2, 0 };

	map_object();
	for (unsigned int i = 0; i < 2; i++) {
		CHECK_EQ(register_page(i), 0);
		info[i] = (struct code_unregister_info) {
			base + i * PAGE, base + (i + 1) * PAGE,
		};
		entries[i] = (struct code_batch_entry) {
			CODE_UNREGISTER, sizeof(info[i]), (uintptr_t)&info[i],
		};
	}
	CHECK_EQ(codectl_syscall(CODE_BATCH, &batch, sizeof(batch), 0), 2);
	CHECK_EQ(codectl_syscall(CODE_BATCH, &batch, sizeof(batch), 0), -ENOENT);
}

static void registers_and_unregisters(void)
{
	Elf64_Phdr phdr[3] = {
		segment(0, PF_R), segment(1, PF_R | PF_X),
		segment(3, PF_R | PF_X),
	};
	uint64_t bias = map_object();

	CHECK_EQ(codectl_elf_register(phdr, 3, bias), 0);
	CHECK_EQ(register_page(0), 0);
	CHECK_EQ(register_page(1), -EEXIST);
	CHECK_EQ(register_page(2), 0);
	CHECK_EQ(register_page(3), -EEXIST);
	CHECK_EQ(codectl_elf_register(phdr, 3, bias), -EEXIST);
	CHECK_EQ(codectl_elf_unregister(phdr, 3, bias), 0);
	CHECK_EQ(codectl_elf_unregister(phdr, 3, bias), -ENOENT);
	CHECK_EQ(register_page(1), 0);
	CHECK_EQ(register_page(3), 0);
}

/* The object is all the pages that it has a byte in, whatever is executable. */
static void object_is_whole_pages(void)
{
	struct stand_in_entry entry;
	Elf64_Phdr phdr[3] = {
		segment(2, PF_R), segment(1, PF_R | PF_X), segment(0, PF_R),
	};
	uint64_t bias = map_object();

	phdr[0].p_memsz = 1;
	phdr[2].p_vaddr += 0x123;
	phdr[2].p_memsz = 1;
	CHECK_EQ(codectl_elf_register(phdr, 3, bias), 0);
	CHECK_EQ(stand_in_find(base + PAGE, &entry), 1);
	CHECK_EQ(entry.text_end, base + 2 * PAGE);
	CHECK_EQ(entry.elf_start, base);
	CHECK_EQ(entry.elf_end, base + 3 * PAGE);
	CHECK_EQ(codectl_elf_unregister(phdr, 3, bias), 0);
	CHECK_EQ(stand_in_find(base + PAGE, &entry), 0);
}

/* A segment without length, in memory or at all, does not count. */
static void empty_segments(void)
{
	struct stand_in_entry entry;
	Elf64_Phdr phdr[2] = {
		segment(1, PF_R | PF_X), segment(2, PF_R | PF_X),
	};
	uint64_t bias = map_object();

	phdr[1].p_memsz = 0;
	CHECK_EQ(codectl_elf_register(phdr, 2, bias), 0);
	CHECK_EQ(stand_in_find(base + PAGE, &entry), 1);
	CHECK_EQ(entry.elf_end, base + 2 * PAGE);
	CHECK_EQ(stand_in_find(base + 2 * PAGE, &entry), 0);
	CHECK_EQ(codectl_elf_unregister(phdr, 2, bias), 0);
	CHECK_EQ(codectl_elf_register(phdr, 0, bias), 0);
}

/* If the call is refused, by a filter or as unknown, nothing has failed. */
static void refused(void)
{
	const int errors[] = { ENOSYS, EPERM };
	Elf64_Phdr phdr[1] = { segment(0, PF_R | PF_X) };
	uint64_t bias = map_object();
	unsigned int i;

	for (i = 0; i < 2; i++) {
		pid_t pid = fork();

		if (!pid) {
			stand_in_refuse(errors[i]);
			CHECK_EQ(codectl_elf_register(phdr, 1, bias), 0);
			CHECK_EQ(codectl_elf_unregister(phdr, 1, bias), 0);
			_exit(0);
		}
		test_wait(pid);
	}
	stand_in_refuse(EACCES);
	CHECK_EQ(codectl_elf_register(phdr, 1, bias), -EACCES);
	CHECK_EQ(codectl_elf_unregister(phdr, 1, bias), -EACCES);
}

/* What comes before the refused segment is not registered, either. */
static void all_or_nothing(void)
{
	Elf64_Phdr phdr[2] = {
		segment(0, PF_R | PF_X), segment(2, PF_R | PF_X),
	};
	uint64_t bias = map_object();

	CHECK_EQ(register_page(2), 0);
	CHECK_EQ(codectl_elf_register(phdr, 2, bias), -EEXIST);
	CHECK_EQ(register_page(0), 0);
}

static void bad_section(void)
{
	Elf64_Phdr phdr[2] = { segment(0, PF_R | PF_X), segment(1, PF_R) };

	phdr[1].p_type = 0x6474e554;
	CHECK_EQ(codectl_elf_register(phdr, 2, map_object()), -EINVAL);
}

/* The kernel registered the program when it was executed. */
static void this_program(void)
{
	const Elf64_Phdr *phdr;
	size_t phnum;
	uint64_t bias;

	phdr = this_program_phdr(&phnum, &bias);
	stand_in();
	CHECK_EQ(codectl_elf_register(phdr, phnum, bias), -EEXIST);
}

static const struct test tests[] = {
	TEST(registers_and_unregisters),
	TEST(returns_what_the_kernel_does),
	TEST(object_is_whole_pages),
	TEST(empty_segments),
	TEST(refused),
	TEST(all_or_nothing),
	TEST(bad_section),
	TEST(this_program),
};

int main(void)
{
	return test_main(tests, ARRAY_SIZE(tests));
}

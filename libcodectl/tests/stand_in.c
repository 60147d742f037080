// SPDX-License-Identifier: MIT
#include <elf.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <ucontext.h>

#include "stand_in.h"
#include "test.h"

#ifndef __NR_codectl
#define __NR_codectl 473
#endif

#define SFRAME_MAGIC	0xdee2

static struct stand_in_entry entries[64];
static unsigned int nr_entries;
static int refused;
static bool stands_in;

static int add(const struct stand_in_entry *new)
{
	unsigned int i;

	if (new->text_start >= new->text_end)
		return -EINVAL;
	for (i = 0; i < nr_entries; i++) {
		if (new->text_start < entries[i].text_end &&
		    entries[i].text_start < new->text_end)
			return -EEXIST;
	}
	if (nr_entries == ARRAY_SIZE(entries))
		return -ENOSPC;
	entries[nr_entries++] = *new;

	return 0;
}

static int add_elf(const struct code_elf_info *info)
{
	struct stand_in_entry new = {
		.text_start = info->text_start,
		.text_end = info->text_end,
		.elf_start = info->elf_start,
		.elf_end = info->elf_end,
		.sframe_start = info->sframe_start,
	};

	if (info->text_start < info->elf_start ||
	    info->text_end > info->elf_end)
		return -EINVAL;
	if (info->sframe_start != info->sframe_end &&
	    *(uint16_t *)(uintptr_t)info->sframe_start != SFRAME_MAGIC)
		return -EINVAL;

	return add(&new);
}

static int add_jit(const struct code_jit_info *info)
{
	struct stand_in_entry new = {
		.text_start = info->text_start,
		.text_end = info->text_end,
		.unwind_head = info->unwind_head,
	};

	return add(&new);
}

static int drop(const struct code_unregister_info *info)
{
	unsigned int i;

	for (i = 0; i < nr_entries; i++) {
		if (entries[i].text_start == info->text_start &&
		    entries[i].text_end == info->text_end) {
			entries[i] = entries[--nr_entries];
			return 0;
		}
	}

	return -ENOENT;
}

static int call(unsigned int option, const void *info, unsigned int flags);

/* How many have succeeded, or the error of the first one. */
static int call_all(const struct code_batch *batch)
{
	const struct code_batch_entry *entry = (void *)(uintptr_t)batch->entries;
	unsigned int done = 0;
	int ret = 0;

	while (!ret && done < batch->nr) {
		ret = call(entry[done].option, (void *)(uintptr_t)entry[done].info, 0);
		done += !ret;
	}

	return done ? (int)done : ret;
}

static int call(unsigned int option, const void *info, unsigned int flags)
{
	if (refused)
		return -refused;
	if (flags)
		return -EINVAL;
	switch (option) {
	case CODE_REGISTER_ELF:
		return add_elf(info);
	case CODE_REGISTER_JIT:
		return add_jit(info);
	case CODE_UNREGISTER:
		return drop(info);
	case CODE_BATCH:
		return call_all(info);
	}

	return -EINVAL;
}

static void on_call(int sig, siginfo_t *si, void *context)
{
	greg_t *regs = ((ucontext_t *)context)->uc_mcontext.gregs;

	(void)sig;
	(void)si;
	regs[REG_RAX] = call(regs[REG_RDI], (void *)regs[REG_RSI],
			     regs[REG_R10]);
}

static void hand_over(unsigned int action)
{
	const struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_codectl, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, action),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { .len = ARRAY_SIZE(filter),
				   .filter = (void *)filter };

	CHECK_EQ(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	CHECK_EQ(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog), 0);
}

const Elf64_Phdr *this_program_phdr(size_t *phnum, uint64_t *bias)
{
	const Elf64_Phdr *phdr = (void *)getauxval(AT_PHDR);
	size_t i;

	*phnum = getauxval(AT_PHNUM);
	*bias = 0;
	for (i = 0; i < *phnum; i++) {
		if (phdr[i].p_type == PT_PHDR)
			*bias = (uintptr_t)phdr - phdr[i].p_vaddr;
	}

	return phdr;
}

/* As execve() does. */
static void add_this_program(void)
{
	const Elf64_Phdr *phdr;
	size_t phnum, i;
	uint64_t bias;

	phdr = this_program_phdr(&phnum, &bias);
	for (i = 0; i < phnum; i++) {
		struct stand_in_entry new = {
			.text_start = bias + phdr[i].p_vaddr,
			.text_end = bias + phdr[i].p_vaddr + phdr[i].p_memsz,
		};

		if (phdr[i].p_type == PT_LOAD && (phdr[i].p_flags & PF_X))
			CHECK_EQ(add(&new), 0);
	}
}

void stand_in(void)
{
	struct sigaction act = { .sa_sigaction = on_call,
				 .sa_flags = SA_SIGINFO };

	if (!codectl_probe())
		return;
	CHECK(!getenv("EXPECT_ALL_FEATURES"));
	stands_in = true;
	add_this_program();
	CHECK_EQ(sigaction(SIGSYS, &act, NULL), 0);
	hand_over(SECCOMP_RET_TRAP);
	CHECK_EQ(codectl_probe(), 0);
}

void stand_in_refuse(int error)
{
	if (stands_in)
		refused = error;
	else
		hand_over(SECCOMP_RET_ERRNO | error);
}

static uint64_t number_after(const char *line, const char *what)
{
	const char *found = strstr(line, what);

	return found ? strtoull(found + strlen(what), NULL, 16) : 0;
}

static int find_line(uint64_t text, struct stand_in_entry *entry)
{
	FILE *file = fopen("/proc/self/codectl", "r");
	char line[4096], *end;
	int found = 0;

	CHECK(file);
	while (!found && fgets(line, sizeof(line), file)) {
		if (strtoull(line, &end, 16) != text)
			continue;
		*entry = (struct stand_in_entry) {
			.text_start = text,
			.text_end = strtoull(end + 1, NULL, 16),
			.elf_start = number_after(line, " elf="),
			.sframe_start = number_after(line, " sframe="),
			.unwind_head = number_after(line, " head="),
		};
		end = strchr(strstr(line, " elf=") ?: line, '-');
		if (entry->elf_start && end)
			entry->elf_end = strtoull(end + 1, NULL, 16);
		found = 1;
	}
	fclose(file);

	return found;
}

int stand_in_find(uint64_t text, struct stand_in_entry *entry)
{
	unsigned int i;

	if (!stands_in)
		return find_line(text, entry);
	for (i = 0; i < nr_entries; i++) {
		if (entries[i].text_start == text) {
			*entry = entries[i];
			return 1;
		}
	}

	return 0;
}

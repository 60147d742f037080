// SPDX-License-Identifier: GPL-2.0
/*
 * Every allocation and every user copy of a call is made to fail, one at a time
 * (/proc/self/fail-nth): the call reports it and has changed nothing.  For
 * kernels with failslab and fail_usercopy.
 */
#include <linux/limits.h>
#include <sys/wait.h>

#include "fault.h"
#include "jit_table.h"
#include "kselftest_harness.h"
#include "proc_file.h"
#include "sframe_build.h"

FIXTURE(fault)
{
	uint8_t *mem;
	uint64_t start;
	uint64_t end;
	int fd;
};

FIXTURE_SETUP(fault)
{
	REQUIRE_CODECTL();
	self->fd = fault_open();
	ASSERT_LE(0, self->fd);
	self->mem = map_pages(4, PROT_READ | PROT_WRITE | PROT_EXEC);
	ASSERT_NE(NULL, self->mem);
	self->start = addr_of(self->mem);
	self->end = self->start + PAGE;
}

FIXTURE_TEARDOWN(fault)
{
	munmap(self->mem, 4 * PAGE);
	close(self->fd);
}

static int register_claim(uint64_t start, uint64_t end)
{
	static const char name[] = "/a/path/that/nobody/can/check";
	struct code_elf_info info = {
		.elf_start = start,
		.elf_end = end,
		.text_start = start,
		.text_end = end,
		.pathname = addr_of(name),
		.build_id = addr_of(name),
		.build_id_len = 20,
		.debug_link_pathname = addr_of(name),
	};

	return register_elf(&info);
}

/* With a table, the header of which is read. */
static int register_section(uint64_t start, uint64_t end)
{
	static uint8_t section[256];
	const struct fre_spec row = {
		.info = FRE_INFO(FRE_SP, 1, FRE_WORD1), .word = { 8 },
	};
	const struct fde_spec fde = {
		.func = start, .size = PAGE, .nr_fres = 1, .fre = &row,
	};
	size_t len = sframe_build(section, sizeof(section), &fde, 1, 0);

	return register_text(start, end, section, len);
}

/* At least @faults of its copies of what the caller has can fail. */
static void fail_each(struct __test_metadata *_metadata,
		      FIXTURE_DATA(fault) * self,
		      int (*reg)(uint64_t start, uint64_t end),
		      unsigned int nomems, unsigned int faults)
{
	unsigned int nth, nomem = 0, fault = 0;
	int ret;

	for (nth = 1; nth < 100; nth++) {
		arm(self->fd, nth);
		ret = reg(self->start, self->end);
		if (!disarm(self->fd))
			break;
		/* A failure need not be one of the call: caches refill themselves. */
		if (!ret) {
			ASSERT_EQ(0, unregister_text(self->start, self->end));
			continue;
		}
		ASSERT_TRUE(ret == -ENOMEM || ret == -EFAULT);
		nomem += ret == -ENOMEM;
		fault += ret == -EFAULT;
		ASSERT_EQ(-ENOENT, unregister_text(self->start, self->end));
	}
	EXPECT_LT(nth, 100);
	EXPECT_EQ(0, ret);
	EXPECT_EQ(0, unregister_text(self->start, self->end));
	TH_LOG("%u calls, %u without memory, %u without access", nth, nomem, fault);
	EXPECT_LE(nomems, nomem);
	EXPECT_LE(faults, fault);
}

TEST_F(fault, register)
{
	fail_each(_metadata, self, register_claim, 3, 3);
}

TEST_F(fault, register_section)
{
	fail_each(_metadata, self, register_section, 1, 2);
}

TEST_F(fault, register_compiled_code)
{
	fail_each(_metadata, self, register_jit_text, 1, 1);
}

TEST_F(fault, unregister)
{
	unsigned int nth;
	int ret;

	for (nth = 1; nth < 100; nth++) {
		ASSERT_EQ(0, register_claim(self->start, self->end));
		arm(self->fd, nth);
		ret = unregister_text(self->start, self->end);
		if (!disarm(self->fd))
			break;
		if (!ret)
			continue;
		ASSERT_TRUE(ret == -ENOMEM || ret == -EFAULT);
		ASSERT_EQ(0, unregister_text(self->start, self->end));
	}
	EXPECT_LT(nth, 100);
	EXPECT_EQ(0, ret);
}

/* The child shares the registry, so that its first change copies it. */
static int change_shared(int nth)
{
	int fd = open("/proc/thread-self/fail-nth", O_RDWR);
	uint64_t start = addr_of(map_pages(1, PROT_READ | PROT_EXEC));
	bool used;
	int ret;

	arm(fd, nth);
	ret = register_claim(start, start + PAGE);
	used = disarm(fd);
	if (ret && ret != -ENOMEM && ret != -EFAULT)
		return 2;
	if (unregister_text(start, start + PAGE) != (ret ? -ENOENT : 0))
		return 3;

	return used ? 1 : 0;
}

TEST_F(fault, change_of_a_shared_registry)
{
	unsigned int nth;
	int status;
	pid_t pid;

	ASSERT_EQ(0, register_claim(self->start, self->end));
	for (nth = 1; nth < 100; nth++) {
		pid = fork();
		ASSERT_LE(0, pid);
		if (!pid) {
			status = change_shared(nth);
			if (register_claim(self->start, self->end) != -EEXIST)
				status = 4;
			_exit(status);
		}
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		ASSERT_TRUE(WIFEXITED(status));
		ASSERT_GE(1, WEXITSTATUS(status));
		if (!WEXITSTATUS(status))
			break;
	}
	EXPECT_LT(nth, 100);
	EXPECT_EQ(0, unregister_text(self->start, self->end));
}

/* An unmapping that succeeds has dropped the text, whatever failed in it. */
TEST_F(fault, munmap)
{
	unsigned int nth;
	int ret;

	for (nth = 1; nth < 100; nth++) {
		uint8_t *text = map_pages(3, PROT_READ | PROT_EXEC);

		ASSERT_EQ(0, register_claim(addr_of(text), addr_of(text) + 3 * PAGE));
		arm(self->fd, nth);
		ret = munmap(text + PAGE, PAGE);
		if (!disarm(self->fd))
			nth = 100;
		EXPECT_EQ(ret ? -EEXIST : 0, register_claim(addr_of(text), addr_of(text) + PAGE));
		munmap(text, 3 * PAGE);
	}
	EXPECT_EQ(0, ret);
}

/* Opens and reads the file, or asks for all there is to say; 0 or an error. */
static int read_lines(uint64_t start)
{
	int fd = proc_open(0), err = 0;
	static char all[1 << 16];
	size_t used = 0;
	ssize_t n = 0;

	if (fd < 0)
		return fd;
	while ((n = read(fd, all + used, sizeof(all) - 1 - used)) > 0)
		used += n;
	err = n < 0 ? -errno : 0;
	all[used] = '\0';
	close(fd);
	/* What was read before an error is right. */
	return proc_check(all) < 0 ? -EILSEQ : err;
}

static int ask(uint64_t start)
{
	int fd = proc_open(0), err;
	struct proc_line l;

	if (fd < 0)
		return fd;
	err = code_query_all(fd, start, &l);
	close(fd);
	return err;
}

/* The file is written to each time, so that it needs a new id. */
static void fail_reader(struct __test_metadata *_metadata,
			FIXTURE_DATA(fault) * self, int (*reader)(uint64_t))
{
	int fd = memfd_create("code", MFD_CLOEXEC), ret;
	unsigned int nth, nomem = 0, fault = 0;
	struct proc_line l;
	uint64_t start;

	ASSERT_EQ(0, elf_write(fd, 1));
	start = addr_of(elf_map(fd));
	ASSERT_NE(0, start);
	for (nth = 1; nth < 1000; nth++) {
		ASSERT_EQ(0, elf_write(fd, nth % 250));
		arm(self->fd, nth);
		ret = reader(start);
		if (!disarm(self->fd))
			break;
		ASSERT_TRUE(!ret || ret == -ENOMEM || ret == -EFAULT)
			TH_LOG("error %d", ret);
		nomem += ret == -ENOMEM;
		fault += ret == -EFAULT;
		ASSERT_EQ(0, ask(start));
		ASSERT_TRUE(proc_line_of(start, &l));
		EXPECT_EQ(20, l.q.build_id_size);
		EXPECT_EQ(nth % 250, l.build_id[1]);
	}
	EXPECT_EQ(0, ret);
	TH_LOG("%u times, %u without memory, %u without access", nth, nomem, fault);
	EXPECT_LE(3, nomem);
	EXPECT_LE(1, fault);
	munmap((void *)start, PAGE);
	close(fd);
}

TEST_F(fault, read_lines)
{
	fail_reader(_metadata, self, read_lines);
}

TEST_F(fault, ask)
{
	fail_reader(_metadata, self, ask);
}

TEST_HARNESS_MAIN

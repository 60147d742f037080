// SPDX-License-Identifier: GPL-2.0
/*
 * Registrations are charged to the memory cgroup of whoever makes them: so many that
 * they exceed what such a group has in advance.
 */
#include <signal.h>
#include <sys/wait.h>

#include "memory.h"
#include "kselftest_harness.h"

/* Thousands of calls. */
#undef TEST_TIMEOUT_DEFAULT
#define TEST_TIMEOUT_DEFAULT 900

#define GROUP "codectl_charge_test"

#define PAGES 4

FIXTURE(charge)
{
	uint64_t text;
};

FIXTURE_SETUP(charge)
{
	REQUIRE_CODECTL();
	ASSERT_TRUE(memory_group_enter(GROUP));
	/* Its pages are never touched. */
	self->text = addr_of(map_pages(PAGES, PROT_READ | PROT_EXEC));
	ASSERT_NE(0, self->text);
}

FIXTURE_TEARDOWN(charge)
{
	memory_group_leave(GROUP);
}

/* @least bytes for each of @nr: part of the charge was there in advance. */
static void charge_all(struct __test_metadata *_metadata,
		       FIXTURE_DATA(charge) * self, unsigned int nr, long least)
{
	struct code_elf_info info = {
		.elf_start = self->text,
		.elf_end = self->text + PAGES * PAGE,
	};
	long before = memory_group_bytes(GROUP, NULL);

	ASSERT_LT(0, before);
	for (unsigned int i = 0; i < nr; i++) {
		info.text_start = self->text + i;
		info.text_end = info.text_start + 1;
		ASSERT_EQ(0, register_elf(&info));
	}
	TH_LOG("%ld bytes, then %ld", before, memory_group_bytes(GROUP, NULL));
	EXPECT_LE(nr * least, memory_group_bytes(GROUP, NULL) - before);
}

TEST_F(charge, registrations)
{
	charge_all(_metadata, self, 16000, 80);
}

/* The maximum of an address space, in several of them. */
#define CHILDREN 16
#define CLAIMS 60

static void register_claims(uint64_t text, const int *go, const int *done)
{
	static char path[PAGE];
	struct code_elf_info info = {
		.elf_start = text,
		.elf_end = text + PAGES * PAGE,
		.pathname = addr_of(path),
	};
	char c;

	memset(path, 'p', 4000);
	if (write(done[1], "", 1) != 1 || read(go[0], &c, 1) != 1)
		_exit(1);
	for (unsigned int i = 0; i < CLAIMS; i++) {
		info.text_start = text + i;
		info.text_end = info.text_start + 1;
		if (register_elf(&info))
			_exit(1);
	}
	if (write(done[1], "", 1) != 1)
		_exit(1);
	pause();
}

static bool wait_for_all(int fd)
{
	char c;

	for (unsigned int i = 0; i < CHILDREN; i++)
		if (read(fd, &c, 1) != 1)
			return false;
	return true;
}

TEST_F(charge, claims)
{
	static const char all[CHILDREN];
	pid_t pid[CHILDREN];
	int go[2], done[2];
	long before;

	ASSERT_EQ(0, pipe(go));
	ASSERT_EQ(0, pipe(done));
	for (unsigned int i = 0; i < CHILDREN; i++) {
		pid[i] = fork();
		ASSERT_LE(0, pid[i]);
		if (!pid[i])
			register_claims(self->text, go, done);
	}
	close(done[1]);
	ASSERT_TRUE(wait_for_all(done[0]));
	before = memory_group_bytes(GROUP, NULL);
	ASSERT_EQ(CHILDREN, write(go[1], all, CHILDREN));
	EXPECT_TRUE(wait_for_all(done[0]));
	TH_LOG("%ld bytes, then %ld", before, memory_group_bytes(GROUP, NULL));
	EXPECT_LE(CHILDREN * CLAIMS * 3000L, memory_group_bytes(GROUP, NULL) - before);
	for (unsigned int i = 0; i < CHILDREN; i++) {
		kill(pid[i], SIGKILL);
		ASSERT_EQ(pid[i], waitpid(pid[i], NULL, 0));
	}
}

TEST_HARNESS_MAIN

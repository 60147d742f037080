// SPDX-License-Identifier: GPL-2.0
/*
 * Every allocation and every user copy of fork() is made to fail, one at a time:
 * what is registered is all there, in the parent, and in the child if there is one.
 */
#include <sys/wait.h>

#include "fault.h"
#include "jit_table.h"
#include "kselftest_harness.h"
#include "proc_file.h"

#define NR_TEXTS 24

FIXTURE(fault)
{
	uint8_t *mem;
	int fd;
};

/* Enough for a tree of several nodes; one of them is not for children. */
FIXTURE_SETUP(fault)
{
	REQUIRE_CODECTL();
	self->fd = fault_open();
	ASSERT_LE(0, self->fd);
	self->mem = map_pages(NR_TEXTS, PROT_READ | PROT_EXEC);
	ASSERT_NE(NULL, self->mem);
	for (int i = 0; i < NR_TEXTS; i++) {
		uint64_t at = addr_of(self->mem) + i * PAGE;

		ASSERT_EQ(0, i % 2 ? register_elf_text(at, at + PAGE) :
				     register_jit_text(at, at + PAGE));
	}
}

FIXTURE_TEARDOWN(fault)
{
	munmap(self->mem, NR_TEXTS * PAGE);
	close(self->fd);
}

/* All lines of /proc/self/codectl without what is not there in a child. */
static char *lines(const uint8_t *without)
{
	int fd = proc_open(0);
	char *all = fd < 0 ? NULL : proc_read(fd, NULL), *line, *end;

	close(fd);
	line = all;
	while (line && *line) {
		end = strchr(line, '\n') + 1;
		if (without && strtoull(line, NULL, 16) == addr_of(without))
			memmove(line, end, strlen(end) + 1);
		else
			line = end;
	}
	return all;
}

static bool are_same(char *want, char *got)
{
	bool same = want && got && !strcmp(want, got);

	free(got);
	return same;
}

/*
 * The child shares the registry of its parent first, and has a copy of its own
 * once a text is left out.
 */
TEST_F(fault, fork)
{
	uint8_t *without = self->mem + NR_TEXTS / 2 * PAGE;
	char *before = lines(NULL), *inherited = lines(without);
	unsigned int nth, failed = 0;
	bool used = true;
	int status, err;
	pid_t pid;

	ASSERT_EQ(0, madvise(without, PAGE, MADV_DONTFORK));
	for (nth = 1; used && nth < 2000; nth++) {
		arm(self->fd, nth);
		pid = fork();
		err = errno;
		if (!pid)
			_exit(!are_same(inherited, lines(NULL)));
		used = disarm(self->fd);
		ASSERT_TRUE(are_same(before, lines(NULL)));
		if (pid < 0) {
			failed++;
			ASSERT_EQ(ENOMEM, err);
			continue;
		}
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		ASSERT_EQ(0, status);
	}
	TH_LOG("%u times, %u without a child", nth, failed);
	EXPECT_FALSE(used);
	EXPECT_LT(10, failed);
	free(before);
	free(inherited);
}

TEST_HARNESS_MAIN

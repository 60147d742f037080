// SPDX-License-Identifier: GPL-2.0
/*
 * What registrations take is charged to the memory cgroup of who makes them; with
 * claims, so that it is more than such a group has in advance.
 */
#include <fcntl.h>
#include <sys/stat.h>

#include "codectl_test.h"
#include "kselftest_harness.h"

#define CGROUP "/sys/fs/cgroup"
#define GROUP CGROUP "/codectl_charge_test"

#define NR 1000
#define EACH 16
#define PAGES 4
#define PATH_LEN 4000
/* A part of what is charged first was there in advance. */
#define LEAST 3000

static int put(const char *file, const char *text)
{
	int fd = open(file, O_WRONLY);
	bool ok = fd >= 0 && write(fd, text, strlen(text)) > 0;

	if (fd >= 0)
		close(fd);

	return ok ? 0 : -1;
}

static long charged(void)
{
	FILE *f = fopen(GROUP "/memory.current", "r");
	long bytes = -1;

	if (f) {
		if (fscanf(f, "%ld", &bytes) != 1)
			bytes = -1;
		fclose(f);
	}

	return bytes;
}

FIXTURE(charge)
{
	uint64_t text;
};

FIXTURE_SETUP(charge)
{
	REQUIRE_CODECTL();
	ASSERT_EQ(0, put(CGROUP "/cgroup.subtree_control", "+memory"));
	ASSERT_TRUE(!mkdir(GROUP, 0755) || errno == EEXIST);
	ASSERT_EQ(0, put(GROUP "/cgroup.procs", "0"));
	/* Its pages are never touched. */
	self->text = addr_of(map_pages(PAGES, PROT_READ | PROT_EXEC));
	ASSERT_NE(0, self->text);
}

FIXTURE_TEARDOWN(charge)
{
	put(CGROUP "/cgroup.procs", "0");
	rmdir(GROUP);
}

TEST_F(charge, registrations)
{
	struct code_elf_info info = { .elf_start = self->text };
	static char path[PAGE];
	long before = charged();

	memset(path, 'p', PATH_LEN);
	info.elf_end = self->text + PAGES * PAGE;
	info.pathname = addr_of(path);
	ASSERT_LT(0, before);
	for (unsigned int i = 0; i < NR; i++) {
		info.text_start = self->text + i * EACH;
		info.text_end = info.text_start + EACH;
		ASSERT_EQ(0, register_elf(&info));
	}
	TH_LOG("%ld bytes, then %ld", before, charged());
	EXPECT_LE(NR * LEAST, charged() - before);
}

TEST_HARNESS_MAIN

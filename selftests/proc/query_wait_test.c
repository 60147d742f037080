// SPDX-License-Identifier: GPL-2.0
/* CODE_QUERY_WAIT: build-ids of files of other processes that are not in memory. */
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

#include "fuse_file.h"
#include "kselftest_harness.h"
#include "query_names.h"

#define NAME "/tmp/query_wait"

static uint8_t contents[2 * PAGE];

FIXTURE(wait)
{
	struct fuse_file fuse;
	pid_t pid;		/* of whom it is mapped and registered in */
	uint64_t text;
	int proc;
};

FIXTURE_VARIANT(wait)
{
	size_t silent_from;
};

FIXTURE_VARIANT_ADD(wait, answers) { .silent_from = sizeof(contents) };
FIXTURE_VARIANT_ADD(wait, never_answers) { .silent_from = 0 };

static void map_and_stay(const char *path, int to)
{
	uint8_t *text = elf_map_path(path);

	if (!text || write(to, &text, sizeof(text)) != sizeof(text))
		_exit(1);
	for (;;)
		pause();
}

FIXTURE_SETUP(wait)
{
	int fd, fds[2];

	REQUIRE_CODECTL();
	fd = elf_create(NAME, 1);
	ASSERT_LT(0, pread(fd, contents, sizeof(contents), 0));
	close(fd);
	unlink(NAME);
	ASSERT_EQ(0, fuse_file_serve(&self->fuse, contents, sizeof(contents),
				     variant->silent_from));
	ASSERT_EQ(0, pipe2(fds, O_CLOEXEC));
	self->pid = fork();
	if (!self->pid)
		map_and_stay(self->fuse.path, fds[1]);
	ASSERT_LT(0, self->pid);
	ASSERT_EQ(sizeof(self->text), read(fds[0], &self->text, sizeof(self->text)));
	self->proc = proc_open(self->pid);
	ASSERT_LE(0, self->proc);
}

FIXTURE_TEARDOWN(wait)
{
	kill(self->pid, SIGKILL);
	EXPECT_EQ(self->pid, waitpid(self->pid, NULL, 0));
	close(self->proc);
	fuse_file_stop(&self->fuse);
}

/* Bytes of the build-id, or a negative errno. */
static int query(const FIXTURE_DATA(wait) * self, uint64_t flags,
		 struct proc_line *l)
{
	int err;

	memset(l, 0, sizeof(*l));
	l->q = (struct code_query) {
		.size = sizeof(l->q),
		.query_addr = self->text,
		.query_flags = flags,
		.build_id_addr = addr_of(l->build_id),
		.build_id_size = sizeof(l->build_id),
	};
	err = code_query(self->proc, &l->q);
	return err ?: l->q.build_id_size;
}

TEST_F(wait, does_not_without)
{
	static struct proc_line l;

	for (int i = 0; i < 3; i++)
		EXPECT_EQ(0, query(self, CODE_QUERY_FILE, &l));
	EXPECT_EQ(CODE_NAMES_VERIFIED, l.q.names);
}

/*
 * With an answer there is one; without, a task that waits for a page that is read ahead
 * can be killed.
 */
TEST_F(wait, until_it_is_read_or_killed)
{
	static struct proc_line l;
	int status;
	pid_t pid;

	if (variant->silent_from) {
		ASSERT_EQ(20, query(self, CODE_QUERY_WAIT, &l));
		EXPECT_TRUE(has_build_id(&l, 1));
		return;
	}
	pid = fork();
	if (!pid)
		_exit(query(self, CODE_QUERY_WAIT, &l) != 0);
	ASSERT_LT(0, pid);
	EXPECT_TRUE(waits_in(pid, SYS_ioctl));
	EXPECT_EQ(0, kill(pid, SIGKILL));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_TRUE(WIFSIGNALED(status));
	EXPECT_EQ(0, query(self, CODE_QUERY_FILE, &l));
}

TEST_HARNESS_MAIN

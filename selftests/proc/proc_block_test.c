// SPDX-License-Identifier: GPL-2.0
/*
 * Text of a file that never answers: a process that asks about its own text waits, and
 * can be killed; others do not wait, whoever asks.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

#include "fuse_file.h"
#include "kselftest_harness.h"
#include "proc_file.h"

/* Text of the file, followed by text without a file. */
FIXTURE(block)
{
	struct fuse_file file;
	uint64_t text;
	uint64_t anon;
	pid_t target;
	int to[2];
	int from[2];
	int fd;
};

/* Says which thread it is, and then waits. */
static void *read_own(void *self)
{
	FIXTURE_DATA(block) *block = self;
	pid_t tid = gettid();

	write(block->from[1], &tid, sizeof(tid));
	proc_read(proc_open(0), NULL);
	_exit(3);
}

static void *ask_own(void *self)
{
	FIXTURE_DATA(block) *block = self;
	pid_t tid = gettid();
	struct proc_line l;

	write(block->from[1], &tid, sizeof(tid));
	code_query_all(proc_open(0), block->text, &l);
	_exit(4);
}

/* What needs the lock of the address space, for writing. */
static bool change_mappings(uint64_t at)
{
	return !register_elf_text(at + PAGE, at + 2 * PAGE) &&
	       !unregister_text(at + PAGE, at + 2 * PAGE) &&
	       !munmap(map_pages(3, PROT_READ), 3 * PAGE);
}

static void be_target(FIXTURE_DATA(block) * self)
{
	pthread_t thread;
	uint64_t at[2];
	char c;

	at[0] = addr_of(elf_map_path(self->file.path));
	at[1] = addr_of(map_pages(2, PROT_READ | PROT_EXEC));
	if (!at[0] || register_elf_text(at[1], at[1] + PAGE))
		_exit(1);
	self->text = at[0];
	write(self->from[1], at, sizeof(at));
	while (read(self->to[0], &c, 1) == 1) {
		if (c == 'r') {
			pthread_create(&thread, NULL, read_own, self);
		} else if (c == 'a') {
			pthread_create(&thread, NULL, ask_own, self);
		} else {
			if (!change_mappings(at[1]))
				_exit(2);
			write(self->from[1], &c, 1);
		}
	}
	_exit(0);
}

FIXTURE_SETUP(block)
{
	static uint8_t contents[2 * PAGE];
	uint64_t at[2];

	REQUIRE_CODECTL();
	ASSERT_EQ(0, fuse_file_serve(&self->file, contents, sizeof(contents), 0));
	ASSERT_EQ(0, pipe(self->to));
	ASSERT_EQ(0, pipe(self->from));
	self->target = fork();
	if (!self->target)
		be_target(self);
	ASSERT_EQ(sizeof(at), read(self->from[0], at, sizeof(at)));
	self->text = at[0];
	self->anon = at[1];
	self->fd = proc_open(self->target);
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(block)
{
	kill(self->target, SIGKILL);
	waitpid(self->target, NULL, 0);
	fuse_file_stop(&self->file);
}

static bool target_works(FIXTURE_DATA(block) * self)
{
	char c = 'x';

	return write(self->to[1], &c, 1) == 1 &&
	       read(self->from[0], &c, 1) == 1;
}

static bool kill_and_wait(pid_t pid)
{
	int status;

	kill(pid, SIGKILL);
	return waitpid(pid, &status, 0) == pid && WIFSIGNALED(status);
}

static void check_nobody_else_waits(struct __test_metadata *_metadata,
				    FIXTURE_DATA(block) * self)
{
	struct code_query q = { .size = sizeof(q), .query_addr = self->text };
	struct proc_line l;
	char *all;

	EXPECT_TRUE(target_works(self));
	EXPECT_EQ(0, code_query(self->fd, &q));
	EXPECT_EQ(self->text, q.text_start);
	EXPECT_EQ(0, code_query_all(self->fd, self->text, &l));
	EXPECT_EQ(CODE_NAMES_VERIFIED, l.q.names);
	EXPECT_STREQ(self->file.path, l.path);
	EXPECT_EQ(0, l.q.build_id_size);
	lseek(self->fd, 0, SEEK_SET);
	all = proc_read(self->fd, NULL);
	EXPECT_TRUE(proc_find(all, self->text, &l));
	EXPECT_EQ(CODE_NAMES_VERIFIED, l.q.names);
	EXPECT_EQ(0, l.q.build_id_size);
	EXPECT_TRUE(proc_find(all, self->anon, &l));
	free(all);
	EXPECT_TRUE(target_works(self));
}

static void check_waiting(struct __test_metadata *_metadata,
			  FIXTURE_DATA(block) * self, char how, int nr)
{
	pid_t tid = 0;

	ASSERT_EQ(1, write(self->to[1], &how, 1));
	ASSERT_EQ(sizeof(tid), read(self->from[0], &tid, sizeof(tid)));
	ASSERT_TRUE(waits_in(tid, nr));
	check_nobody_else_waits(_metadata, self);
	EXPECT_TRUE(waits_in(tid, nr));
	EXPECT_TRUE(kill_and_wait(self->target));
}

TEST_F(block, others_do_not_wait)
{
	check_nobody_else_waits(_metadata, self);
}

TEST_F(block, reading_of_oneself_waits)
{
	check_waiting(_metadata, self, 'r', SYS_read);
}

TEST_F(block, asking_after_oneself_waits)
{
	check_waiting(_metadata, self, 'a', SYS_ioctl);
}

TEST_HARNESS_MAIN

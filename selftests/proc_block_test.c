// SPDX-License-Identifier: GPL-2.0
/*
 * Text of a file that never answers: who wants to know its name waits, can be
 * killed, and nobody else waits.
 */
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

#include "fuse_file.h"
#include "kselftest_harness.h"
#include "proc_file.h"

/* Text of the file, and text of no file behind it. */
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

/* Registers, and then changes mappings and registrations when it is told to. */
static void be_target(FIXTURE_DATA(block) * self)
{
	uint64_t at[2];
	char c;

	close(self->to[1]);
	at[0] = addr_of(elf_map_path(self->file.path));
	at[1] = addr_of(map_pages(2, PROT_READ | PROT_EXEC));
	if (!at[0] || register_elf_text(at[1], at[1] + PAGE))
		_exit(1);
	write(self->from[1], at, sizeof(at));
	while (read(self->to[0], &c, 1) == 1) {
		if (register_elf_text(at[1] + PAGE, at[1] + 2 * PAGE) ||
		    unregister_text(at[1] + PAGE, at[1] + 2 * PAGE) ||
		    munmap(map_pages(3, PROT_READ), 3 * PAGE))
			_exit(2);
		write(self->from[1], &c, 1);
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

/* Whether a task is in this system call, and stays in it for a while. */
static bool waits_in(pid_t pid, int nr)
{
	double end = now() + scaled_seconds(20);
	char path[64], line[64];
	int times = 0;

	snprintf(path, sizeof(path), "/proc/%d/syscall", pid);
	while (times < 50 && now() < end) {
		FILE *file = fopen(path, "re");

		if (!file || !fgets(line, sizeof(line), file))
			strcpy(line, "gone");
		if (file)
			fclose(file);
		times = strncmp(line, "running", 7) && atoi(line) == nr &&
			line[0] != 'g' ? times + 1 : 0;
		usleep(2000);
	}
	return times == 50 && !waitpid(pid, NULL, WNOHANG);
}

static bool kill_and_wait(pid_t pid)
{
	int status;

	kill(pid, SIGKILL);
	return waitpid(pid, &status, 0) == pid && WIFSIGNALED(status);
}

static pid_t start_reader(FIXTURE_DATA(block) * self)
{
	pid_t pid = fork();

	if (!pid) {
		proc_read(proc_open(self->target), NULL);
		_exit(0);
	}
	return pid;
}

static void check_nobody_else_waits(struct __test_metadata *_metadata,
				    FIXTURE_DATA(block) * self)
{
	struct code_query q = { .size = sizeof(q), .query_addr = self->text };
	struct proc_line l;

	EXPECT_TRUE(target_works(self));
	EXPECT_EQ(0, code_query(self->fd, &q));
	EXPECT_EQ(self->text, q.text_start);
	EXPECT_EQ(0, code_query_all(self->fd, self->anon, &l));
	EXPECT_TRUE(target_works(self));
}

TEST_F(block, reading_waits_alone)
{
	pid_t reader = start_reader(self);

	ASSERT_TRUE(waits_in(reader, SYS_read));
	check_nobody_else_waits(_metadata, self);
	EXPECT_TRUE(kill_and_wait(reader));
	check_nobody_else_waits(_metadata, self);
}

TEST_F(block, asking_waits_alone)
{
	struct proc_line l;
	pid_t asker = fork();

	if (!asker)
		_exit(code_query_all(self->fd, self->text, &l) ? 2 : 1);
	ASSERT_TRUE(waits_in(asker, SYS_ioctl));
	check_nobody_else_waits(_metadata, self);
	EXPECT_TRUE(kill_and_wait(asker));
	check_nobody_else_waits(_metadata, self);
}

TEST_F(block, two_readers_and_one_killed)
{
	pid_t reader[2] = { start_reader(self), start_reader(self) };

	for (int i = 0; i < 2; i++)
		ASSERT_TRUE(waits_in(reader[i], SYS_read));
	EXPECT_TRUE(kill_and_wait(reader[0]));
	EXPECT_TRUE(waits_in(reader[1], SYS_read));
	check_nobody_else_waits(_metadata, self);
	EXPECT_TRUE(kill_and_wait(reader[1]));
}

/* Nor does the process wait for them when it ends. */
TEST_F(block, ends_under_a_reader)
{
	pid_t reader = start_reader(self);

	ASSERT_TRUE(waits_in(reader, SYS_read));
	EXPECT_TRUE(kill_and_wait(self->target));
	EXPECT_TRUE(waits_in(reader, SYS_read));
	EXPECT_TRUE(kill_and_wait(reader));
}

TEST_HARNESS_MAIN

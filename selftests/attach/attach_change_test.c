// SPDX-License-Identifier: GPL-2.0
/* Files with attached tables that change: what a table survives, and who is told of its end. */
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <sys/stat.h>

#include "attach_fixture.h"
#include "tracefs.h"

/* The state in the descriptor's fdinfo. */
static bool state_is(int fd, const char *state)
{
	char path[64], text[512] = "", want[32];
	int info;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	info = open(path, O_RDONLY | O_CLOEXEC);
	if (read(info, text, sizeof(text) - 1) < 0)
		text[0] = 0;
	close(info);
	snprintf(want, sizeof(want), "state:\t%s\n", state);
	return strstr(text, want);
}

static bool write_behind(const char *path)
{
	int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
	bool done = write(fd, "", 1) == 1;

	close(fd);
	return done;
}

/* fsnotify(7) does not report this. */
static bool write_by_aio(const char *path)
{
	struct iocb cb = {
		.aio_lio_opcode = IOCB_CMD_PWRITE,
		.aio_fildes = open(path, O_WRONLY | O_CLOEXEC),
		.aio_buf = addr_of(""),
		.aio_nbytes = 1,
		.aio_offset = 15,
	}, *cbs = &cb;
	struct io_event event;
	aio_context_t ctx = 0;
	bool done;

	done = !syscall(SYS_io_setup, 1, &ctx) &&
	       syscall(SYS_io_submit, ctx, 1, &cbs) == 1 &&
	       syscall(SYS_io_getevents, ctx, 1, 1, &event, NULL) == 1 &&
	       event.res == 1;
	syscall(SYS_io_destroy, ctx);
	close(cb.aio_fildes);
	return done;
}

/*
 * Later writes are reported to nobody, and some file systems do not even report the
 * first.
 */
static bool map_for_writing(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	void *p = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0);
	bool done = p != MAP_FAILED;

	if (done)
		munmap(p, PAGE);
	close(fd);
	return done;
}

/* Like somebody who has written to it unnoticed, and hides it. */
static bool set_times(const char *path)
{
	struct stat st;

	return !stat(path, &st) &&
	       !utimensat(AT_FDCWD, path, (struct timespec[]){ st.st_atim, st.st_mtim }, 0);
}

static void expect_lost(struct __test_metadata *_metadata,
			FIXTURE_DATA(attach) * self,
			bool (*change)(const char *path))
{
	int fd = attach_file(&self->args.info);

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, unregister_object(self));
	EXPECT_TRUE(state_is(fd, "attached"));
	EXPECT_TRUE(walks_through(self));
	ASSERT_TRUE(change(self->path));
	EXPECT_TRUE(state_is(fd, "written"));
	EXPECT_FALSE(walks_through(self));
	close(fd);
}

TEST_F(attach, file_that_is_written_to)
{
	expect_lost(_metadata, self, write_behind);
}

TEST_F(attach, file_that_is_written_to_by_aio)
{
	expect_lost(_metadata, self, write_by_aio);
}

TEST_F(attach, file_that_is_mapped_for_writing_then)
{
	expect_lost(_metadata, self, map_for_writing);
}

TEST_F(attach, file_whose_times_are_set)
{
	expect_lost(_metadata, self, set_times);
}

/* This changes no byte of it. */
TEST_F(attach, file_whose_names_change)
{
	char other[80];
	int fd = attach_file(&self->args.info);

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, unregister_object(self));
	snprintf(other, sizeof(other), "%s.link", self->path);
	ASSERT_EQ(0, link(self->path, other));
	ASSERT_EQ(0, unlink(self->path));
	ASSERT_EQ(0, rename(other, self->path));
	EXPECT_TRUE(state_is(fd, "attached"));
	EXPECT_TRUE(walks_through(self));
	close(fd);
}

TEST_F(attach, file_that_is_replaced)
{
	char other[80];
	int fd = attach_file(&self->args.info);

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, unregister_object(self));
	snprintf(other, sizeof(other), "%s.new", self->path);
	ASSERT_EQ(0, copy_file(self->path, other));
	ASSERT_EQ(0, rename(other, self->path));
	EXPECT_TRUE(state_is(fd, "attached"));
	EXPECT_TRUE(walks_through(self));
	close(fd);
}

TEST_F(attach, trace_tells_of_it)
{
	struct trace_log log = { 0 };
	struct tracefs t;
	int fd;

	ASSERT_EQ(0, tracefs_open(&t, "codectl_test_attach"));
	ASSERT_EQ(0, tracefs_enable(&t, "codectl/code_attach"));
	ASSERT_EQ(0, tracefs_enable(&t, "codectl/code_detach"));
	fd = attach_file(&self->args.info);
	ASSERT_LE(0, fd);
	ASSERT_TRUE(write_behind(self->path));
	ASSERT_TRUE(write_behind(self->path));
	close(fd);
	fd = attach_file(&self->args.info);
	ASSERT_LE(0, fd);
	ASSERT_TRUE(map_for_writing(self->path));
	close(fd);
	ASSERT_EQ(0, trace_log_read(&log, &t));
	EXPECT_EQ(2, trace_count(&log, "code_attach: id=0x"));
	EXPECT_EQ(4, trace_count(&log, "code_detach: id=0x"));
	trace_log_free(&log);
	EXPECT_EQ(0, tracefs_close(&t));
}

TEST_HARNESS_MAIN

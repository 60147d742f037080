// SPDX-License-Identifier: GPL-2.0
/* /proc/PID/codectl: of which task it is, who may open it, and what it shows with codectl off. */
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "proc_fixture.h"

TEST_F(proc, of_a_task)
{
	char path[64], *all;
	struct stat st;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/codectl", getpid(),
		 gettid());
	fd = open(path, O_RDONLY);
	ASSERT_LE(0, fd);
	all = proc_read(fd, NULL);
	EXPECT_STREQ(self->all, all);
	ASSERT_EQ(0, fstat(fd, &st));
	EXPECT_EQ(S_IFREG | 0444, st.st_mode);
	ASSERT_EQ(0, fstat(self->fd, &st));
	EXPECT_EQ(S_IFREG | 0444, st.st_mode);
	free(all);
	close(fd);
}

TEST_F(proc, is_not_written)
{
	int fd = open("/proc/self/codectl", O_RDWR);

	if (fd >= 0)
		EXPECT_EQ(-1, write(fd, "0", 1));
	close(fd);
}

TEST_F(proc, of_a_kernel_thread)
{
	struct code_query q = { .size = sizeof(q) };
	int fd = proc_open(2);
	char c;

	ASSERT_LE(0, fd);
	EXPECT_EQ(0, read(fd, &c, 1));
	EXPECT_EQ(-ESRCH, code_query(fd, &q));
	close(fd);
}

/* A process with both files open from outside, held until a pipe is closed. */
struct held {
	pid_t pid;
	int hold;
	int codectl;
	int maps;
};

static int hold(struct held *h, void (*then)(void))
{
	char path[64], c;
	int fds[2];

	if (pipe2(fds, O_CLOEXEC))
		return -1;
	h->pid = fork();
	if (!h->pid) {
		close(fds[1]);
		while (read(fds[0], &c, 1) > 0)
			;
		then();
		_exit(0);
	}
	close(fds[0]);
	h->hold = fds[1];
	h->codectl = proc_open(h->pid);
	snprintf(path, sizeof(path), "/proc/%d/maps", h->pid);
	h->maps = open(path, O_RDONLY);
	return h->pid < 0 || h->codectl < 0 || h->maps < 0 ? -1 : 0;
}

static void drop(struct held *h)
{
	close(h->codectl);
	close(h->maps);
}

static void leave(void)
{
}

static int read_error(int fd)
{
	char buf[100];
	ssize_t n = pread(fd, buf, sizeof(buf), 0);

	return n < 0 ? -errno : n;
}

TEST_F(proc, of_a_process_that_has_exited)
{
	struct code_query q = { .size = sizeof(q), .query_addr = self->elf };
	struct held h;
	siginfo_t info;
	char c;

	ASSERT_EQ(0, hold(&h, leave));
	EXPECT_EQ(0, code_query(h.codectl, &q));
	EXPECT_EQ(1, read(h.codectl, &c, 1));
	close(h.hold);
	/* It is there, and has no memory any more; then it is not there. */
	ASSERT_EQ(0, waitid(P_PID, h.pid, &info, WEXITED | WNOWAIT));
	EXPECT_EQ(0, read_error(h.maps));
	EXPECT_EQ(0, read_error(h.codectl));
	EXPECT_EQ(-ESRCH, code_query(h.codectl, &q));
	ASSERT_EQ(h.pid, waitpid(h.pid, NULL, 0));
	EXPECT_EQ(-ESRCH, read_error(h.maps));
	EXPECT_EQ(-ESRCH, read_error(h.codectl));
	EXPECT_EQ(-ESRCH, code_query(h.codectl, &q));
	EXPECT_EQ(-ENOENT, proc_open(h.pid));
	drop(&h);
}

static void become_another(void)
{
	execl("/proc/self/exe", "proc_access_test", "--hold", NULL);
}

TEST_F(proc, of_a_process_that_execs)
{
	struct code_query q = { .size = sizeof(q), .query_addr = self->elf };
	int fds[2], fd, status;
	struct held h;
	char *all, c;

	/* Closed by the exec, and by the end of the process. */
	ASSERT_EQ(0, pipe2(fds, O_CLOEXEC));
	ASSERT_EQ(0, hold(&h, become_another));
	close(fds[1]);
	EXPECT_EQ(0, code_query(h.codectl, &q));
	EXPECT_EQ(1, read(h.codectl, &c, 1));
	close(h.hold);
	ASSERT_EQ(0, read(fds[0], &c, 1));
	EXPECT_EQ(0, read_error(h.maps));
	EXPECT_EQ(0, read_error(h.codectl));
	EXPECT_EQ(-ESRCH, code_query(h.codectl, &q));
	fd = proc_open(h.pid);
	ASSERT_LE(0, fd);
	all = proc_read(fd, NULL);
	EXPECT_LT(0, proc_check(all));
	EXPECT_EQ(NULL, strstr(all, "claimed"));
	EXPECT_EQ(-ENOENT, code_query(fd, &q));
	kill(h.pid, SIGKILL);
	ASSERT_EQ(h.pid, waitpid(h.pid, &status, 0));
	free(all);
	close(fd);
	drop(&h);
}

/* May it be opened by nobody? */
static int open_as_nobody(const char *name, pid_t pid)
{
	char path[64];
	int status;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	if (!fork()) {
		if (setgid(65534) || setuid(65534))
			_exit(99);
		_exit(open(path, O_RDONLY) < 0 ? errno : 0);
	}
	wait(&status);
	return WEXITSTATUS(status);
}

TEST_F(proc, is_for_who_may_trace)
{
	pid_t self_pid = getpid();

	EXPECT_EQ(EACCES, open_as_nobody("maps", self_pid));
	EXPECT_EQ(EACCES, open_as_nobody("codectl", self_pid));
	EXPECT_EQ(0, open_as_nobody("stat", self_pid));
}

/* Decided once, as for maps: a descriptor can be handed on. */
TEST_F(proc, permission_is_that_of_the_opener)
{
	struct code_query q = { .size = sizeof(q), .query_addr = self->elf };
	int status;

	if (!fork()) {
		char *all;

		if (setgid(65534) || setuid(65534))
			_exit(99);
		lseek(self->fd, 0, SEEK_SET);
		all = proc_read(self->fd, NULL);
		_exit(!all || strcmp(all, self->all) ||
		      code_query(self->fd, &q));
	}
	wait(&status);
	EXPECT_EQ(0, status);
}

FIXTURE(off)
{
};

FIXTURE_SETUP(off)
{
	REQUIRE_CODECTL();
}

FIXTURE_TEARDOWN_PARENT(off)
{
	sysctl_write("kernel/codectl", 1);
}

/* What was registered before stays visible. */
TEST_F(off, nothing_changes)
{
	int fd = proc_open(0);
	char *before, *after;

	before = proc_read(fd, NULL);
	ASSERT_EQ(0, sysctl_write("kernel/codectl", 0));
	lseek(fd, 0, SEEK_SET);
	after = proc_read(fd, NULL);
	ASSERT_EQ(0, sysctl_write("kernel/codectl", 1));
	EXPECT_LT(0, proc_check(before));
	EXPECT_STREQ(before, after);
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "--hold"))
		return pause();
	return test_harness_run(argc, argv);
}

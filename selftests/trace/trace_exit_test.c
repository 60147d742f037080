// SPDX-License-Identifier: GPL-2.0
/*
 * code_unregister at the end of an address space: reported for the process that had
 * it, and for nobody else.
 */
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/uio.h>

#include "fuse_file.h"
#include "trace_drop_fixture.h"

TEST_F(drop, exit)
{
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	ASSERT_EQ(0, exit_status(pid));
	EXPECT_DROP(pid, "exit");
}

TEST_F(drop, killed)
{
	struct trace_peer p;
	int status;

	if (!peer_fork(&p)) {
		peer_hear(p.to);
		_exit(1);
	}
	ASSERT_LT(0, p.pid);
	ASSERT_EQ(0, kill(p.pid, SIGKILL));
	ASSERT_EQ(p.pid, waitpid(p.pid, &status, 0));
	EXPECT_DROP(p.pid, "exit");
}

static void *exit_last(void *pipe_end)
{
	const int *to = pipe_end;

	peer_hear(to);
	return NULL;
}

/* The thread that was there first goes first. */
TEST_F(drop, exit_of_the_last_thread)
{
	struct trace_peer p;
	pthread_t thread;

	if (!peer_fork(&p)) {
		if (pthread_create(&thread, NULL, exit_last, p.to))
			_exit(1);
		syscall(SYS_exit, 0);
	}
	ASSERT_LT(0, p.pid);
	usleep(100000);
	EXPECT_NO_DROP();
	peer_say(p.to);
	ASSERT_EQ(0, exit_status(p.pid));
	EXPECT_DROP(p.pid, "exit");
}

static int exit_at_once(void *)
{
	return 0;
}

TEST_F(drop, sharer_that_exits_first)
{
	uint8_t *stack = map_pages(16, PROT_READ | PROT_WRITE);
	pid_t pid;

	ASSERT_NE(NULL, stack);
	pid = clone(exit_at_once, stack + 16 * PAGE, CLONE_VM | SIGCHLD, NULL);
	ASSERT_LT(0, pid);
	ASSERT_EQ(0, exit_status(pid));
	EXPECT_NO_DROP();
	EXPECT_EQ(0, unregister_text(TEXT, TEXT + PAGE));
	EXPECT_DROP(getpid(), "call");
}

static int wait_and_exit(void *arg)
{
	char c;

	return read(((int *)arg)[0], &c, 1) == 1 ? 0 : 1;
}

/* If two processes share it, the one that lives longer has it to the end. */
TEST_F(drop, sharer_that_exits_last)
{
	uint8_t *stack = map_pages(16, PROT_READ | PROT_WRITE);
	struct trace_peer p;
	pid_t sharer = -1;

	ASSERT_NE(NULL, stack);
	ASSERT_EQ(0, prctl(PR_SET_CHILD_SUBREAPER, 1));
	if (!peer_fork(&p)) {
		sharer = clone(wait_and_exit, stack + 16 * PAGE,
			       CLONE_VM | SIGCHLD, p.to);
		_exit(write(p.from[1], &sharer, sizeof(sharer)) !=
		      sizeof(sharer));
	}
	ASSERT_LT(0, p.pid);
	ASSERT_EQ(sizeof(sharer), read(p.from[0], &sharer, sizeof(sharer)));
	ASSERT_EQ(0, exit_status(p.pid));
	EXPECT_NO_DROP();
	peer_say(p.to);
	ASSERT_EQ(0, exit_status(sharer));
	EXPECT_DROP(sharer, "exit");
}

/* The descriptor that reports accesses to the page. */
static int watch(uint8_t *page)
{
	int fd = watch_page(page);

	if (fd < 0)
		_exit(1);
	return fd;
}

/* Reports when another process has reached the page, and waits. */
static void make_wait_for(const struct trace_peer *p, uint8_t *page)
{
	int fd = watch(page);
	struct uffd_msg msg;

	peer_say(p->from);
	if (read(fd, &msg, sizeof(msg)) != sizeof(msg))
		_exit(2);
	peer_say(p->from);
	pause();
	_exit(3);
}

static int read_page_of(pid_t pid, uint8_t *page)
{
	char c;
	struct iovec here = { &c, 1 }, there = { page, 1 };

	return process_vm_readv(pid, &here, 1, &there, 1, 0) == 1 ? 0 : 1;
}

/* The last task to look into an address space does not know whose it was. */
TEST_F(drop, not_of_one_that_looks_into_it)
{
	uint8_t *page = map_pages(1, PROT_READ | PROT_WRITE);
	struct trace_peer p;
	pid_t reader;
	int status;

	ASSERT_NE(NULL, page);
	ASSERT_EQ(0, madvise(page, PAGE, MADV_DONTNEED));
	if (!peer_fork(&p))
		make_wait_for(&p, page);
	ASSERT_LT(0, p.pid);
	ASSERT_TRUE(peer_hear(p.from));
	reader = fork();
	if (!reader)
		_exit(read_page_of(p.pid, page));
	ASSERT_LT(0, reader);
	ASSERT_TRUE(peer_hear(p.from));
	ASSERT_EQ(0, kill(p.pid, SIGKILL));
	ASSERT_EQ(p.pid, waitpid(p.pid, &status, 0));
	ASSERT_EQ(0, exit_status(reader));
	EXPECT_DROP(reader, "exit");
}

/* What one process has: a page of a file that never answers, and its text. */
struct watched {
	uint8_t *silent;
	uint8_t *page;
	uint64_t text;
	pid_t pid;
	int mem;
	pid_t reader;
};

/* The watched process, whose descriptors are those of the monitor. */
static void be_watched(const struct trace_peer *p, const struct watched *w)
{
	pid_t pid = getpid();

	watch(w->page);
	if (register_elf_text(w->text, w->text + PAGE) ||
	    write(p->from[1], &pid, sizeof(pid)) != sizeof(pid))
		_exit(1);
	pause();
	_exit(2);
}

/* Outlives it, and lets go of the descriptor when it exits. */
static void monitor(const struct trace_peer *p, const struct watched *w)
{
	pid_t pid = syscall(__NR_clone, CLONE_FILES | SIGCHLD, 0, 0, 0, 0);

	if (!pid)
		be_watched(p, w);
	if (!peer_hear(p->to) || kill(pid, SIGKILL) ||
	    waitpid(pid, NULL, 0) != pid || run_on_first_cpu(SCHED_IDLE))
		_exit(3);
	_exit(0);
}

/* Holds the lock of the address space for reading as long as the file is silent. */
static void *read_silent(void *watched)
{
	struct watched *w = watched;
	char c;

	w->reader = gettid();
	if (run_on_first_cpu(SCHED_OTHER))
		return NULL;
	return pread(w->mem, &c, 1, addr_of(w->silent)) < 0 ? w : NULL;
}

/*
 * A monitor of page faults that exits has a reference to the address space while
 * it waits for its lock, and has the last one when everybody else is gone.
 */
TEST_F(trace, not_of_a_monitor_that_exits)
{
	static const uint8_t contents[PAGE];
	struct trace_unregister u;
	struct trace_register r;
	struct fuse_file file;
	struct watched w = { 0 };
	struct trace_peer p;
	pthread_t thread;
	char path[32];
	void *failed;
	int fd;

	ASSERT_EQ(0, fuse_file_serve(&file, contents, PAGE, 0));
	fd = open(file.path, O_RDONLY | O_CLOEXEC);
	w.silent = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fd, 0);
	ASSERT_NE(MAP_FAILED, w.silent);
	close(fd);
	w.page = map_pages(1, PROT_READ | PROT_WRITE);
	w.text = addr_of(map_pages(1, PROT_READ | PROT_EXEC));
	ENABLE();
	if (!peer_fork(&p))
		monitor(&p, &w);
	ASSERT_EQ(sizeof(w.pid), read(p.from[0], &w.pid, sizeof(w.pid)));
	snprintf(path, sizeof(path), "/proc/%d/mem", w.pid);
	w.mem = open(path, O_RDONLY | O_CLOEXEC);
	ASSERT_EQ(0, pthread_create(&thread, NULL, read_silent, &w));
	ASSERT_TRUE(wait_until_blocked(&w.reader));
	peer_say(p.to);
	ASSERT_TRUE(wait_until_blocked(&p.pid));
	fuse_file_stop(&file);
	ASSERT_EQ(0, pthread_join(thread, &failed));
	EXPECT_EQ(&w, failed);
	EXPECT_EQ(0, exit_status(p.pid));
	READ_LOG();
	ASSERT_NE(NULL, trace_find_register(&self->log, NULL, w.pid, w.text, &r));
	EXPECT_EQ(NULL, trace_find_unregister(&self->log, p.pid, w.text, &u));
	EXPECT_EQ(NULL, trace_find_unregister(&self->log, w.pid, w.text, &u));
}

TEST_HARNESS_MAIN

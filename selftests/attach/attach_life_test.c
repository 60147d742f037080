// SPDX-License-Identifier: GPL-2.0
/*
 * Whom an attached table serves: processes that existed before, containers that have
 * the file by overlayfs, processes whose mappings change meanwhile, and many
 * short-lived ones.
 */
#include <pthread.h>
#include <sched.h>
#include <spawn.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/wait.h>

#include "attach_fixture.h"
#include "memory.h"

/* Programs with only the registrations that execve(2) makes. */
#define NO_REGISTRATIONS "GLIBC_TUNABLES=glibc.rtld.codectl=0"

/* A child does not have the rings of its parent. */
static bool child_walks_through(FIXTURE_DATA(attach) * self)
{
	bool whole;

	if (sampler_open_syscall(&self->sampler, MARKER_NR))
		return false;
	whole = walks_through(self);
	sampler_close(&self->sampler);
	return whole;
}

static bool ends_well(pid_t pid)
{
	int status;

	return pid > 0 && waitpid(pid, &status, 0) == pid && !status;
}

TEST_F(attach, process_that_was_there_before)
{
	int fds[2], fd;
	pid_t pid;
	char c;

	ASSERT_EQ(0, unregister_object(self));
	ASSERT_EQ(0, pipe2(fds, O_CLOEXEC));
	pid = fork();
	if (!pid)
		_exit(child_walks_through(self) || read(fds[0], &c, 1) != 1 ||
		      !child_walks_through(self) || read(fds[0], &c, 1) != 1 ||
		      child_walks_through(self));
	/* It has looked for a table before there is one. */
	while (!waits_in(pid, SYS_read))
		ASSERT_EQ(0, waitpid(pid, NULL, WNOHANG));
	fd = attach_file(&self->args.info);
	ASSERT_LE(0, fd);
	ASSERT_EQ(1, write(fds[1], "", 1));
	while (!waits_in(pid, SYS_read))
		ASSERT_EQ(0, waitpid(pid, NULL, WNOHANG));
	close(fd);
	ASSERT_EQ(1, write(fds[1], "", 1));
	EXPECT_TRUE(ends_well(pid));
}

/* ------------------------------------------------------------ containers */

/* Its own root, process ids and mounts; its object is overlayfs's. */
static bool be_in_container(FIXTURE_DATA(attach) * self, const char *lower)
{
	char options[256], path[128], root[64];

	snprintf(root, sizeof(root), "%s.root", lower);
	snprintf(options, sizeof(options),
		 "lowerdir=%s,upperdir=%s/upper,workdir=%s/work", lower, root, root);
	if (getpid() != 1 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mkdir(root, 0755) || mount("tmpfs", root, "tmpfs", 0, NULL))
		return false;
	for (int i = 0; i < 3; i++) {
		static const char *const names[] = { "upper", "work", "all" };

		snprintf(path, sizeof(path), "%s/%s", root, names[i]);
		if (mkdir(path, 0755))
			return false;
	}
	if (mount("overlay", path, "overlay", 0, options))
		return false;
	strcat(path, "/object.so");
	return load_object(self, path) && !unregister_object(self) &&
	       child_walks_through(self) &&
	       /* It is the same file. */
	       attach_file(&self->args.info) == -EEXIST;
}

static bool container_walks(FIXTURE_DATA(attach) * self, const char *lower)
{
	pid_t pid = fork();

	if (!pid) {
		if (unshare(CLONE_NEWNS | CLONE_NEWPID))
			_exit(1);
		pid = fork();
		if (!pid)
			_exit(!be_in_container(self, lower));
		_exit(!ends_well(pid));
	}
	return ends_well(pid);
}

TEST_F(attach, container)
{
	char lower[32], root[64], path[64];
	int fd;

	snprintf(lower, sizeof(lower), "/tmp/attach_%d", getpid());
	snprintf(root, sizeof(root), "%s.root", lower);
	snprintf(path, sizeof(path), "%s/object.so", lower);
	ASSERT_EQ(0, mkdir(lower, 0755));
	ASSERT_EQ(0, copy_file("attach_object.so", path));
	EXPECT_FALSE(container_walks(self, lower));
	rmdir(root);
	close(self->args.info.fd);
	self->args.info.fd = open(path, O_RDONLY | O_CLOEXEC);
	fd = attach_file(&self->args.info);
	ASSERT_LE(0, fd);
	EXPECT_TRUE(container_walks(self, lower));
	close(fd);
	rmdir(root);
	unlink(path);
	rmdir(lower);
}

/* ------------------------------------------------------------ mappings that change */

/* A page of the object's text that is not the one of attach_call(). */
static struct {
	uint8_t *page;
	volatile bool stop;
	volatile unsigned long nr;
} change;

/* Splits the mapping of that text, and merges it again. */
static void *change_mapping(void *arg)
{
	for (; !change.stop; change.nr++) {
		mprotect(change.page, PAGE, PROT_READ);
		mprotect(change.page, PAGE, PROT_READ | PROT_EXEC);
	}
	return arg;
}

/* A walk that meets a change waits until it is done. */
TEST_F(attach, mapping_that_changes)
{
	unsigned int rounds = is_slow() ? 1000 : 10000, whole = 0, i;
	pthread_t thread;
	int fd;

	change.page = (uint8_t *)(addr_of(self->call) & -PAGE) - PAGE;
	change.stop = false;
	ASSERT_EQ(0, unregister_object(self));
	fd = attach_file(&self->args.info);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, run_on_first_cpu(SCHED_OTHER));
	ASSERT_EQ(0, pthread_create(&thread, NULL, change_mapping, NULL));
	/* When its timer expires, this thread runs in the middle of a change. */
	ASSERT_EQ(0, run_on_first_cpu(SCHED_FIFO));
	/* Others may leave hardly any time on this CPU between two walks. */
	for (i = 0; whole == i && (i < rounds || change.nr < 10); i++) {
		usleep(is_slow() ? 500 : 50);
		whole += walks_through(self);
	}
	ASSERT_EQ(0, run_on_first_cpu(SCHED_OTHER));
	change.stop = true;
	ASSERT_EQ(0, pthread_join(thread, NULL));
	EXPECT_EQ(i, whole);
	close(fd);
}

/* ------------------------------------------------------------ short lives */

/* The short-lived process, and what the first one reports about itself. */
static int be_short(const char *to)
{
	int fd;

	truth_capture(marker());
	if (!*to)
		return 0;
	fd = open(to, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	return write(fd, &truth, sizeof(truth)) != sizeof(truth);
}

static bool run_short(const char *to)
{
	char *argv[] = { "attach_life_test", "--short", (char *)to, NULL };
	char *env[] = { NO_REGISTRATIONS, NULL };
	pid_t pid;

	return !posix_spawn(&pid, "/proc/self/exe", NULL, NULL, argv, env) &&
	       ends_well(pid);
}

static bool read_truth(const char *from)
{
	int fd = open(from, O_RDONLY | O_CLOEXEC);
	bool good = read(fd, &truth, sizeof(truth)) == sizeof(truth);

	close(fd);
	unlink(from);
	return good;
}

/* How many of @nr have the stack that all should have. */
static unsigned long count_true(FIXTURE_DATA(attach) * self, unsigned long nr)
{
	unsigned long found = 0;

	while (nr-- && run_short(""))
		while (sampler_next(&self->sampler, &self->stack))
			found += stack_is_true(&self->stack, &truth);
	return found;
}

TEST_F(attach, many_short_processes)
{
	const char *cycles = getenv("TEST_CYCLES");
	unsigned long nr = cycles ? strtoul(cycles, NULL, 0) :
			   is_slow() ? 100 : 1000;
	struct memory before;

	ASSERT_LE(0, personality(ADDR_NO_RANDOMIZE));
	ASSERT_TRUE(run_short(self->path));
	ASSERT_TRUE(read_truth(self->path));
	sampler_drain(&self->sampler);
	EXPECT_EQ(0, count_true(self, 10));
	ASSERT_TRUE(memory_now(&before));
	ASSERT_LE(2, attach_loaded());
	EXPECT_EQ(nr, count_true(self, nr));
	EXPECT_EQ(0, self->sampler.lost);
	ASSERT_EQ(0, close_range(3, ~0U, 0));
	EXPECT_TRUE(memory_is_back(&before));
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "--short"))
		return be_short(argv[2]);
	return test_harness_run(argc, argv);
}

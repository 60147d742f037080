// SPDX-License-Identifier: GPL-2.0
/*
 * Makes every allocation and every user copy of fork() and execve() fail, one at a
 * time: all registrations are there, in the parent, in the child if there is one, and
 * in the old program if there is no new one.
 */
#include <sys/wait.h>

#include "fault.h"
#include "jit_table.h"
#include "kselftest_harness.h"
#include "proc_file.h"

#define NR_TEXTS 24
#define NOT_STARTED 127

FIXTURE(fault)
{
	uint8_t *mem;
	int fd;
};

/* Enough for a tree of several nodes; one of them is kept from children. */
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

/* All lines of /proc/self/codectl except what a child does not have. */
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
 * The child first shares the registry of its parent, and has its own copy once a text
 * is dropped.
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

/* ------------------------------------------------------------------------ execve */

/* What the new program found, or the old one after a failure. */
enum result { ALL_THERE = 10, SOME_THERE, OLD_INTACT, WRONG, NO_FAULT = 64 };

/* Without ld.so's help: the program and its interpreter, from the kernel. */
static int new_program(void)
{
	int fd = open("/proc/thread-self/fail-nth", O_RDWR);
	bool used = disarm(fd);
	char *all = lines(NULL);
	int nr = all ? proc_check(all) : -1;
	int result;

	if (nr < 0 || nr > 2)
		result = WRONG;
	else
		result = nr == 2 ? ALL_THERE : SOME_THERE;
	return used ? result : result | NO_FAULT;
}

static int exec_with_fault(unsigned int nth)
{
	char *const argv[] = { "fault_process_test", "--new", NULL };
	char *const env[] = { "GLIBC_TUNABLES=glibc.rtld.codectl=0", NULL };
	char *before = lines(NULL), path[PATH_MAX] = "";
	int fd = fault_open();

	/* /proc/self/exe itself would fail in ways of its own. */
	if (readlink("/proc/self/exe", path, sizeof(path) - 1) < 0)
		return WRONG;
	arm(fd, nth);
	execve(path, argv, env);
	/*
	 * The documented errors: E2BIG also if there is no page for a string, ENOEXEC
	 * and ELIBBAD if there is no memory for the headers of program and interpreter.
	 */
	if (errno != ENOMEM && errno != EFAULT && errno != E2BIG &&
	    errno != ENOEXEC && errno != ELIBBAD) {
		printf("# fault %u of execve: errno %d\n", nth, errno);
		fflush(stdout);
		return WRONG;
	}
	disarm(fd);
	return are_same(before, lines(NULL)) ? OLD_INTACT : WRONG;
}

/*
 * Past the point of no return the process is killed.  The first fault that stops ld.so
 * comes after all those of execve().
 */
TEST_F(fault, execve)
{
	unsigned int nr[NO_FAULT] = { 0 }, nth, killed = 0;
	int status = 0;
	pid_t pid;

	for (nth = 1; nth < 2000; nth++) {
		pid = fork();
		ASSERT_LE(0, pid);
		if (!pid)
			_exit(exec_with_fault(nth));
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		if (WIFSIGNALED(status)) {
			killed++;
			continue;
		}
		status = WEXITSTATUS(status);
		if (status == NOT_STARTED)
			break;
		ASSERT_NE(WRONG, status);
		ASSERT_GT(NO_FAULT, status);
		nr[status]++;
	}
	TH_LOG("%u times: all registered %u, some %u, failed %u, killed %u",
	       nth, nr[ALL_THERE], nr[SOME_THERE], nr[OLD_INTACT], killed);
	EXPECT_EQ(NOT_STARTED, status);
	EXPECT_LT(0, nr[ALL_THERE]);
	EXPECT_LT(0, nr[SOME_THERE]);
	EXPECT_LT(0, nr[OLD_INTACT]);
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "--new"))
		return new_program();
	return test_harness_run(argc, argv);
}

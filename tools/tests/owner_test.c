// SPDX-License-Identifier: MIT
/* The user who is responsible for a process, as root sees it. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "owner.h"
#include "check.h"
#include "tool.h"

#define SOMEBODY	12345
#define ANOTHER		23456

static void put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		_exit(1);
	close(fd);
}

/* A namespace in which this user is root. */
static void enter_namespace(void)
{
	char users[64], groups[64];

	snprintf(users, sizeof(users), "0 %u 1", geteuid());
	snprintf(groups, sizeof(groups), "0 %u 1", getegid());
	if (unshare(CLONE_NEWUSER))
		_exit(1);
	put("/proc/self/setgroups", "deny");
	put("/proc/self/uid_map", users);
	put("/proc/self/gid_map", groups);
}

static void as_somebody(void)
{
	if (setresuid(SOMEBODY, SOMEBODY, SOMEBODY) || prctl(PR_SET_DUMPABLE, 1))
		_exit(1);
}

static void not_dumpable(void)
{
	as_somebody();
	prctl(PR_SET_DUMPABLE, 0);
}

static void set_user_id(void)
{
	if (setresuid(SOMEBODY, ANOTHER, SOMEBODY))
		_exit(1);
}

static void root_in_two_namespaces(void)
{
	as_somebody();
	enter_namespace();
	enter_namespace();
}

/* Written from outside, which needs privileges there. */
static void map_parent(int entered)
{
	char byte, *users = format("/proc/%d/uid_map", getppid());
	char *groups = format("/proc/%d/gid_map", getppid());

	if (read(entered, &byte, 1) != 1)
		_exit(1);
	put(users, "0 23456 10");
	put(groups, "0 23456 10");
	_exit(0);
}

/* As in a container whose users have other ids outside. */
static void in_roots_namespace(void)
{
	int entered[2], status;
	pid_t pid;

	if (pipe2(entered, O_CLOEXEC))
		_exit(1);
	pid = fork();
	if (!pid)
		map_parent(entered[0]);
	if (unshare(CLONE_NEWUSER) || write(entered[1], "", 1) != 1 ||
	    waitpid(pid, &status, 0) != pid || status ||
	    setresgid(0, 0, 0) || setresuid(0, 0, 0))
		_exit(1);
}

static void in_one_below(void)
{
	in_roots_namespace();
	prctl(PR_SET_DUMPABLE, 1);
	enter_namespace();
}

/* The owner of a process that has called @prepare; none if it cannot be determined. */
static uid_t owner_after(void (*prepare)(void))
{
	int ready[2], end[2];
	uid_t owner = 0;
	char byte;
	pid_t pid;

	if (pipe2(ready, O_CLOEXEC) || pipe2(end, O_CLOEXEC))
		abort();
	pid = fork();
	if (!pid) {
		close(end[1]);
		prepare();
		if (write(ready[1], "", 1) == 1 && read(end[0], &byte, 1) >= 0)
			_exit(0);
		_exit(1);
	}
	close(ready[1]);
	CHECK(read(ready[0], &byte, 1) == 1);
	CHECK(owner_of(pid, &owner));
	close(end[1]);
	waitpid(pid, NULL, 0);
	close(ready[0]);
	close(end[0]);
	return owner;
}

static void it_is_the_effective_user(void)
{
	CHECK(owner_after(as_somebody) == SOMEBODY);
	CHECK(owner_after(not_dumpable) == SOMEBODY);
	CHECK(owner_after(set_user_id) == ANOTHER);
}

static void whoever_makes_a_namespace_answers_for_it(void)
{
	CHECK(owner_after(enter_namespace) == 0);
	CHECK(owner_after(root_in_two_namespaces) == SOMEBODY);
}

static void in_one_that_root_has_made_the_user_does(void)
{
	CHECK(owner_after(in_roots_namespace) == ANOTHER);
	CHECK(owner_after(in_one_below) == ANOTHER);
}

static void one_that_has_gone_has_none(void)
{
	uid_t owner;
	pid_t pid;

	pid = fork();
	if (!pid)
		_exit(0);
	waitpid(pid, NULL, 0);
	CHECK(!owner_of(pid, &owner) && (errno == ENOENT || errno == ESRCH));
}

int main(void)
{
	RUN(it_is_the_effective_user);
	RUN(whoever_makes_a_namespace_answers_for_it);
	RUN(in_one_that_root_has_made_the_user_does);
	RUN(one_that_has_gone_has_none);
	return check_end();
}

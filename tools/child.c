// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child.h"
#include "tool.h"

static void __attribute__((noreturn)) wait_and_execute(int gate, int error,
						       char **command)
{
	char byte;

	if (read(gate, &byte, 1) == 1) {
		execvp(command[0], command);
		if (write(error, &errno, sizeof(errno)) < 0)
			_exit(EXIT_FAILED);
	}
	_exit(EXIT_FAILED);
}

void child_prepare(struct child *child, char **command)
{
	int gate[2], error[2];

	/* No signal comes from writing to a socket. */
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, gate) || pipe2(error, O_CLOEXEC))
		die("cannot make a pipe: %s", strerror(errno));
	fflush(stdout);
	child->pid = fork();
	if (child->pid < 0)
		die("cannot start a process: %s", strerror(errno));
	if (!child->pid) {
		close(gate[1]);
		wait_and_execute(gate[0], error[1], command);
	}
	close(gate[0]);
	close(error[1]);
	child->gate = gate[1];
	child->error = error[0];
}

void child_release(struct child *child, const char *name)
{
	int error;

	if (send(child->gate, "", 1, MSG_NOSIGNAL) != 1)
		die("cannot run %s: it was killed", name);
	close(child->gate);
	if (read(child->error, &error, sizeof(error)) == sizeof(error))
		die("cannot run %s: %s", name, strerror(error));
	close(child->error);
}

bool child_has_ended(struct child *child)
{
	if (child->pid && waitpid(child->pid, &child->status, WNOHANG) == child->pid)
		child->pid = 0;
	return !child->pid;
}

void child_terminate(struct child *child)
{
	if (!child_has_ended(child))
		kill(child->pid, SIGTERM);
}

void child_end(struct child *child)
{
	while (!child_has_ended(child)) {
		kill(child->pid, SIGTERM);
		if (waitpid(child->pid, &child->status, 0) == child->pid)
			child->pid = 0;
	}
}

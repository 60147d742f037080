// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attach_child.h"
#include "interrupt.h"
#include "tool.h"

/* Exists if the kernel takes tables; has the limit for them. */
#define ROOM	"/proc/sys/kernel/codectl_attached_kb"

/* How long to wait for tables, and for the end of the process that has made them. */
#define READY_MS	10000
#define END_MS		2000
#define STEP_MS		50

/* A socket with an address that the kernel has chosen, as for sd_notify(3); or -1. */
static int open_socket(char address[sizeof(struct sockaddr_un)])
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	socklen_t len = sizeof(at);
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), on = 1;

	if (fd >= 0 && (setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) ||
			bind(fd, (struct sockaddr *)&at, sizeof(at.sun_family)) ||
			getsockname(fd, (struct sockaddr *)&at, &len))) {
		close(fd);
		return -1;
	}
	/* An abstract socket, in no file system. */
	at.sun_path[0] = '@';
	memcpy(address, at.sun_path, len - offsetof(struct sockaddr_un, sun_path));
	address[len - offsetof(struct sockaddr_un, sun_path)] = '\0';
	return fd;
}

/* It prints nothing: the stacks show what lacks a table. */
static _Noreturn void run(pid_t pid, const char *address, pid_t parent)
{
	char *number = pid ? format("%d", pid) : NULL;
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (prctl(PR_SET_PDEATHSIG, SIGTERM) || getppid() != parent || null < 0 ||
	    setenv("NOTIFY_SOCKET", address, 1))
		_exit(EXIT_FAILED);
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		dup2(null, fd);
	/*
	 * A terminal's signals are for the recording, which ends it after the last
	 * stack.
	 */
	setpgid(0, 0);
	execl("/proc/self/exe", "codectl", "attach", pid ? "-p" : "-a", number, NULL);
	_exit(EXIT_FAILED);
}

union control {
	struct cmsghdr header;
	char room[CMSG_SPACE(sizeof(struct ucred))];
};

/* Takes a message: anybody can send one to the socket. */
static bool is_told(const struct attach_child *child, int fd)
{
	union control control;
	struct msghdr message = { .msg_control = &control, .msg_controllen = sizeof(control) };
	struct cmsghdr *header;
	struct ucred sender;

	if (recvmsg(fd, &message, 0) < 0)
		return false;
	header = CMSG_FIRSTHDR(&message);
	if (!header || header->cmsg_len != CMSG_LEN(sizeof(sender)) ||
	    header->cmsg_type != SCM_CREDENTIALS)
		return false;
	memcpy(&sender, CMSG_DATA(header), sizeof(sender));
	return sender.pid == child->pid;
}

/* Until it reports that it is ready, or has ended, or takes too long. */
static void await(const struct attach_child *child, int fd)
{
	struct pollfd ready = { .fd = fd, .events = POLLIN };
	const int64_t end = now_ms() + READY_MS;
	siginfo_t info = { 0 };

	while (now_ms() < end && !interrupted)
		if ((poll(&ready, 1, STEP_MS) > 0 && is_told(child, fd)) ||
		    waitid(P_PID, child->pid, &info, WEXITED | WNOHANG | WNOWAIT) ||
		    info.si_pid)
			return;
	if (!interrupted)
		fputs("codectl: some files have no table yet, and may have truncated stacks\n",
		      stderr);
}

void attach_child_start(struct attach_child *child, pid_t pid)
{
	const pid_t parent = getpid();
	char address[sizeof(struct sockaddr_un)];
	int fd;

	child->pid = 0;
	if (geteuid() || access(ROOM, F_OK))
		return;
	fd = open_socket(address);
	if (fd < 0)
		return;
	child->pid = fork();
	if (!child->pid)
		run(pid, address, parent);
	if (child->pid > 0)
		await(child, fd);
	else
		child->pid = 0;
	close(fd);
}

/* One that waits for a file system that does not answer is left behind. */
void attach_child_end(struct attach_child *child)
{
	if (!child->pid)
		return;
	kill(child->pid, SIGTERM);
	for (int ms = 0; ms < END_MS; ms += STEP_MS) {
		if (waitpid(child->pid, NULL, WNOHANG))
			return;
		poll(NULL, 0, STEP_MS);
	}
	kill(child->pid, SIGKILL);
}

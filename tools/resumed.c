// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <linux/io_uring.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "resumed.h"
#include "tool.h"

/* How long may it take to ask about a socket? */
#define ANSWER_MS	1000

/* Above the stack pointer, in a function that makes a system call. */
#define STACK_IN_USE	4096

/* As in the kernel: also ids of threads that are not the first. */
#ifndef PIDFD_THREAD
#define PIDFD_THREAD	O_EXCL
#endif

/* -------------------------------------------------------------------- files */

/* What the file of the call is: "pipe:[NUMBER]".  A path of a user has a slash. */
static void read_target(pid_t tid, const struct waiting_call *call, char *to, size_t size)
{
	char *path = format("/proc/%d/fd/%d", tid, (int)call->args[0]);
	ssize_t len = readlink(path, to, size - 1);

	free(path);
	to[len > 0 ? len : 0] = '\0';
}

static bool begins_with(const char *text, const char *beginning)
{
	return !strncmp(text, beginning, strlen(beginning));
}

/* They return nothing before they have something. */
static bool is_restarted_read(const char *target)
{
	static const char *const files[] = {
		"pipe:[", "anon_inode:[eventfd]", "anon_inode:[signalfd]", "anon_inode:[timerfd]",
		"anon_inode:inotify",
	};

	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		if (begins_with(target, files[i]))
			return true;
	return false;
}

/* All bytes are written at the same time, or none. */
static bool is_restarted_write(const char *target, uint64_t bytes)
{
	return begins_with(target, "anon_inode:[eventfd]") ||
	       (begins_with(target, "pipe:[") && bytes <= PIPE_BUF);
}

/* ------------------------------------------------------------------- sockets */

enum socket_use { RECEIVES, CONNECTS, SENDS };

static int socket_option(int fd, int option)
{
	int value = -1;
	socklen_t len = sizeof(value);

	return getsockopt(fd, SOL_SOCKET, option, &value, &len) ? -1 : value;
}

/* With a timeout, calls end with EINTR. */
static bool waits_forever(int fd, int option)
{
	struct timeval timeout = { .tv_sec = 1 };
	socklen_t len = sizeof(timeout);

	return !getsockopt(fd, SOL_SOCKET, option, &timeout, &len) &&
	       !timeout.tv_sec && !timeout.tv_usec;
}

/* TCP, UDP and local sockets only: how others wait is up to their protocol. */
static bool is_known_socket(int fd)
{
	const int domain = socket_option(fd, SO_DOMAIN), protocol = socket_option(fd, SO_PROTOCOL);

	return domain == AF_UNIX || ((domain == AF_INET || domain == AF_INET6) &&
				     (protocol == IPPROTO_TCP || protocol == IPPROTO_UDP));
}

/*
 * Who waits for more than a first byte may have received some, and then gets less.  Only
 * messages are sent as a whole.
 */
static bool is_restarted_on(int fd, enum socket_use use)
{
	switch (use) {
	case RECEIVES:
		return is_known_socket(fd) && waits_forever(fd, SO_RCVTIMEO) &&
		       socket_option(fd, SO_RCVLOWAT) == 1;
	case CONNECTS:
		return is_known_socket(fd) && waits_forever(fd, SO_SNDTIMEO);
	case SENDS:
		return socket_option(fd, SO_DOMAIN) == AF_UNIX &&
		       socket_option(fd, SO_TYPE) != SOCK_STREAM &&
		       waits_forever(fd, SO_SNDTIMEO);
	}
	return false;
}

/* Holds nothing but the descriptor and the pipe, and closes them last. */
static __attribute__((noreturn)) void answer_and_exit(pid_t tid, int number, enum socket_use use,
						      int to)
{
	int thread;
	char answer;

	dup2(to, 0);
	close_range(1, ~0U, 0);
	thread = syscall(SYS_pidfd_open, tid, PIDFD_THREAD);
	answer = is_restarted_on(syscall(SYS_pidfd_getfd, thread, number, 0), use);
	_exit(write(0, &answer, 1) != 1);
}

/*
 * The descriptor may be of any other file by now, and closing a copy may take for ever: the
 * server of the file is asked.  So another process has the copy, and is nobody's child.
 */
static bool ask_about_socket(pid_t tid, int number, enum socket_use use)
{
	struct pollfd from = { .events = POLLIN };
	char answer = 0;
	int ends[2];
	pid_t child;

	if (pipe2(ends, O_CLOEXEC))
		return false;
	child = fork();
	if (!child) {
		if (fork())
			_exit(0);
		answer_and_exit(tid, number, use, ends[1]);
	}
	close(ends[1]);
	from.fd = ends[0];
	if (child < 0 || waitpid(child, NULL, 0) != child ||
	    poll(&from, 1, ANSWER_MS) != 1 || read(ends[0], &answer, 1) != 1)
		answer = 0;
	close(ends[0]);
	return answer;
}

/* -------------------------------------------------------------------- calls */

static bool is_resumed_on_socket(pid_t tid, const struct waiting_call *call)
{
	const int number = call->args[0];

	switch (call->nr) {
	case SYS_read:
	case SYS_readv:
	case SYS_accept:
	case SYS_accept4:
		return ask_about_socket(tid, number, RECEIVES);
	case SYS_recvfrom:
		return !(call->args[3] & MSG_WAITALL) && ask_about_socket(tid, number, RECEIVES);
	case SYS_recvmsg:
		return !(call->args[2] & MSG_WAITALL) && ask_about_socket(tid, number, RECEIVES);
	case SYS_connect:
		return ask_about_socket(tid, number, CONNECTS);
	case SYS_write:
	case SYS_sendto:
	case SYS_sendmsg:
		return ask_about_socket(tid, number, SENDS);
	default:
		return false;
	}
}

static bool is_resumed_on_file(pid_t tid, const struct waiting_call *call)
{
	char target[32];

	read_target(tid, call, target, sizeof(target));
	if (begins_with(target, "socket:["))
		return is_resumed_on_socket(tid, call);
	switch (call->nr) {
	case SYS_read:
	case SYS_readv:
		return is_restarted_read(target);
	case SYS_write:
		return is_restarted_write(target, call->args[2]);
	default:
		return false;
	}
}

static bool is_resumed_futex(const struct waiting_call *call)
{
	const int op = call->args[1] & FUTEX_CMD_MASK;

	return op == FUTEX_WAIT || op == FUTEX_WAIT_BITSET || op == FUTEX_LOCK_PI ||
	       op == FUTEX_LOCK_PI2;
}

/*
 * The kernel writes the rest of the time there, and resumes the call only if it can.  What
 * the C library has on the stack can be written to.
 */
static bool is_resumed_poll(const struct waiting_call *call)
{
	const uint64_t timeout = call->args[call->nr == SYS_ppoll ? 2 : 4];

	return !timeout || timeout - call->sp < STACK_IN_USE;
}

static bool is_resumed(pid_t tid, const struct waiting_call *call)
{
	const int command = call->args[1];

	switch (call->nr) {
	case SYS_futex:
		return is_resumed_futex(call);
	case SYS_futex_waitv:
	case SYS_poll:
	case SYS_nanosleep:
	case SYS_clock_nanosleep:
	case SYS_restart_syscall:
	case SYS_wait4:
	case SYS_waitid:
	case SYS_pause:
	case SYS_rt_sigsuspend:
	case SYS_flock:
	case SYS_msgsnd:
	case SYS_msgrcv:
	case SYS_mq_timedsend:
	case SYS_mq_timedreceive:
		return true;
	case SYS_ppoll:
	case SYS_select:
	case SYS_pselect6:
		return is_resumed_poll(call);
	case SYS_fcntl:
		return command == F_SETLKW || command == F_OFD_SETLKW;
	default:
		return is_resumed_on_file(tid, call);
	}
}

/* Does it end with EINTR, having done nothing? */
static bool does_nothing(const struct waiting_call *call)
{
	switch (call->nr) {
	case SYS_epoll_wait:
	case SYS_epoll_pwait:
	case SYS_epoll_pwait2:
	case SYS_semop:
	case SYS_semtimedop:
	case SYS_rt_sigtimedwait:
		return true;
	/* Who waits for more than one event may have some. */
	case SYS_io_getevents:
	case SYS_io_pgetevents:
		return call->args[1] == 1;
	case SYS_io_uring_enter:
		return !call->args[1] && call->args[2] == 1 &&
		       !(call->args[3] & ~(IORING_ENTER_GETEVENTS | IORING_ENTER_SQ_WAKEUP |
					   IORING_ENTER_REGISTERED_RING));
	default:
		return false;
	}
}

static uint64_t read_limit(pid_t tid, uint64_t address)
{
	struct timespec time;
	struct iovec here = { &time, sizeof(time) };
	struct iovec there = { (void *)address, sizeof(time) };

	if (!address || process_vm_readv(tid, &here, 1, &there, 1, 0) != sizeof(time) ||
	    time.tv_sec < 0 || time.tv_sec > INT_MAX || time.tv_nsec < 0 ||
	    time.tv_nsec >= 1000000000)
		return UINT64_MAX;
	return time.tv_sec * 1000000000ULL + time.tv_nsec;
}

/* Where its timeout is, or NULL. */
static const uint64_t *find_limit(const struct waiting_call *call)
{
	switch (call->nr) {
	case SYS_epoll_wait:
	case SYS_epoll_pwait:
	case SYS_epoll_pwait2:
	case SYS_semtimedop:
		return &call->args[3];
	case SYS_rt_sigtimedwait:
		return &call->args[2];
	case SYS_io_getevents:
	case SYS_io_pgetevents:
		return &call->args[4];
	default:
		return NULL;
	}
}

static bool is_in_ms(const struct waiting_call *call)
{
	return call->nr == SYS_epoll_wait || call->nr == SYS_epoll_pwait;
}

static bool has_limit(const struct waiting_call *call)
{
	const uint64_t *limit = find_limit(call);

	return limit && (is_in_ms(call) ? (int)*limit >= 0 : *limit != 0);
}

uint64_t time_limit(pid_t tid, const struct waiting_call *call)
{
	if (!does_nothing(call) || !has_limit(call))
		return UINT64_MAX;
	return is_in_ms(call) ? (int)*find_limit(call) * 1000000ULL :
				read_limit(tid, *find_limit(call));
}

bool uses_restart_syscall(const struct waiting_call *call)
{
	switch (call->nr) {
	case SYS_poll:
	case SYS_nanosleep:
	case SYS_clock_nanosleep:
	case SYS_restart_syscall:
		return true;
	case SYS_futex:
		return call->args[3];
	default:
		return false;
	}
}

enum after_stop after_stop(pid_t tid, const struct waiting_call *call)
{
	if (does_nothing(call))
		return has_limit(call) ? STOP_DISTURBS : STOP_REPEATS;
	return is_resumed(tid, call) ? STOP_RESUMES : STOP_DISTURBS;
}

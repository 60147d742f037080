// SPDX-License-Identifier: MIT
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "blocked.h"
#include "lock_name.h"
#include "report/text.h"
#include "tool.h"
#include "wait_kind.h"

/* How long one thread may take to stop, in ms, and all of them together. */
#define STOP_MS		1000

/* Of the kernel: repeat the call, unless a handler runs; then it ends with EINTR. */
#define RESTART_NO_HANDLER	514L

/* As in glibc: a lock that others wait for, and the offset of its owner's id. */
#define MUTEX_CONTENDED	2
#define MUTEX_OWNER	2

enum { NO_CALL = -1, CALL_OF_32_BITS = -2 };

struct thread {
	pid_t tid;
	int64_t nr;		/* of the call that it waits in, or one of these */
	uint64_t args[4];
	uint64_t lock;		/* 0: none, or it is unknown which */
	pid_t owner;		/* of the lock */
	bool interrupted;
	bool left;		/* it is left alone, which is to be said */
	bool told;		/* the event of its wait has come */
	unsigned int circle;	/* number of the circle that it was found in, from 1 */
};

struct blocked {
	pid_t pid;
	struct thread *threads;
	size_t nr;
	uint64_t since;		/* when they were interrupted */
};

/* ------------------------------------------------------------------ threads */

/* The first @size - 1 bytes of /proc/PID/task/TID/NAME. */
static bool read_task(pid_t pid, pid_t tid, const char *name, char *to, size_t size)
{
	char *path = format("/proc/%d/task/%d/%s", pid, tid, name);
	FILE *file = fopen(path, "re");
	size_t len = file ? fread(to, 1, size - 1, file) : 0;

	free(path);
	if (file)
		fclose(file);
	to[len] = '\0';
	return len;
}

/* False if it is running, or has ended. */
static bool find_call(pid_t pid, struct thread *thread)
{
	unsigned long long args[7] = { 0 };
	char text[512];
	long long nr;

	if (!read_task(pid, thread->tid, "syscall", text, sizeof(text)) ||
	    sscanf(text, "%lld %llx %llx %llx %llx %llx %llx %llx", &nr, &args[0], &args[1],
		   &args[2], &args[3], &args[4], &args[5], &args[6]) < 1)
		return false;
	/* Whose stacks are low: their calls have other numbers. */
	thread->nr = nr >= 0 && args[6] <= UINT32_MAX ? CALL_OF_32_BITS : nr;
	for (size_t i = 0; i < ARRAY_SIZE(thread->args); i++)
		thread->args[i] = args[i];
	return true;
}

static bool waits_for_lock(const struct thread *thread)
{
	int op = thread->args[1] & FUTEX_CMD_MASK;

	return thread->nr == SYS_futex &&
	       (op == FUTEX_WAIT || op == FUTEX_WAIT_BITSET || op == FUTEX_LOCK_PI ||
		op == FUTEX_LOCK_PI2);
}

/* The words may be anything: only threads are asked about as owners. */
static void find_lock(pid_t pid, struct thread *thread)
{
	uint32_t words[MUTEX_OWNER + 1] = { 0 };
	struct iovec here = { words, sizeof(words) };
	struct iovec there = { (void *)thread->args[0], sizeof(words) };
	int op = thread->args[1] & FUTEX_CMD_MASK;

	if (!waits_for_lock(thread) ||
	    process_vm_readv(pid, &here, 1, &there, 1, 0) != sizeof(words))
		return;
	if (op == FUTEX_LOCK_PI || op == FUTEX_LOCK_PI2)
		thread->owner = words[0] & FUTEX_TID_MASK;
	else if (words[0] == MUTEX_CONTENDED)
		thread->owner = words[MUTEX_OWNER];
	if (thread->owner > 0)
		thread->lock = thread->args[0];
}

struct blocked *blocked_find(pid_t pid)
{
	struct blocked *blocked = need(calloc(1, sizeof(*blocked)));
	char *path = format("/proc/%d/task", pid);
	DIR *dir = opendir(path);
	struct dirent *entry;

	blocked->pid = pid;
	free(path);
	while (dir && (entry = readdir(dir))) {
		struct thread thread = { .tid = atoi(entry->d_name) };

		if (thread.tid <= 0 || !find_call(pid, &thread))
			continue;
		find_lock(pid, &thread);
		blocked->threads = need(reallocarray(blocked->threads, blocked->nr + 1,
						     sizeof(thread)));
		blocked->threads[blocked->nr++] = thread;
	}
	if (dir)
		closedir(dir);
	return blocked;
}

void blocked_free(struct blocked *blocked)
{
	free(blocked->threads);
	free(blocked);
}

static struct thread *find_thread(struct blocked *blocked, pid_t tid)
{
	for (size_t i = 0; i < blocked->nr; i++)
		if (blocked->threads[i].tid == tid)
			return &blocked->threads[i];
	return NULL;
}

/* ------------------------------------------------------------- interruptions */

/* They return nothing before they have something; a path of a user has a slash. */
static bool is_restarted_file(pid_t pid, const struct thread *thread)
{
	static const char *const files[] = {
		"pipe:[", "anon_inode:[eventfd]", "anon_inode:[signalfd]", "anon_inode:[timerfd]",
		"anon_inode:inotify",
	};
	char *path = format("/proc/%d/fd/%d", pid, (int)thread->args[0]), target[32] = "";
	ssize_t len = readlink(path, target, sizeof(target) - 1);

	free(path);
	for (size_t i = 0; len > 0 && i < ARRAY_SIZE(files); i++)
		if (!strncmp(target, files[i], strlen(files[i])))
			return true;
	return false;
}

static int socket_option(int fd, int option)
{
	int value = -1;
	socklen_t len = sizeof(value);

	return getsockopt(fd, SOL_SOCKET, option, &value, &len) ? -1 : value;
}

/* TCP, UDP and local sockets only: how others wait is up to their protocol. */
static bool is_known_socket(int fd)
{
	const int domain = socket_option(fd, SO_DOMAIN), protocol = socket_option(fd, SO_PROTOCOL);

	return domain == AF_UNIX || ((domain == AF_INET || domain == AF_INET6) &&
				     (protocol == IPPROTO_TCP || protocol == IPPROTO_UDP));
}

/*
 * A receive timeout makes it end with EINTR.  Who waits for more than a first byte may have
 * received some, and then gets less.
 */
static bool is_restarted_on(int fd)
{
	struct timeval timeout = { .tv_sec = 1 };
	socklen_t len = sizeof(timeout);

	return is_known_socket(fd) && socket_option(fd, SO_RCVLOWAT) == 1 &&
	       !getsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, &len) &&
	       !timeout.tv_sec && !timeout.tv_usec;
}

/* Holds nothing but the descriptor and the pipe, and closes them last. */
static __attribute__((noreturn)) void answer_and_exit(pid_t pid, int number, int to)
{
	int process;
	char answer;

	dup2(to, 0);
	close_range(1, ~0U, 0);
	process = syscall(SYS_pidfd_open, pid, 0);
	answer = is_restarted_on(syscall(SYS_pidfd_getfd, process, number, 0));
	_exit(write(0, &answer, 1) != 1);
}

/*
 * The descriptor may be of any other file by now, and closing a copy may take for ever: the
 * server of the file is asked.  So another process has the copy, and nobody waits for its end.
 */
static bool is_restarted_socket(pid_t pid, const struct thread *thread, int flags)
{
	struct pollfd from = { .events = POLLIN };
	char answer = 0;
	int ends[2];
	pid_t child;

	if ((flags & MSG_WAITALL) || pipe2(ends, O_CLOEXEC))
		return false;
	child = fork();
	if (!child)
		answer_and_exit(pid, thread->args[0], ends[1]);
	close(ends[1]);
	from.fd = ends[0];
	if (child < 0 || poll(&from, 1, STOP_MS) != 1 || read(ends[0], &answer, 1) != 1)
		answer = 0;
	close(ends[0]);
	return answer;
}

/* Does the kernel resume it after a stop without a signal?  Documented in codectl(1). */
static bool is_resumed(pid_t pid, const struct thread *thread)
{
	const int command = thread->args[1];

	switch (thread->nr) {
	case SYS_futex:
		return waits_for_lock(thread);
	case SYS_futex_waitv:
	case SYS_poll:
	case SYS_ppoll:
	case SYS_select:
	case SYS_pselect6:
	case SYS_nanosleep:
	case SYS_clock_nanosleep:
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
	case SYS_fcntl:
		return command == F_SETLKW || command == F_OFD_SETLKW;
	case SYS_read:
	case SYS_readv:
		return is_restarted_file(pid, thread) || is_restarted_socket(pid, thread, 0);
	case SYS_accept:
	case SYS_accept4:
		return is_restarted_socket(pid, thread, 0);
	case SYS_recvfrom:
		return is_restarted_socket(pid, thread, thread->args[3]);
	case SYS_recvmsg:
		return is_restarted_socket(pid, thread, thread->args[2]);
	default:
		return false;
	}
}

/*
 * Does it end with EINTR, having done nothing, and without a timeout, which would begin
 * anew?  Then it is the same call when it is repeated.
 */
static bool is_repeatable(const struct thread *thread)
{
	switch (thread->nr) {
	case SYS_epoll_wait:
	case SYS_epoll_pwait:
		return (int)thread->args[3] < 0;
	case SYS_epoll_pwait2:
	case SYS_semtimedop:
		return !thread->args[3];
	case SYS_semop:
		return true;
	case SYS_rt_sigtimedwait:
		return !thread->args[2];
	default:
		return false;
	}
}

/* In a stop before it returns, unless it has returned something else. */
static void repeat_call(const struct thread *thread)
{
	struct user_regs_struct regs;

	if (!is_repeatable(thread) || ptrace(PTRACE_GETREGS, thread->tid, NULL, &regs) ||
	    (int64_t)regs.orig_rax != thread->nr || (int64_t)regs.rax != -EINTR)
		return;
	ptrace(PTRACE_POKEUSER, thread->tid, offsetof(struct user, regs.rax),
	       -RESTART_NO_HANDLER);
}

/*
 * A thread whose wait no signal ends continues when this process ends, at the latest.
 * One that has stopped for a signal of its own gets that.
 */
static void let_go(const struct thread *thread, uint64_t until)
{
	const struct timespec step = { .tv_nsec = 1000000 };
	long signal = 0;
	int status = 0;
	pid_t stopped;

	while (!(stopped = waitpid(thread->tid, &status, __WALL | WNOHANG)) && now_ns() < until)
		nanosleep(&step, NULL);
	if (stopped == thread->tid && WIFSTOPPED(status)) {
		if (status >> 16 == PTRACE_EVENT_STOP)
			repeat_call(thread);
		else
			signal = WSTOPSIG(status);
	}
	ptrace(PTRACE_DETACH, thread->tid, NULL, signal);
}

static char *describe_left(int64_t nr)
{
	const char *name = nr == NO_CALL ? "no system call" :
			   nr == CALL_OF_32_BITS ? "a 32-bit system call" : wait_call_name(nr);
	char *call = name ? format("%s", name) : format("system call %lld", (long long)nr);
	char *text = format("threads still wait (%s): a stop might disturb them", call);

	free(call);
	return text;
}

/* Says how many there are in each call. */
static void tell_left(struct blocked *blocked, blocked_tell tell, void *context)
{
	for (size_t i = 0; i < blocked->nr; i++) {
		const int64_t nr = blocked->threads[i].nr;
		unsigned long left = 0;
		char *text;

		if (!blocked->threads[i].left)
			continue;
		for (size_t j = i; j < blocked->nr; j++) {
			if (!blocked->threads[j].left || blocked->threads[j].nr != nr)
				continue;
			blocked->threads[j].left = false;
			left++;
		}
		text = describe_left(nr);
		tell(context, left, text);
		free(text);
	}
}

void blocked_interrupt(struct blocked *blocked, blocked_tell tell, void *context)
{
	uint64_t until;

	blocked->since = now_ns();
	until = blocked->since + STOP_MS * 1000000ULL;
	for (size_t i = 0; i < blocked->nr; i++) {
		struct thread *thread = &blocked->threads[i];

		thread->interrupted = (is_repeatable(thread) ||
				       is_resumed(blocked->pid, thread)) &&
				      !ptrace(PTRACE_SEIZE, thread->tid, NULL, NULL);
		if (thread->interrupted)
			ptrace(PTRACE_INTERRUPT, thread->tid, NULL, NULL);
		thread->left = !thread->interrupted;
	}
	for (size_t i = 0; i < blocked->nr; i++)
		if (blocked->threads[i].interrupted)
			let_go(&blocked->threads[i], until);
	tell_left(blocked, tell, context);
}

enum blocked_event blocked_event(struct blocked *blocked, int32_t tid, uint64_t time, char state)
{
	struct thread *thread = find_thread(blocked, tid);

	if (!thread || !thread->interrupted || time < blocked->since)
		return BLOCKED_NOT;
	if (state == 't')
		return BLOCKED_STOP;
	if (thread->told)
		return BLOCKED_NOT;
	thread->told = true;
	return BLOCKED_STILL;
}

/* ------------------------------------------------------------------ deadlocks */

/* The thread that it waits for; NULL: none that waits itself. */
static struct thread *next_of(struct blocked *blocked, const struct thread *thread)
{
	return thread->lock ? find_thread(blocked, thread->owner) : NULL;
}

/* Marks those on the way from @from; returns the first of a new circle there, or NULL. */
static struct thread *find_circle(struct blocked *blocked, struct thread *from,
				  unsigned int mark)
{
	struct thread *thread = from;

	while (thread && !thread->circle) {
		thread->circle = mark;
		thread = next_of(blocked, thread);
	}
	return thread && thread->circle == mark ? thread : NULL;
}

static void put_thread(struct blocked *blocked, const struct thread *thread,
		       struct symbols *symbols, FILE *to)
{
	char *lock = lock_name(symbols, blocked->pid, thread->lock), text[64];
	char *comm;

	read_task(blocked->pid, thread->tid, "comm", text, sizeof(text));
	text[strcspn(text, "\n")] = '\0';
	comm = text_clean(text);
	fprintf(to, " %d (%s) for %s, which %d holds", thread->tid, comm, lock, thread->owner);
	free(comm);
	free(lock);
}

void blocked_deadlocks(struct blocked *blocked, struct symbols *symbols,
		       blocked_tell tell, void *context)
{
	for (size_t i = 0; i < blocked->nr; i++) {
		struct thread *first = find_circle(blocked, &blocked->threads[i], i + 1);
		const struct thread *thread = first;
		unsigned long nr = 0;
		char *text;
		size_t size;
		FILE *to;

		if (!first)
			continue;
		to = need(open_memstream(&text, &size));
		fputs("threads in a deadlock wait:", to);
		do {
			if (nr++)
				putc(';', to);
			put_thread(blocked, thread, symbols, to);
			thread = next_of(blocked, thread);
		} while (thread != first);
		need_done(fclose(to));
		tell(context, nr, text);
		free(text);
	}
}

// SPDX-License-Identifier: MIT
#include <dirent.h>
#include <errno.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
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

/* As in glibc: a lock that others wait for, and the offset of its owner's id. */
#define MUTEX_CONTENDED	2
#define MUTEX_OWNER	2

struct thread {
	pid_t tid;
	int64_t nr;		/* of the call that it waits in, or -1 */
	uint64_t args[2];
	uint64_t lock;		/* 0: none, or it is unknown which */
	pid_t owner;		/* of the lock */
	bool interrupted;
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
	unsigned long long args[2] = { 0 };
	char text[512];
	long long nr;

	if (!read_task(pid, thread->tid, "syscall", text, sizeof(text)) ||
	    sscanf(text, "%lld %llx %llx", &nr, &args[0], &args[1]) < 1)
		return false;
	thread->nr = nr;
	thread->args[0] = args[0];
	thread->args[1] = args[1];
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

/* Sockets may have a timeout, and then end with EINTR. */
static bool is_of_socket(pid_t pid, const struct thread *thread)
{
	char *path = format("/proc/%d/fd/%d", pid, (int)thread->args[0]), target[8] = "";
	ssize_t len = readlink(path, target, sizeof(target) - 1);

	free(path);
	return len < 0 || !strncmp(target, "socket:", sizeof(target) - 1);
}

/* signal(7): others end with EINTR when the thread continues. */
static bool goes_on(pid_t pid, const struct thread *thread)
{
	switch (thread->nr) {
	case SYS_epoll_wait:
	case SYS_epoll_pwait:
	case SYS_epoll_pwait2:
	case SYS_io_getevents:
	case SYS_io_pgetevents:
	case SYS_io_uring_enter:
		return false;
	}
	switch (wait_kind_of_call(thread->nr)) {
	case WAIT_FUTEX:
	case WAIT_SLEEP:
	case WAIT_CHILD:
	case WAIT_LOCK:
	case WAIT_POLL:
		return true;
	case WAIT_IO:
		return !is_of_socket(pid, thread);
	default:
		return false;
	}
}

/* A thread whose wait no signal ends continues when this process ends, at the latest. */
static void let_go(pid_t tid, uint64_t until)
{
	const struct timespec step = { .tv_nsec = 1000000 };
	int status;

	while (!waitpid(tid, &status, __WALL | WNOHANG) && now_ns() < until)
		nanosleep(&step, NULL);
	ptrace(PTRACE_DETACH, tid, NULL, NULL);
}

unsigned long blocked_interrupt(struct blocked *blocked)
{
	unsigned long left = 0;
	uint64_t until;

	blocked->since = now_ns();
	until = blocked->since + STOP_MS * 1000000ULL;
	for (size_t i = 0; i < blocked->nr; i++) {
		struct thread *thread = &blocked->threads[i];

		thread->interrupted = goes_on(blocked->pid, thread) &&
				      !ptrace(PTRACE_SEIZE, thread->tid, NULL, NULL);
		if (thread->interrupted)
			ptrace(PTRACE_INTERRUPT, thread->tid, NULL, NULL);
		left += !thread->interrupted;
	}
	for (size_t i = 0; i < blocked->nr; i++)
		if (blocked->threads[i].interrupted)
			let_go(blocked->threads[i].tid, until);
	return left;
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
		       void (*tell)(void *context, unsigned long nr, const char *text),
		       void *context)
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

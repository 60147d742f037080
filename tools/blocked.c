// SPDX-License-Identifier: MIT
#include <dirent.h>
#include <errno.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "blocked.h"
#include "lock_name.h"
#include "report/text.h"
#include "resumed.h"
#include "symbol.h"
#include "tool.h"
#include "wait_kind.h"

/*
 * How long one thread may take to stop, in ms, and all of them together; and to end its wait
 * by itself.
 */
#define STOP_MS		1000

/* How long all work on them may take: to decide about them, and to stop them. */
#define WORK_MS		(3 * STOP_MS)

/* Others are not looked at. */
#define MAX_THREADS	65536

/*
 * Other locks have no names: a program may have any number of them, and of mappings.  How long
 * finding all names may take.
 */
#define MAX_NAMES	64
#define NAME_SIZE	1024
#define NAMES_MS	30000

/* Of the kernel: repeat the call, unless a handler runs; then it ends with EINTR. */
#define RESTART_NO_HANDLER	514L

/* As in glibc: a lock that others wait for, and the offset of its owner's id. */
#define MUTEX_CONTENDED	2
#define MUTEX_OWNER	2

struct thread {
	pid_t tid;
	struct waiting_call call;
	uint64_t lock;		/* 0: none, or it is unknown which */
	pid_t owner;		/* of the lock; as its program sees it, perhaps in a container */
	pid_t own;		/* its own id there, if it waits for a lock; otherwise 0 */
	bool repeats;		/* its call is to be repeated after the stop */
	bool may_stop;
	bool decided;		/* whether it may */
	bool interrupted;
	bool ends_soon;		/* its wait does, if nobody interrupts it */
	bool left;		/* it is left alone, which is to be said */
	unsigned long switches;	/* how often it had begun to wait */
	unsigned int circle;	/* number of the search that it was found in, from 1 */
	bool in_circle;
	bool is_first;		/* the one to tell its circle from */
	const char *name;	/* of the lock, or NULL */
};

/* Shared with the processes that work on it. */
struct blocked {
	pid_t pid;
	uint64_t until;		/* for those whose waits end soon */
	char names[MAX_NAMES][NAME_SIZE];
	size_t nr;
	struct thread threads[MAX_THREADS];
};

/* ------------------------------------------------------------------ processes */

/* As waitpid(), for a limited time; 0: nothing has happened. */
static pid_t wait_until(pid_t pid, int *status, int flags, uint64_t until)
{
	const struct timespec step = { .tv_nsec = 1000000 };
	pid_t changed;

	while (!(changed = waitpid(pid, status, flags | WNOHANG)) && now_ns() < until)
		nanosleep(&step, NULL);
	return changed;
}

/*
 * A traced program can make calls about itself wait for ever: for a page of its memory, or
 * for the end of an execve(), whose files another program may serve.  So these are calls of
 * a process with a limit of time.  When that ends, it traces nobody any more.
 */
static void work_on(struct blocked *blocked, void (*work)(struct blocked *blocked),
		    unsigned int ms)
{
	const pid_t parent = getpid();
	pid_t child;

	fflush(stdout);
	child = fork();
	if (!child) {
		if (!prctl(PR_SET_PDEATHSIG, SIGKILL) && getppid() == parent)
			work(blocked);
		_exit(0);
	}
	if (child < 0 || wait_until(child, NULL, 0, now_ns() + ms * 1000000ULL))
		return;
	kill(child, SIGKILL);
	wait_until(child, NULL, 0, now_ns() + STOP_MS * 1000000ULL);
}

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

/* False if it is running, has ended, or is the kernel's, which has no stack of user space. */
static bool find_call(pid_t pid, struct thread *thread)
{
	unsigned long long args[7] = { 0 };
	char text[512];
	long long nr;

	if (!read_task(pid, thread->tid, "syscall", text, sizeof(text)) ||
	    sscanf(text, "%lld %llx %llx %llx %llx %llx %llx %llx", &nr, &args[0], &args[1],
		   &args[2], &args[3], &args[4], &args[5], &args[6]) < 1)
		return false;
	thread->call.sp = args[nr == NO_CALL ? 0 : 6];
	if (!thread->call.sp)
		return false;
	/* Whose stacks are low: their calls have other numbers. */
	thread->call.nr = nr >= 0 && thread->call.sp <= UINT32_MAX ? CALL_OF_32_BITS : nr;
	for (size_t i = 0; i < ARRAY_SIZE(thread->call.args); i++)
		thread->call.args[i] = args[i];
	return true;
}

static bool waits_for_lock(const struct thread *thread)
{
	int op = thread->call.args[1] & FUTEX_CMD_MASK;

	return thread->call.nr == SYS_futex &&
	       (op == FUTEX_WAIT || op == FUTEX_WAIT_BITSET || op == FUTEX_LOCK_PI ||
		op == FUTEX_LOCK_PI2);
}

/* Its id in the innermost PID namespace, where its program is. */
static pid_t own_id(pid_t tid)
{
	char *ids = proc_value(tid, "status", "NSpid:");
	const char *last = ids ? strrchr(ids, '\t') : NULL;
	pid_t own = last ? atoi(last) : tid;

	free(ids);
	return own;
}

/* The words may be anything: only threads are asked about as owners. */
static void find_lock(pid_t pid, struct thread *thread)
{
	uint32_t words[MUTEX_OWNER + 1] = { 0 };
	struct iovec here = { words, sizeof(words) };
	struct iovec there = { (void *)thread->call.args[0], sizeof(words) };
	int op = thread->call.args[1] & FUTEX_CMD_MASK;

	if (!waits_for_lock(thread) ||
	    process_vm_readv(pid, &here, 1, &there, 1, 0) != sizeof(words))
		return;
	if (op == FUTEX_LOCK_PI || op == FUTEX_LOCK_PI2)
		thread->owner = words[0] & FUTEX_TID_MASK;
	else if (words[0] == MUTEX_CONTENDED)
		thread->owner = words[MUTEX_OWNER];
	if (thread->owner <= 0)
		return;
	thread->lock = thread->call.args[0];
	thread->own = own_id(thread->tid);
}

static void find_threads(struct blocked *blocked)
{
	char *path = format("/proc/%d/task", blocked->pid);
	DIR *dir = opendir(path);
	struct dirent *entry;

	free(path);
	while (dir && blocked->nr < MAX_THREADS && (entry = readdir(dir))) {
		struct thread thread = { .tid = atoi(entry->d_name), .left = true };

		if (thread.tid > 0 && find_call(blocked->pid, &thread))
			blocked->threads[blocked->nr++] = thread;
	}
	if (dir)
		closedir(dir);
	for (size_t i = 0; i < blocked->nr; i++)
		find_lock(blocked->pid, &blocked->threads[i]);
}

static int by_own(const void *one, const void *other)
{
	const struct thread *a = one, *b = other;

	return a->own < b->own ? -1 : a->own > b->own;
}

struct blocked *blocked_find(pid_t pid)
{
	struct blocked *blocked = mmap(NULL, sizeof(*blocked), PROT_READ | PROT_WRITE,
				       MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	need_done(blocked == MAP_FAILED);
	blocked->pid = pid;
	work_on(blocked, find_threads, WORK_MS);
	qsort(blocked->threads, blocked->nr, sizeof(*blocked->threads), by_own);
	return blocked;
}

void blocked_free(struct blocked *blocked)
{
	munmap(blocked, sizeof(*blocked));
}

static struct thread *find_thread(struct blocked *blocked, pid_t own)
{
	const struct thread key = { .own = own };

	return bsearch(&key, blocked->threads, blocked->nr, sizeof(key), by_own);
}

/* ------------------------------------------------------------- interruptions */

/* In a stop before it returns, unless it has returned something else. */
static void repeat_call(const struct thread *thread)
{
	struct user_regs_struct regs;

	if (!thread->repeats || ptrace(PTRACE_GETREGS, thread->tid, NULL, &regs) ||
	    (int64_t)regs.orig_rax != thread->call.nr || (int64_t)regs.rax != -EINTR)
		return;
	ptrace(PTRACE_POKEUSER, thread->tid, offsetof(struct user, regs.rax),
	       -RESTART_NO_HANDLER);
}

/*
 * A thread whose wait no signal ends is let go when this process ends.  One that has
 * stopped for a signal of its own gets that.
 */
static void let_go(const struct thread *thread, uint64_t until)
{
	long signal = 0;
	int status = 0;

	if (wait_until(thread->tid, &status, __WALL, until) == thread->tid &&
	    WIFSTOPPED(status)) {
		if (status >> 16 == PTRACE_EVENT_STOP)
			repeat_call(thread);
		else
			signal = WSTOPSIG(status);
	}
	ptrace(PTRACE_DETACH, thread->tid, NULL, signal);
}

static const char *why_left(const struct thread *thread)
{
	if (!thread->decided)
		return "it took too long to look at them";
	return thread->may_stop ? "they could not be stopped" : "a stop might disturb them";
}

static char *describe_left(const struct thread *thread)
{
	const int64_t nr = thread->call.nr;
	const char *name = nr == NO_CALL ? "no system call" :
			   nr == CALL_OF_32_BITS ? "a 32-bit system call" : wait_call_name(nr);
	char *call = name ? format("%s", name) : format("system call %lld", (long long)nr);
	char *text = format("threads still wait (%s): %s", call, why_left(thread));

	free(call);
	return text;
}

void blocked_left(struct blocked *blocked, blocked_tell tell, void *context)
{
	for (size_t i = 0; i < blocked->nr; i++) {
		const struct thread *first = &blocked->threads[i];
		unsigned long left = 0;
		char *text;

		if (!first->left)
			continue;
		for (size_t j = i; j < blocked->nr; j++) {
			struct thread *thread = &blocked->threads[j];

			if (!thread->left || thread->call.nr != first->call.nr ||
			    why_left(thread) != why_left(first))
				continue;
			thread->left = false;
			left++;
		}
		text = describe_left(first);
		tell(context, left, text);
		free(text);
	}
}

static bool is_in_same_call(pid_t pid, const struct thread *thread)
{
	struct thread now = { .tid = thread->tid };

	return find_call(pid, &now) && !memcmp(&now.call, &thread->call, sizeof(now.call));
}

/* Asking about a call takes time, in which it may end.  The thread may have a debugger. */
static void interrupt(pid_t pid, struct thread *thread)
{
	thread->left = is_in_same_call(pid, thread);
	if (!thread->left)
		return;
	thread->interrupted = !ptrace(PTRACE_SEIZE, thread->tid, NULL, NULL);
	if (thread->interrupted)
		ptrace(PTRACE_INTERRUPT, thread->tid, NULL, NULL);
	thread->left = !thread->interrupted;
}

/* 0: there is none. */
static unsigned long status_number(const struct thread *thread, const char *field)
{
	char *value = proc_value(thread->tid, "status", field);
	unsigned long number = value ? strtoul(value, NULL, 10) : 0;

	free(value);
	return number;
}

static bool is_asleep(const struct thread *thread)
{
	char *state = proc_value(thread->tid, "status", "State:\t");
	bool asleep = state && *state == 'S';

	free(state);
	return asleep;
}

/* How often it has begun to wait. */
static unsigned long count_switches(const struct thread *thread)
{
	return status_number(thread, "voluntary_ctxt_switches:");
}

/*
 * Its filter sees a resumed call again, and may forbid restart_syscall().  While the thread
 * waits for the filter's supervisor, that would do the call twice.
 */
static bool is_filtered(pid_t pid, const struct thread *thread)
{
	char place[128];

	if (status_number(thread, "Seccomp:") != SECCOMP_MODE_FILTER)
		return false;
	read_task(pid, thread->tid, "wchan", place, sizeof(place));
	return uses_restart_syscall(&thread->call) || !*place || !strcmp(place, "0") ||
	       strstr(place, "seccomp");
}

static void decide(struct blocked *blocked, struct thread *thread)
{
	const enum after_stop after = after_stop(thread->tid, &thread->call);

	thread->may_stop = after != STOP_DISTURBS && !is_filtered(blocked->pid, thread);
	thread->repeats = after == STOP_REPEATS;
	thread->ends_soon = !thread->may_stop &&
			    time_limit(thread->tid, &thread->call) <= STOP_MS * 1000000ULL;
	thread->switches = count_switches(thread);
	thread->decided = true;
}

static void interrupt_threads(struct blocked *blocked)
{
	const uint64_t until = now_ns() + STOP_MS * 1000000ULL;

	for (size_t i = 0; i < blocked->nr && now_ns() < until; i++)
		decide(blocked, &blocked->threads[i]);
	blocked->until = now_ns() + STOP_MS * 1000000ULL;
	for (size_t i = 0; i < blocked->nr; i++)
		if (blocked->threads[i].may_stop)
			interrupt(blocked->pid, &blocked->threads[i]);
	for (size_t i = 0; i < blocked->nr; i++)
		if (blocked->threads[i].interrupted)
			let_go(&blocked->threads[i], blocked->until);
}

void blocked_interrupt(struct blocked *blocked)
{
	work_on(blocked, interrupt_threads, WORK_MS);
}

/* Looks only at what a program cannot withhold. */
static bool has_run(const struct thread *thread)
{
	return !is_asleep(thread) || count_switches(thread) != thread->switches;
}

bool blocked_will_run(struct blocked *blocked)
{
	const bool over = now_ns() > blocked->until;
	bool some = false;

	for (size_t i = 0; i < blocked->nr; i++) {
		struct thread *thread = &blocked->threads[i];

		if (thread->ends_soon && has_run(thread)) {
			thread->ends_soon = false;
			thread->left = false;
		}
		some |= thread->ends_soon;
	}
	return some && !over;
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

/* Whatever looks at a program to name its locks may wait for it for ever, as above. */
static void name_locks(struct blocked *blocked)
{
	struct symbols *symbols = symbols_new();
	size_t nr = 0;

	for (size_t i = 0; i < blocked->nr && nr < MAX_NAMES; i++) {
		struct thread *thread = &blocked->threads[i];
		char *name;

		if (!thread->in_circle)
			continue;
		name = lock_name(symbols, blocked->pid, thread->lock);
		if (strlen(name) < NAME_SIZE)
			thread->name = strcpy(blocked->names[nr++], name);
		free(name);
	}
	symbols_free(symbols);
}

static bool find_circles(struct blocked *blocked)
{
	bool any = false;

	for (size_t i = 0; i < blocked->nr; i++) {
		struct thread *thread = find_circle(blocked, &blocked->threads[i], i + 1);

		if (!thread)
			continue;
		any = true;
		thread->is_first = true;
		for (; !thread->in_circle; thread = next_of(blocked, thread))
			thread->in_circle = true;
	}
	return any;
}

static void put_thread(struct blocked *blocked, const struct thread *thread, FILE *to)
{
	char text[64], *comm;

	read_task(blocked->pid, thread->tid, "comm", text, sizeof(text));
	text[strcspn(text, "\n")] = '\0';
	comm = text_clean(text);
	fprintf(to, " %d (%s) for ", thread->tid, comm);
	if (thread->name)
		fputs(thread->name, to);
	else
		fprintf(to, "0x%llx", (unsigned long long)thread->lock);
	fprintf(to, ", which %d holds", next_of(blocked, thread)->tid);
	free(comm);
}

static void tell_circle(struct blocked *blocked, const struct thread *first, blocked_tell tell,
			void *context)
{
	const struct thread *thread = first;
	unsigned long nr = 0;
	char *text;
	size_t size;
	FILE *to = need(open_memstream(&text, &size));

	fputs("threads in a deadlock wait:", to);
	do {
		if (nr++)
			putc(';', to);
		put_thread(blocked, thread, to);
		thread = next_of(blocked, thread);
	} while (thread != first);
	need_done(fclose(to));
	tell(context, nr, text);
	free(text);
}

void blocked_deadlocks(struct blocked *blocked, blocked_tell tell, void *context)
{
	if (!find_circles(blocked))
		return;
	work_on(blocked, name_locks, NAMES_MS);
	for (size_t i = 0; i < blocked->nr; i++)
		if (blocked->threads[i].is_first)
			tell_circle(blocked, &blocked->threads[i], tell, context);
}

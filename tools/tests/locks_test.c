// SPDX-License-Identifier: MIT
/*
 * The locks that threads wait for when a recording ends: their names, many locks, and one in
 * memory that cannot be read.
 */
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "blocked.h"
#include "check.h"
#include "deadlocks.h"
#include "lock_name.h"
#include "symbol.h"
#include "tool.h"

static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both;

#define RING	80

static uint32_t ring[RING][3];
static unsigned long in_ring, with_name;

static void *wait_in_ring(void *context)
{
	const long i = (long)context;

	ring[i][0] = 2;
	ring[i][2] = gettid();
	pthread_barrier_wait(&both);
	syscall(SYS_futex, ring[(i + 1) % RING], FUTEX_WAIT_PRIVATE, 2, NULL);
	return NULL;
}

static __attribute__((noreturn)) void be_ring(void)
{
	pthread_t thread;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	pthread_barrier_init(&both, NULL, RING);
	for (long i = 0; i < RING; i++)
		pthread_create(&thread, NULL, wait_in_ring, (void *)i);
	for (;;)
		pause();
}

static pid_t first, holder;

static void count_names(void *context, unsigned long nr, const char *text)
{
	(void)context;
	in_ring = nr;
	with_name = 0;
	if (sscanf(text, "%*[^:]: %d %*[^,], which %d holds", &first, &holder) != 2)
		in_ring = 0;
	for (; (text = strstr(text, " for ring")); text++)
		with_name++;
}

/* A hostile program has thousands, and as many mappings. */
static void not_all_locks_of_many_have_names(void)
{
	struct blocked *blocked;
	pid_t pid = fork();

	if (!pid)
		be_ring();
	for (int i = 0; i < 500 && !in_ring; i++) {
		usleep(20000);
		blocked = blocked_find(pid);
		blocked_deadlocks(blocked, count_names, NULL);
		blocked_free(blocked);
	}
	CHECK(in_ring == RING && with_name == 64);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static bool has_thread(pid_t pid, pid_t tid)
{
	char *path = format("/proc/%d/task/%d", pid, tid);
	const bool has = !access(path, F_OK);

	free(path);
	return has;
}

/* There the ids in its locks are others than here. */
static void locks_in_a_container(void)
{
	struct blocked *blocked;
	pid_t pid = syscall(SYS_clone, CLONE_NEWPID | SIGCHLD, NULL, NULL, NULL, NULL);

	if (!pid)
		be_ring();
	if (pid < 0) {
		printf("# no PID namespace can be made here\n");
		return;
	}
	in_ring = 0;
	for (int i = 0; i < 250 && !in_ring; i++) {
		usleep(20000);
		blocked = blocked_find(pid);
		blocked_deadlocks(blocked, count_names, NULL);
		blocked_free(blocked);
	}
	CHECK(in_ring == RING);
	CHECK(first != holder && has_thread(pid, first) && has_thread(pid, holder));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static uint32_t *word;

static void *wait_for_page(void *context)
{
	(void)context;
	syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, 0, NULL);
	return NULL;
}

/* Whoever reads the word waits for a page that nobody gives. */
static __attribute__((noreturn)) void withhold_page(int ready)
{
	const long size = sysconf(_SC_PAGESIZE);
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register range = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	int faults = syscall(SYS_userfaultfd, O_CLOEXEC);
	pthread_t thread;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	word = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	*word = 0;
	pthread_create(&thread, NULL, wait_for_page, NULL);
	usleep(100000);
	range.range.start = (uintptr_t)word;
	range.range.len = size;
	madvise(word, size, MADV_DONTNEED);
	if (ioctl(faults, UFFDIO_API, &api) || ioctl(faults, UFFDIO_REGISTER, &range))
		_exit(1);
	write(ready, "", 1);
	for (;;)
		pause();
}

static void a_page_that_does_not_come(void)
{
	const uint64_t start = now_ns();
	struct blocked *blocked;
	int ends[2];
	pid_t pid;
	char byte;

	CHECK(!pipe(ends));
	pid = fork();
	if (!pid)
		withhold_page(ends[1]);
	close(ends[1]);
	CHECK(read(ends[0], &byte, 1) == 1);
	blocked = blocked_find(pid);
	blocked_interrupt(blocked);
	deadlocks[0] = '\0';
	blocked_left(blocked, note_deadlock, NULL);
	CHECK(!*deadlocks);
	CHECK(now_ns() - start < 10000000000);
	blocked_free(blocked);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(ends[0]);
}

static long with_value[4] = { 1 }, without_value[1 << 16];

static void names_of_locks(void)
{
	struct symbols *symbols = symbols_new();
	int on_stack;
	char *name;

	CHECK(is(lock_name(symbols, getpid(), (uint64_t)&held), "held"));
	CHECK(is(lock_name(symbols, getpid(), (uint64_t)&with_value[1]), "with_value+0x8"));
	CHECK(is(lock_name(symbols, getpid(), (uint64_t)&without_value[1 << 15]),
		 "without_value+0x40000"));
	CHECK(is(lock_name(symbols, getpid(), 0x10), "0x10"));
	CHECK(is(lock_name(symbols, 1 << 28, 0x10), "0x10"));
	name = lock_name(symbols, getpid(), (uint64_t)&on_stack);
	CHECK(strstr(name, " in [stack]"));
	free(name);
	symbols_free(symbols);
}

int main(void)
{
	RUN(not_all_locks_of_many_have_names);
	RUN(locks_in_a_container);
	RUN(a_page_that_does_not_come);
	RUN(names_of_locks);
	return check_end();
}

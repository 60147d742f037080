// SPDX-License-Identifier: MIT
/*
 * Threads that wait when a recording ends, in a deadlock or in any kind of call.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/aio_abi.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/io_uring.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "blocked.h"
#include "check.h"
#include "deadlocks.h"
#include "tool.h"

static pthread_mutex_t lock_a = PTHREAD_MUTEX_INITIALIZER, lock_b = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both;

static void *take_both(void *context)
{
	pthread_mutex_t *const locks[2][2] = { { &lock_a, &lock_b }, { &lock_b, &lock_a } };
	long i = (long)context;

	prctl(PR_SET_NAME, i ? "second" : "first\n1");
	pthread_mutex_lock(locks[i][0]);
	pthread_barrier_wait(&both);
	pthread_mutex_lock(locks[i][1]);
	return NULL;
}

/* Waits for a lock that is not part of the cycle. */
static void *take_held(void *context)
{
	(void)context;
	pthread_mutex_lock(&held);
	return NULL;
}

/* Waits for a futex that is not a mutex, but has a thread id where a mutex has its owner. */
static void *wait_for_word(void *context)
{
	static uint32_t words[3];

	(void)context;
	words[2] = gettid();
	syscall(SYS_futex, words, FUTEX_WAIT_PRIVATE, 0, NULL);
	return NULL;
}

static int semaphore;

/* Sleeps for the requested time despite interruptions, and reports one that was too short. */
static void *sleep_once(void *context)
{
	const struct timespec time = { .tv_sec = 3 };
	struct timespec from, to;
	int failed;

	clock_gettime(CLOCK_MONOTONIC, &from);
	failed = nanosleep(&time, NULL);
	clock_gettime(CLOCK_MONOTONIC, &to);
	if (failed || to.tv_sec * 1000 + to.tv_nsec / 1000000 <
		      from.tv_sec * 1000 + from.tv_nsec / 1000000 + 2999)
		_exit(1);
	failed = *(bool *)context;
	semctl(semaphore, 0, IPC_RMID);
	_exit(failed);
	return NULL;
}

static volatile bool wait_ended;

/* Polls with a timeout that is longer than the test. */
static void *poll_nothing(void *context)
{
	struct epoll_event event;

	(void)context;
	epoll_wait(epoll_create1(0), &event, 1, 60000);
	wait_ended = true;
	return NULL;
}

static void *poll_forever(void *context)
{
	struct epoll_event event;

	(void)context;
	epoll_wait(epoll_create1(0), &event, 1, -1);
	wait_ended = true;
	return NULL;
}

static void *wait_for_signal(void *context)
{
	sigset_t set;

	(void)context;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	syscall(SYS_rt_sigtimedwait, &set, NULL, NULL, 8);
	wait_ended = true;
	return NULL;
}

static void *wait_for_semaphore(void *context)
{
	struct sembuf down = { .sem_op = -1 };

	(void)context;
	semop(semaphore, &down, 1);
	wait_ended = true;
	return NULL;
}

static void *accept_one(void *context)
{
	int listening = socket(AF_INET, SOCK_STREAM, 0);

	(void)context;
	listen(listening, 1);
	accept(listening, NULL, NULL);
	wait_ended = true;
	return NULL;
}

static void *read_socket(void *context)
{
	int ends[2];
	char byte;

	(void)context;
	socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
	if (read(ends[0], &byte, 1) <= 0)
		wait_ended = true;
	return NULL;
}

/* How to wait in recvfrom(). */
struct receive {
	int flags, timeout, least;
};

static void *receive(void *context)
{
	const struct receive *with = context;
	const struct timeval timeout = { .tv_sec = with->timeout };
	int ends[2];
	char bytes[3];

	socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
	setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
	setsockopt(ends[0], SOL_SOCKET, SO_RCVLOWAT, &with->least, sizeof(with->least));
	if ((with->flags || with->least > 1) && write(ends[1], "", 1) != 1)
		_exit(3);
	recv(ends[0], bytes, sizeof(bytes), with->flags);
	wait_ended = true;
	return NULL;
}

/* Waits until there is room for that many bytes. */
static void *write_pipe(void *context)
{
	static const char bytes[2 * PIPE_BUF];
	int ends[2];

	pipe2(ends, O_NONBLOCK);
	while (write(ends[1], bytes, PIPE_BUF) > 0)
		;
	fcntl(ends[1], F_SETFL, 0);
	write(ends[1], bytes, *(size_t *)context);
	wait_ended = true;
	return NULL;
}

static size_t writes[] = { 1, PIPE_BUF + 1 };

static void *send_message(void *context)
{
	int ends[2];

	(void)context;
	socketpair(AF_UNIX, SOCK_DGRAM, 0, ends);
	while (send(ends[0], "", 1, MSG_DONTWAIT) > 0)
		;
	send(ends[0], "", 1, 0);
	wait_ended = true;
	return NULL;
}

/* Of those who connect, one is in the queue. */
static void *connect_too(void *context)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	socklen_t len = sizeof(address);
	int listening = socket(AF_UNIX, SOCK_STREAM, 0);

	(void)context;
	bind(listening, (void *)&address, sizeof(sa_family_t));
	getsockname(listening, (void *)&address, &len);
	listen(listening, 0);
	connect(socket(AF_UNIX, SOCK_STREAM, 0), (void *)&address, len);
	connect(socket(AF_UNIX, SOCK_STREAM, 0), (void *)&address, len);
	wait_ended = true;
	return NULL;
}

static void *get_event(void *context)
{
	aio_context_t events = 0;
	struct io_event event;

	(void)context;
	syscall(SYS_io_setup, 1, &events);
	syscall(SYS_io_getevents, events, 1, 1, &event, NULL);
	wait_ended = true;
	return NULL;
}

/* Where io_uring is forbidden, it only waits. */
static void *enter_ring(void *context)
{
	struct io_uring_params params = { 0 };
	int ring = syscall(SYS_io_uring_setup, 1, &params);

	(void)context;
	if (ring < 0)
		pause();
	syscall(SYS_io_uring_enter, ring, 0, 1, IORING_ENTER_GETEVENTS, NULL, 0);
	wait_ended = true;
	return NULL;
}

/* Each of its waits ends soon. */
static void *poll_often(void *context)
{
	const struct timespec time = { .tv_nsec = 400000000 };
	struct epoll_event event;
	int epoll = epoll_create1(0);

	(void)context;
	while (!syscall(SYS_epoll_pwait2, epoll, &event, 1, &time, NULL, 0))
		;
	wait_ended = true;
	return NULL;
}

/* The kernel cannot write to where the timeout is. */
static void *poll_constant(void *context)
{
	static const struct timespec time = { .tv_sec = 60 };

	(void)context;
	syscall(SYS_ppoll, NULL, 0, &time, NULL, 0);
	wait_ended = true;
	return NULL;
}

/* Its timeout is on its stack. */
static void *poll_by_library(void *context)
{
	static const struct timespec time = { .tv_sec = 60 };

	(void)context;
	ppoll(NULL, 0, &time, NULL);
	wait_ended = true;
	return NULL;
}

/* Its filter allows all calls but restart_syscall(). */
static void *poll_filtered(void *context)
{
	struct sock_filter steps[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_restart_syscall, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = { ARRAY_SIZE(steps), steps };

	(void)context;
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
	syscall(SYS_poll, NULL, 0, -1);
	wait_ended = true;
	return NULL;
}

/* From a terminal, under a number that is a pipe in the other threads. */
static void *read_own_file(void *context)
{
	const int number = 100;
	int ends[2];
	char byte;

	(void)context;
	pipe(ends);
	dup2(ends[0], number);
	unshare(CLONE_FILES);
	dup2(posix_openpt(O_RDWR | O_NOCTTY), number);
	read(number, &byte, 1);
	wait_ended = true;
	return NULL;
}

static struct receive receives[] = {
	{ .least = 1 }, { .least = 1, .timeout = 60 }, { .least = 1, .flags = MSG_WAITALL },
	{ .least = 2 },
};

static const struct {
	void *(*run)(void *context);
	void *context;
} waits[] = {
	{ take_both, (void *)0 }, { take_both, (void *)1 }, { .run = take_held },
	{ .run = wait_for_word }, { .run = poll_nothing }, { .run = poll_forever },
	{ .run = wait_for_signal }, { .run = wait_for_semaphore }, { .run = accept_one },
	{ .run = read_socket }, { receive, &receives[0] }, { receive, &receives[1] },
	{ receive, &receives[2] }, { receive, &receives[3] }, { write_pipe, &writes[0] },
	{ write_pipe, &writes[1] }, { .run = send_message }, { .run = connect_too },
	{ .run = get_event }, { .run = enter_ring }, { .run = poll_often },
	{ .run = poll_constant }, { .run = poll_by_library }, { .run = poll_filtered },
	{ .run = read_own_file }, { sleep_once, (void *)&wait_ended },
};

/* The last thread ends the process. */
static __attribute__((noreturn)) void be_blocked(void)
{
	pthread_t thread;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	pthread_barrier_init(&both, NULL, 2);
	pthread_mutex_lock(&held);
	semaphore = semget(IPC_PRIVATE, 1, 0600);
	for (size_t i = 0; i < ARRAY_SIZE(waits); i++)
		pthread_create(&thread, NULL, waits[i].run, waits[i].context);
	pthread_join(thread, NULL);
	_exit(2);
}

/* All threads wait: the first one for the last. */
static struct blocked *wait_until_blocked(pid_t pid)
{
	const struct timespec step = { .tv_nsec = 20000000 };

	for (int i = 0; i < 40; i++) {
		struct blocked *blocked = blocked_find(pid);

		deadlocks[0] = '\0';
		in_deadlocks = 0;
		blocked_deadlocks(blocked, note_deadlock, NULL);
		if (in_deadlocks)
			return blocked;
		blocked_free(blocked);
		nanosleep(&step, NULL);
	}
	return NULL;
}

/*
 * Twice, since the kernel resumes some calls as another one; again, if the thread whose waits
 * end soon has just run.
 */
static struct blocked *find_and_interrupt(pid_t pid)
{
	struct blocked *blocked = NULL;

	for (int i = 0; i < 2 || (i < 5 && !blocked_will_run(blocked)); i++) {
		if (blocked)
			blocked_free(blocked);
		blocked = blocked_find(pid);
		blocked_interrupt(blocked);
	}
	return blocked;
}

static void a_deadlock_and_others(void)
{
	struct blocked *blocked;
	int status, one, other;
	pid_t pid = fork();
	char *end;

	if (!pid)
		be_blocked();
	blocked = wait_until_blocked(pid);
	CHECK(blocked);
	CHECK(in_deadlocks == 2);
	CHECK(sscanf(deadlocks, "threads in a deadlock wait: %d (first\\0121) for lock_b, which",
		     &one) == 1);
	end = strchr(deadlocks, ';');
	CHECK(end && sscanf(end, "; %d (second) for lock_a, which %d holds.", &other,
			    &status) == 2);
	CHECK(end && status == one && one != other);
	/* Let all threads reach their wait. */
	usleep(500000);
	if (blocked) {
		blocked_left(blocked, note_deadlock, NULL);
		blocked_free(blocked);
	}
	CHECK(strstr(deadlocks, "threads still wait (futex): it took too long to look at them"));
	deadlocks[0] = '\0';
	in_deadlocks = 0;
	blocked = find_and_interrupt(pid);
	CHECK(blocked_will_run(blocked));
	/* Until it has run. */
	for (int i = 0; i < 80 && blocked_will_run(blocked); i++)
		usleep(10000);
	CHECK(!blocked_will_run(blocked));
	blocked_left(blocked, note_deadlock, NULL);
	/*
	 * Two threads have a timeout, and one has it in constant memory; two want more bytes
	 * than there are, one writes many, one has a filter, and one reads from a terminal.
	 */
	CHECK(in_deadlocks == 8 && strstr(deadlocks, "threads still wait (epoll_wait): "));
	CHECK(strstr(deadlocks, "threads still wait (recvfrom): "));
	CHECK(strstr(deadlocks, "threads still wait (write): a stop might disturb them"));
	CHECK(strstr(deadlocks, "threads still wait (poll): "));
	CHECK(strstr(deadlocks, "threads still wait (ppoll): "));
	CHECK(strstr(deadlocks, "threads still wait (read): "));
	/* The sleeper sleeps for the rest of its time; the others are still in their calls. */
	CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && !WEXITSTATUS(status));
	if (blocked)
		blocked_free(blocked);
}

/* Of which the first thread has ended. */
static void a_zombie(void)
{
	const struct timespec step = { .tv_nsec = 20000000 };
	struct blocked *blocked;
	pthread_t thread;
	char *path, text[64] = "";
	pid_t pid = fork();

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pthread_create(&thread, NULL, poll_forever, NULL);
		pthread_exit(NULL);
	}
	path = format("/proc/%d/syscall", pid);
	for (int i = 0; i < 40 && strncmp(text, "-1 0x0 0x0", 10); i++) {
		FILE *file = fopen(path, "re");

		nanosleep(&step, NULL);
		CHECK(file && fgets(text, sizeof(text), file));
		if (file)
			fclose(file);
	}
	CHECK(!strncmp(text, "-1 0x0 0x0", 10));
	deadlocks[0] = '\0';
	blocked = blocked_find(pid);
	blocked_interrupt(blocked);
	blocked_left(blocked, note_deadlock, NULL);
	CHECK(!*deadlocks);
	blocked_free(blocked);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	free(path);
}

static void nobody(void)
{
	struct blocked *blocked = blocked_find(1 << 28);

	deadlocks[0] = '\0';
	blocked_deadlocks(blocked, note_deadlock, NULL);
	CHECK(!*deadlocks);
	blocked_interrupt(blocked);
	CHECK(!blocked_will_run(blocked));
	blocked_left(blocked, note_deadlock, NULL);
	CHECK(!*deadlocks);
	blocked_free(blocked);
}

int main(void)
{
	RUN(a_deadlock_and_others);
	RUN(a_zombie);
	RUN(nobody);
	return check_end();
}

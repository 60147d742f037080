// SPDX-License-Identifier: GPL-2.0
/*
 * What tasks report about their waits: how long, in which call, and from where; and what
 * those who wake them report.
 */
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>

#include "trace_fixture.h"

#define WAITED	"codectl/task_waited"
#define WAKES	"codectl/task_wakes"
#define MIN_US	"code_wait_min_us"
#define SHORT	"200000"	/* us, and longer than anything waits by itself */
#define MS	1000000L	/* ns */

/*
 * Who hears of the scheduler's events besides: code of the scheduler that calls more than one
 * is not patched for another, which an emulator need not survive while others run it.
 */
static struct tracefs held[2];

static void __attribute__((constructor)) hold_events(void)
{
	static const char * const events[] = { "sched/sched_switch", "sched/sched_waking" };
	char name[64];

	for (int i = 0; i < 2; i++) {
		snprintf(name, sizeof(name), "codectl_held_%d", i);
		if (tracefs_open(&held[i], name))
			return;
		for (int j = 0; j < 2; j++) {
			snprintf(name, sizeof(name), "events/%s/filter", events[j]);
			tracefs_write(&held[i], name, "common_pid < 0");
			tracefs_enable(&held[i], events[j]);
		}
	}
}

static void __attribute__((destructor)) let_events_go(void)
{
	for (int i = 0; i < 2; i++)
		tracefs_close(&held[i]);
}

struct wait_event {
	pid_t pid;
	uint64_t ns;
	char state;
	long long nr;
	uint64_t arg0, arg1;
	unsigned int compat;
};

/* A system call, and the address that the innermost frame is to have. */
static inline __attribute__((always_inline)) uint64_t call3(long nr, long arg0, long arg1,
							    long arg2)
{
	register long none asm("r10") = 0;
	uint64_t ip;

	asm volatile("lea 1f(%%rip), %0\n\tsyscall\n1:"
		     : "=&r"(ip), "+a"(nr)
		     : "D"(arg0), "S"(arg1), "d"(arg2), "r"(none)
		     : "rcx", "r11", "memory");
	return ip;
}

static noinline void sleep_ms(long ms)
{
	struct timespec time = { ms / 1000, ms % 1000 * MS };

	truth_capture(call3(__NR_nanosleep, (long)&time, 0, 0));
}

/* By the thread, and with stacks. */
static int ask_for_waits(const struct tracefs *t, pid_t tid)
{
	char filter[32];

	snprintf(filter, sizeof(filter), "common_pid == %d", tid);
	return tracefs_write(t, "events/" WAITED "/filter", filter) ?:
	       tracefs_enable(t, WAITED) ?: tracefs_write(t, USER_STACKS, "1");
}

/* By whomever, with stacks. */
static int ask_for_wakes(const struct tracefs *t, pid_t woken)
{
	char filter[32];

	snprintf(filter, sizeof(filter), "pid == %d", woken);
	return tracefs_write(t, "events/" WAKES "/filter", filter) ?:
	       tracefs_enable(t, WAKES) ?: tracefs_write(t, USER_STACKS, "1");
}

static int set_min(const char *text)
{
	struct tracefs top;

	tracefs_top(&top);
	return tracefs_write(&top, MIN_US, text);
}

static bool parse_wait(const struct trace_entry *e, struct wait_event *w)
{
	int end = 0;

	return e && sscanf(strchr(e->text, ' '),
			   " pid=%d ns=%lu state=%c nr=%lld args=%lx,%lx compat=%u%n",
			   &w->pid, &w->ns, &w->state, &w->nr, &w->arg0, &w->arg1, &w->compat,
			   &end) == 7 && !strchr(e->text, ' ')[end];
}

/* The first one in a call, or of none: -1. */
static const struct trace_entry *find_event(const struct trace_log *log, const char *name,
					    long nr, struct wait_event *w)
{
	const struct trace_entry *e = NULL;

	while ((e = trace_find(log, e, name)))
		if (!parse_wait(e, w) || w->nr == nr)
			break;
	return e;
}

static const struct trace_entry *find_wait(const struct trace_log *log, long nr,
					   struct wait_event *w)
{
	return find_event(log, "task_waited: ", nr, w);
}

static const struct trace_entry *find_wake(const struct trace_log *log, long nr,
					   struct wait_event *w)
{
	return find_event(log, "task_wakes: ", nr, w);
}

static unsigned int count_waits(const struct trace_log *log, long nr)
{
	const struct trace_entry *e = NULL;
	struct wait_event w;
	unsigned int count = 0;

	while ((e = trace_find(log, e, "task_waited: ")))
		count += parse_wait(e, &w) && w.nr == nr;
	return count;
}

TEST_F(trace, sleep_and_its_stack)
{
	const struct trace_entry *e;
	struct wait_event w;

	ASSERT_EQ(0, ask_for_waits(&self->t, gettid()));
	/* The time may be running for a while before this leaves its CPU. */
	sleep_ms(200);
	READ_LOG();
	e = find_wait(&self->log, __NR_nanosleep, &w);
	ASSERT_NE(NULL, e);
	EXPECT_EQ(getpid(), e->pid);
	EXPECT_EQ(getpid(), w.pid);
	EXPECT_GE(w.ns, 20 * MS);
	EXPECT_EQ('S', w.state);
	EXPECT_EQ(0, w.arg1);
	EXPECT_EQ(0, w.compat);
	EXPECT_EQ(1, count_waits(&self->log, __NR_nanosleep));
	EXPECT_TRUE_STACK_OF(e);
}

static uint32_t word;

static void *wake_later(void *arg)
{
	usleep(30000);
	__atomic_store_n(&word, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1);
	return NULL;
}

TEST_F(trace, futex_and_which)
{
	struct wait_event w;
	pthread_t thread;

	ASSERT_EQ(0, ask_for_waits(&self->t, gettid()));
	word = 0;
	ASSERT_EQ(0, pthread_create(&thread, NULL, wake_later, NULL));
	while (!__atomic_load_n(&word, __ATOMIC_SEQ_CST))
		call3(__NR_futex, (long)&word, FUTEX_WAIT_PRIVATE, 0);
	pthread_join(thread, NULL);
	READ_LOG();
	ASSERT_NE(NULL, find_wait(&self->log, __NR_futex, &w));
	EXPECT_EQ((uint64_t)(long)&word, w.arg0);
	EXPECT_EQ(FUTEX_WAIT_PRIVATE, w.arg1);
	EXPECT_EQ('S', w.state);
}

/* Of what is read there is nothing for a while: then the other end writes. */
static void write_after(int fd, long ms)
{
	usleep(ms * 1000);
	if (write(fd, "", 1) != 1)
		_exit(1);
	_exit(0);
}

TEST_F(trace, shorter_ones_have_no_event)
{
	struct wait_event w;
	int fds[2];
	pid_t pid;
	char c;

	ASSERT_EQ(0, set_min(SHORT));
	ASSERT_EQ(0, ask_for_waits(&self->t, gettid()));
	sleep_ms(20);
	ASSERT_EQ(0, pipe(fds));
	pid = fork();
	if (!pid)
		write_after(fds[1], 400);
	EXPECT_EQ(1, read(fds[0], &c, 1));
	EXPECT_EQ(0, exit_status(pid));
	READ_LOG();
	EXPECT_EQ(0, set_min("0"));
	EXPECT_EQ(0, count_waits(&self->log, __NR_nanosleep));
	ASSERT_NE(NULL, find_wait(&self->log, __NR_read, &w));
	EXPECT_EQ(fds[0], w.arg0);
	EXPECT_GE(w.ns, 200 * MS);
}

TEST_F(trace, shortest_is_a_number)
{
	EXPECT_EQ(-EINVAL, set_min("x"));
	EXPECT_EQ(-EINVAL, set_min("-1"));
	EXPECT_EQ(-ERANGE, set_min("18446744073709551616"));
	EXPECT_EQ(0, set_min("18446744073709551615"));
	ASSERT_EQ(0, ask_for_waits(&self->t, gettid()));
	sleep_ms(20);
	READ_LOG();
	EXPECT_EQ(0, set_min("0"));
	EXPECT_EQ(0, trace_count(&self->log, "task_waited: "));
	/* It is there once, for all instances. */
	EXPECT_EQ(-ENOENT, tracefs_write(&self->t, MIN_US, "0"));
}

/* It is already waiting, and reported from then on. */
TEST_F(trace, began_before_the_event_was_enabled)
{
	struct wait_event w;
	struct trace_peer p;

	ASSERT_LE(0, peer_fork(&p));
	if (!p.pid) {
		peer_hear(p.to);
		_exit(0);
	}
	while (!has_state(p.pid, 'S'))
		usleep(1000);
	usleep(300000);
	ASSERT_EQ(0, ask_for_waits(&self->t, p.pid));
	usleep(50000);
	peer_say(p.to);
	EXPECT_EQ(0, exit_status(p.pid));
	READ_LOG();
	ASSERT_NE(NULL, find_wait(&self->log, __NR_read, &w));
	EXPECT_EQ('?', w.state);
	EXPECT_GE(w.ns, 50 * MS);
	EXPECT_LT(w.ns, 300 * MS);
}

/* A new task has not left a CPU yet, whatever its parent has. */
TEST_F(trace, new_tasks_have_not_waited)
{
	struct trace_peer p;

	ASSERT_EQ(0, tracefs_enable(&self->t, WAITED));
	sleep_ms(20);
	ASSERT_EQ(0, tracefs_clear(&self->t));
	ASSERT_LE(0, peer_fork(&p));
	if (!p.pid)
		_exit(0);
	EXPECT_EQ(0, exit_status(p.pid));
	READ_LOG();
	for (unsigned int i = 0; i < self->log.nr; i++)
		EXPECT_FALSE(self->log.entry[i].pid == p.pid &&
			     strstr(self->log.entry[i].text, "state=?"));
}

static void compute(long ms)
{
	struct timespec now;

	do {
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	} while (now.tv_sec * 1000 + now.tv_nsec / MS < ms);
	_exit(0);
}

/* Two that share a CPU are preempted, which is no wait. */
TEST_F(trace, preempted_ones_do_not_wait)
{
	pid_t pids[2];
	const struct trace_entry *e = NULL;
	struct wait_event w;

	ASSERT_EQ(0, run_on_first_cpu(SCHED_OTHER));
	ASSERT_EQ(0, tracefs_enable(&self->t, WAITED));
	for (int i = 0; i < 2; i++) {
		pids[i] = fork();
		if (!pids[i])
			compute(200);
	}
	for (int i = 0; i < 2; i++)
		EXPECT_EQ(0, exit_status(pids[i]));
	READ_LOG();
	/* What it waits for is pages and locks of the kernel, while it starts and ends. */
	while ((e = trace_find(&self->log, e, "task_waited: ")))
		if (e->pid == pids[0] || e->pid == pids[1]) {
			ASSERT_TRUE(parse_wait(e, &w));
			EXPECT_EQ('D', w.state);
		}
}

static bool is_kernel_thread(pid_t pid)
{
	char status[2048];

	read_proc(pid, "status", status, sizeof(status));
	return strstr(status, "\nKthread:\t1\n");
}

/* Their work is done meanwhile, as of what is written to disk or freed by RCU. */
TEST_F(trace, threads_of_the_kernel_have_no_event)
{
	ASSERT_EQ(0, tracefs_enable(&self->t, WAITED));
	usleep(300000);
	READ_LOG();
	EXPECT_LT(0, trace_count(&self->log, "task_waited: "));
	for (unsigned int i = 0; i < self->log.nr; i++)
		EXPECT_FALSE(is_kernel_thread(self->log.entry[i].pid));
}

TEST_F(trace, stopped_and_gone_on)
{
	struct wait_event w;
	struct trace_peer p;

	ASSERT_LE(0, peer_fork(&p));
	if (!p.pid) {
		peer_say(p.from);
		while (!peer_hear(p.to))
			;
		_exit(0);
	}
	ASSERT_TRUE(peer_hear(p.from));
	ASSERT_EQ(0, ask_for_waits(&self->t, p.pid));
	kill(p.pid, SIGSTOP);
	while (!has_state(p.pid, 'T'))
		usleep(1000);
	/* It may not have left its CPU yet. */
	usleep(100000);
	kill(p.pid, SIGCONT);
	peer_say(p.to);
	EXPECT_EQ(0, exit_status(p.pid));
	READ_LOG();
	w.state = 0;
	for (const struct trace_entry *e = NULL;
	     w.state != 'T' && (e = trace_find(&self->log, e, "task_waited: "));)
		ASSERT_TRUE(parse_wait(e, &w));
	EXPECT_EQ('T', w.state);
	EXPECT_GE(w.ns, 20 * MS);
}

/* Waits in read() until somebody says something, and ends; peer_fork() is for that. */
static void hear_and_end(const struct trace_peer *p)
{
	peer_say(p->from);
	peer_hear(p->to);
	_exit(0);
}

static void await_sleep(const struct trace_peer *p)
{
	peer_hear(p->from);
	while (!has_state(p->pid, 'S'))
		usleep(1000);
}

static noinline void wake(const int *fds)
{
	truth_capture(call3(__NR_write, fds[1], (long)"", 1));
}

TEST_F(trace, woken_by_whom)
{
	const struct trace_entry *e;
	struct wait_event w;
	struct trace_peer p;

	ASSERT_LE(0, peer_fork(&p));
	if (!p.pid) {
		peer_hear(p.to);
		hear_and_end(&p);
	}
	ASSERT_EQ(0, ask_for_wakes(&self->t, p.pid));
	peer_say(p.to);
	await_sleep(&p);
	/* It has been woken before. */
	ASSERT_EQ(0, tracefs_clear(&self->t));
	/* The sleeper may not have left its CPU yet. */
	usleep(100000);
	wake(p.to);
	EXPECT_EQ(0, exit_status(p.pid));
	READ_LOG();
	e = find_wake(&self->log, __NR_read, &w);
	ASSERT_NE(NULL, e);
	EXPECT_EQ(getpid(), e->pid);
	EXPECT_EQ(p.pid, w.pid);
	EXPECT_GE(w.ns, 30 * MS);
	EXPECT_EQ('S', w.state);
	EXPECT_EQ(p.to[0], w.arg0);
	EXPECT_EQ(0, w.compat);
	EXPECT_TRUE_STACK_OF(e);
}

/* Following one process includes those who wake it, whoever they are. */
TEST_F(trace, woken_by_those_that_are_not_followed)
{
	char text[16];
	struct wait_event w;
	struct trace_peer p;

	ASSERT_LE(0, peer_fork(&p));
	if (!p.pid)
		hear_and_end(&p);
	snprintf(text, sizeof(text), "%d", p.pid);
	ASSERT_EQ(0, tracefs_write(&self->t, "set_event_pid", text));
	ASSERT_EQ(0, tracefs_enable(&self->t, WAKES));
	await_sleep(&p);
	peer_say(p.to);
	EXPECT_EQ(0, exit_status(p.pid));
	READ_LOG();
	ASSERT_NE(NULL, find_wake(&self->log, __NR_read, &w));
	EXPECT_EQ(p.pid, w.pid);
}

TEST_F(trace, woken_after_a_wait_that_began_before)
{
	struct wait_event w;
	struct trace_peer p;

	ASSERT_LE(0, peer_fork(&p));
	if (!p.pid)
		hear_and_end(&p);
	await_sleep(&p);
	usleep(300000);
	ASSERT_EQ(0, ask_for_wakes(&self->t, p.pid));
	usleep(50000);
	peer_say(p.to);
	EXPECT_EQ(0, exit_status(p.pid));
	READ_LOG();
	ASSERT_NE(NULL, find_wake(&self->log, __NR_read, &w));
	EXPECT_EQ('?', w.state);
	EXPECT_GE(w.ns, 50 * MS);
	EXPECT_LT(w.ns, 300 * MS);
}

/* That is timers, while another task runs there, which has nothing to do with it. */
TEST_F(trace, interrupts_wake_without_an_event)
{
	struct wait_event w;
	pid_t pid;

	ASSERT_EQ(0, run_on_first_cpu(SCHED_OTHER));
	ASSERT_EQ(0, ask_for_wakes(&self->t, gettid()));
	pid = fork();
	if (!pid)
		compute(200);
	for (int i = 0; i < 5; i++)
		sleep_ms(20);
	EXPECT_EQ(0, exit_status(pid));
	READ_LOG();
	EXPECT_EQ(NULL, find_wake(&self->log, __NR_nanosleep, &w));
}

TEST_F(trace, waking_is_told_of_long_waits_alone)
{
	struct trace_peer p;

	ASSERT_EQ(0, set_min(SHORT));
	ASSERT_LE(0, peer_fork(&p));
	if (!p.pid)
		hear_and_end(&p);
	ASSERT_EQ(0, ask_for_wakes(&self->t, p.pid));
	await_sleep(&p);
	peer_say(p.to);
	EXPECT_EQ(0, exit_status(p.pid));
	READ_LOG();
	EXPECT_EQ(0, set_min("0"));
	EXPECT_EQ(0, trace_count(&self->log, "task_wakes: "));
}

static int set_both(const struct tracefs *t, const char *text)
{
	return tracefs_write(t, "events/" WAITED "/enable", text) ?:
	       tracefs_write(t, "events/" WAKES "/enable", text);
}

/* Instances that come and go while everybody waits and runs. */
TEST_F(trace, enabled_and_disabled_under_load)
{
	pid_t pids[4];

	for (int i = 0; i < 4; i++) {
		pids[i] = fork();
		while (!pids[i])
			usleep(100);
	}
	for (int i = 0; i < 20; i++) {
		EXPECT_EQ(0, set_both(&self->t, "1"));
		usleep(5000);
		EXPECT_EQ(0, set_both(&self->t, "0"));
	}
	for (int i = 0; i < 4; i++) {
		kill(pids[i], SIGKILL);
		waitpid(pids[i], NULL, 0);
	}
	READ_LOG();
	EXPECT_LT(0, trace_count(&self->log, "task_waited: "));
}

TEST_HARNESS_MAIN

// SPDX-License-Identifier: MIT
/*
 * usage: waiting ROUNDS | waiting deadlock | waiting idle
 *
 * The first thread waits for a mutex that another thread holds and for bytes that another thread
 * writes, and it computes.  It prints how many nanoseconds each has taken, with the line of its
 * source (NAME NS LINE), and its id.  With "deadlock", three threads wait for each other's locks
 * in a cycle, and print their ids.  With "idle", five threads wait for events that do not come,
 * one of them with a long timeout, and one with a short timeout, again and again; the program ends
 * if one of the others no longer waits.
 */
#include <limits.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { LOCK_MS = 100, READ_MS = 60, RUN_MS = 240, OFTEN_MS = 700 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t may_hold, holds, may_write;
static int bytes[2];
static int lock_line, read_line;

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000ULL + time.tv_nsec;
}

static __attribute__((noinline)) void take_lock(void)
{
	lock_line = __LINE__ + 1;
	pthread_mutex_lock(&lock);
	__asm__ volatile("" ::: "memory");
}

static __attribute__((noinline)) void take_byte(void)
{
	char byte;

	read_line = __LINE__ + 1;
	if (read(bytes[0], &byte, 1) != 1)
		exit(1);
	__asm__ volatile("" ::: "memory");
}

static __attribute__((noinline)) void compute(void)
{
	const uint64_t end = now() + RUN_MS * 1000000ULL;

	while (now() < end)
		;
}

static __attribute__((noinline)) void let_others_wait(int ms)
{
	usleep(ms * 1000);
	__asm__ volatile("" ::: "memory");
}

static void *hold(void *context)
{
	for (;;) {
		sem_wait(&may_hold);
		pthread_mutex_lock(&lock);
		sem_post(&holds);
		let_others_wait(LOCK_MS);
		pthread_mutex_unlock(&lock);
	}
	return context;
}

static void *feed(void *context)
{
	for (;;) {
		sem_wait(&may_write);
		let_others_wait(READ_MS);
		if (write(bytes[1], "", 1) != 1)
			exit(1);
	}
	return context;
}

static void wait_and_compute(int rounds)
{
	uint64_t start = now(), in_lock = 0, in_read = 0, since;

	for (int i = 0; i < rounds; i++) {
		sem_post(&may_hold);
		sem_wait(&holds);
		since = now();
		take_lock();
		in_lock += now() - since;
		pthread_mutex_unlock(&lock);
		sem_post(&may_write);
		since = now();
		take_byte();
		in_read += now() - since;
		compute();
	}
	printf("take_lock %llu %d\ntake_byte %llu %d\nall %llu 0\ntid %d\n",
	       (unsigned long long)in_lock, lock_line, (unsigned long long)in_read, read_line,
	       (unsigned long long)(now() - start), gettid());
}

static void share(int rounds)
{
	pthread_t holder, feeder;

	sem_init(&may_hold, 0, 0);
	sem_init(&holds, 0, 0);
	sem_init(&may_write, 0, 0);
	if (pipe(bytes) || pthread_create(&holder, NULL, hold, NULL) ||
	    pthread_create(&feeder, NULL, feed, NULL))
		exit(1);
	wait_and_compute(rounds);
}

/* The test knows this name. */
pthread_mutex_t lock_a = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t lock_b = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t all_have_one;

struct locks {
	const char *name;
	pthread_mutex_t *first, *second;
};

static __attribute__((noipa)) void take_second(const struct locks *locks)
{
	pthread_mutex_lock(locks->second);
	__asm__ volatile("" ::: "memory");
}

static void *take_both(void *context)
{
	const struct locks *locks = context;

	pthread_mutex_lock(locks->first);
	pthread_barrier_wait(&all_have_one);
	printf("%s %d\n", locks->name, gettid());
	fflush(stdout);
	take_second(locks);
	return NULL;
}

/* The third lock has no name. */
static void deadlock(void)
{
	pthread_mutex_t *lock_c = malloc(sizeof(*lock_c));
	struct locks locks[] = {
		{ "one", &lock_a, &lock_b }, { "two", &lock_b, lock_c },
		{ "three", lock_c, &lock_a },
	};
	pthread_t threads[3];

	pthread_mutex_init(lock_c, NULL);
	pthread_barrier_init(&all_have_one, NULL, 3);
	for (int i = 0; i < 3; i++)
		if (pthread_create(&threads[i], NULL, take_both, &locks[i]))
			exit(1);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
}

static __attribute__((noinline)) void poll_for_long(void)
{
	struct epoll_event event;

	epoll_wait(epoll_create1(0), &event, 1, 3600000);
	exit(1);
}

static __attribute__((noinline)) void poll_forever(void)
{
	struct epoll_event event;

	epoll_wait(epoll_create1(0), &event, 1, -1);
	exit(1);
}

static void *poll_forever_too(void *context)
{
	poll_forever();
	return context;
}

static __attribute__((noinline)) void accept_forever(void)
{
	int listening = socket(AF_UNIX, SOCK_STREAM, 0);

	bind(listening, &(struct sockaddr){ .sa_family = AF_UNIX }, sizeof(sa_family_t));
	listen(listening, 1);
	accept(listening, NULL, NULL);
	exit(1);
}

static void *accept_forever_too(void *context)
{
	accept_forever();
	return context;
}

static __attribute__((noinline)) void poll_often(void)
{
	struct epoll_event event;
	int epoll = epoll_create1(0);

	while (!epoll_wait(epoll, &event, 1, OFTEN_MS))
		;
	exit(1);
}

static void *poll_often_too(void *context)
{
	poll_often();
	return context;
}

static __attribute__((noinline)) void write_forever(void)
{
	static const char page[PIPE_BUF];

	if (pipe(bytes))
		exit(1);
	while (write(bytes[1], page, sizeof(page)) == sizeof(page))
		;
	exit(1);
}

static void *write_forever_too(void *context)
{
	write_forever();
	return context;
}

static void idle(void)
{
	void *(*const others[])(void *) = {
		poll_forever_too, accept_forever_too, poll_often_too, write_forever_too,
	};
	pthread_t thread;

	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (pthread_create(&thread, NULL, others[i], NULL))
			exit(1);
	puts("for long\nforever");
	fflush(stdout);
	poll_for_long();
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	if (!strcmp(argv[1], "deadlock"))
		deadlock();
	else if (!strcmp(argv[1], "idle"))
		idle();
	else
		share(atoi(argv[1]));
	return 0;
}

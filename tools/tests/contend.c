// SPDX-License-Identifier: MIT
/*
 * usage: contend THREADS ROUNDS [MICROSECONDS]
 *
 * Threads that wait for one another, so that the stack of each system call is known: turn() and
 * take() or give() for futex, tell() for getppid.  Prints the addresses of some functions, and
 * at the end the number of turns.  Between turns the threads sleep for MICROSECONDS, if given.
 */
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static _Atomic int whose;
static int nr_threads, rounds, sleep_us;
static long turns;

static __attribute__((noinline)) void take(int mine)
{
	int other;

	while ((other = whose) != mine)
		syscall(SYS_futex, &whose, FUTEX_WAIT_PRIVATE, other, NULL);
}

static __attribute__((noinline)) void give(int next)
{
	whose = next;
	syscall(SYS_futex, &whose, FUTEX_WAKE_PRIVATE, 1 << 30);
}

static __attribute__((noinline)) void tell(void)
{
	syscall(SYS_getppid);
	__asm__ volatile("");
}

static __attribute__((noinline)) void turn(int mine)
{
	take(mine);
	turns++;
	tell();
	give((mine + 1) % nr_threads);
	__asm__ volatile("");
}

static void *worker(void *context)
{
	for (int i = 0; i < rounds; i++) {
		turn((long)context);
		if (sleep_us)
			usleep(sleep_us);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[64];

	if (argc < 3 || argc > 4)
		return 2;
	nr_threads = atoi(argv[1]);
	rounds = atoi(argv[2]);
	sleep_us = argc == 4 ? atoi(argv[3]) : 0;
	if (nr_threads < 1 || nr_threads > 64)
		return 2;
	printf("take %p\nsyscall %p\n", (void *)take, (void *)syscall);
	fflush(stdout);
	for (long i = 0; i < nr_threads; i++)
		if (pthread_create(&threads[i], NULL, worker, (void *)i))
			return 1;
	for (int i = 0; i < nr_threads; i++)
		pthread_join(threads[i], NULL);
	printf("turns %ld\n", turns);
	return 0;
}

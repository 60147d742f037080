// SPDX-License-Identifier: GPL-2.0
/*
 * futex_load: threads that contend for locks of the C library, from call chains of different
 * lengths.
 *
 * usage: futex_load THREADS ROUNDS
 *
 * Thread n locks and waits CHAIN * n calls deep, the last one DEEP calls.
 */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#define CHAIN	4
#define DEEP	150

static pthread_mutex_t locks[2] = {
	PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER
};
static int nr_threads, nr_rounds;

/* Threads that want the lock meanwhile have to wait in the kernel. */
static __attribute__((noinline)) void contend(int round)
{
	pthread_mutex_t *lock = &locks[round % 2];

	pthread_mutex_lock(lock);
	usleep(500);
	pthread_mutex_unlock(lock);
}

static __attribute__((noinline)) void descend(int depth, int round)
{
	if (depth)
		descend(depth - 1, round);
	else
		contend(round);
	__asm__ volatile("");
}

static void *run_thread(void *arg)
{
	long nr = (long)arg;
	int depth = nr == nr_threads - 1 ? DEEP : CHAIN * nr;

	for (int i = 0; i < nr_rounds; i++)
		descend(depth, i);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[64];

	if (argc != 3)
		return 2;
	nr_threads = atoi(argv[1]);
	nr_rounds = atoi(argv[2]);
	if (nr_threads < 1 || nr_threads > 64)
		return 2;
	for (long i = 0; i < nr_threads; i++)
		if (pthread_create(&threads[i], NULL, run_thread, (void *)i))
			return 1;
	for (int i = 0; i < nr_threads; i++)
		pthread_join(threads[i], NULL);
	return 0;
}

// SPDX-License-Identifier: MIT
/*
 * The lock of the list of regions, of rewriting, and of the file of names.
 *
 * fork() takes it, so that a child has none of these half done: above all, no region
 * with an odd seq.  A signal handler that forks in the thread that has the lock goes
 * without; what was interrupted then continues in both processes, if the handler
 * returns there.  Appending takes no lock.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "internal.h"

static pthread_mutex_t lock;
static pthread_once_t once = PTHREAD_ONCE_INIT;
/* The owner's: whether it could be cancelled, and its errno. */
static int cancel_state;
static int saved_errno;
uint32_t codectl_forks = 1;
/* Forks by its owner, in signal handlers, that are in progress. */
static unsigned int in_owner;

static void init_lock(void)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ERRORCHECK);
	/*
	 * Such a mutex has the number of its owner from the moment it is taken; in
	 * others it is noted later, and a signal may come in between.
	 */
	pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT);
	pthread_mutex_init(&lock, &attr);
	pthread_mutexattr_destroy(&attr);
}

static void prepare(void)
{
	if (pthread_mutex_lock(&lock) == EDEADLK)
		in_owner++;
}

static void parent(void)
{
	if (in_owner)
		in_owner--;
	else
		pthread_mutex_unlock(&lock);
}

static void child(void)
{
	codectl_forks++;
	codectl_lookup_forked();
	codectl_map_forked();
	codectl_event_forked();
	/* It is owned by the number of the parent's thread, and stays so. */
	pthread_mutex_unlock(&lock);
	init_lock();
	if (!in_owner)
		return;
	pthread_mutex_lock(&lock);
	in_owner--;
}

static void start(void)
{
	init_lock();
	pthread_atfork(prepare, parent, child);
}

/* Before the program installs handlers of its own, whose locks come first. */
__attribute__((__constructor__)) static void begin(void)
{
	pthread_once(&once, start);
}

/* No caller changes errno in the end. */
void codectl_lock(void)
{
	int state, err = errno;

	begin();
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	/* A signal handler must not call what has taken it. */
	if (pthread_mutex_lock(&lock))
		abort();
	cancel_state = state;
	saved_errno = err;
}

/* For the end of the process, which waits for nobody. */
bool codectl_trylock(void)
{
	int state, err = errno;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	if (pthread_mutex_trylock(&lock)) {
		pthread_setcancelstate(state, NULL);
		return false;
	}
	cancel_state = state;
	saved_errno = err;

	return true;
}

void codectl_unlock(void)
{
	int state = cancel_state, err = saved_errno;

	pthread_mutex_unlock(&lock);
	pthread_setcancelstate(state, NULL);
	errno = err;
}

// SPDX-License-Identifier: MIT
#include <errno.h>
#include <pthread.h>

#include "preload.h"

static pthread_mutex_t lock;
/* The owner's: whether it could be cancelled, and its errno. */
static int cancel_state;
static int saved_errno;

static void init_lock(void)
{
	pthread_mutexattr_t attr;

	/* Taking it twice, from a handler or from what we call, gives an error. */
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ERRORCHECK);
	pthread_mutex_init(&lock, &attr);
	pthread_mutexattr_destroy(&attr);
}

bool preload_lock(void)
{
	int state, err = errno;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	if (pthread_mutex_lock(&lock)) {
		pthread_setcancelstate(state, NULL);
		return false;
	}
	cancel_state = state;
	saved_errno = err;

	return true;
}

void preload_unlock(void)
{
	int state = cancel_state, err = saved_errno;

	pthread_mutex_unlock(&lock);
	pthread_setcancelstate(state, NULL);
	errno = err;
}

/* If a handler forks in the thread that has the lock, the child has it, too. */
static bool in_owner;

static void prepare(void)
{
	in_owner = pthread_mutex_lock(&lock);
}

static void parent(void)
{
	if (!in_owner)
		pthread_mutex_unlock(&lock);
	in_owner = false;
}

static void child(void)
{
	init_lock();
	if (in_owner)
		pthread_mutex_lock(&lock);
	in_owner = false;
}

__attribute__((__constructor__(101))) static void begin(void)
{
	init_lock();
	pthread_atfork(prepare, parent, child);
}

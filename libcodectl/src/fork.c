// SPDX-License-Identifier: MIT
/*
 * The lock of the list of regions, of rewriting, and of the file of names.
 *
 * fork() takes it, so that a child has none of these half done: no region with
 * an odd seq, above all.  Appending takes nothing.
 */
#include <pthread.h>

#include "internal.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
/* Whether the owner of the lock could be cancelled. */
static int cancel_state;

static void prepare(void)
{
	pthread_mutex_lock(&lock);
}

static void parent(void)
{
	pthread_mutex_unlock(&lock);
}

static void child(void)
{
	codectl_lookup_forked();
	codectl_map_forked();
	codectl_event_forked();
	pthread_mutex_unlock(&lock);
}

static void at_fork(void)
{
	pthread_atfork(prepare, parent, child);
}

/* Before the program has handlers of its own, whose locks come first. */
__attribute__((__constructor__)) static void begin(void)
{
	pthread_once(&once, at_fork);
}

void codectl_lock(void)
{
	int state;

	begin();
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	pthread_mutex_lock(&lock);
	cancel_state = state;
}

/* For the end of the process, which waits for nobody. */
bool codectl_trylock(void)
{
	int state;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	if (pthread_mutex_trylock(&lock)) {
		pthread_setcancelstate(state, NULL);
		return false;
	}
	cancel_state = state;

	return true;
}

void codectl_unlock(void)
{
	int state = cancel_state;

	pthread_mutex_unlock(&lock);
	pthread_setcancelstate(state, NULL);
}

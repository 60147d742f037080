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
	pthread_mutex_unlock(&lock);
}

static void at_fork(void)
{
	pthread_atfork(prepare, parent, child);
}

void codectl_lock(void)
{
	pthread_once(&once, at_fork);
	pthread_mutex_lock(&lock);
}

void codectl_unlock(void)
{
	pthread_mutex_unlock(&lock);
}

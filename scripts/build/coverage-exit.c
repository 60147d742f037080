// SPDX-License-Identifier: MIT
/*
 * Linked with --wrap=_exit: a child that calls _exit() writes its counts as well, and a program
 * can write its counts despite its file limits.
 */
#include <sys/resource.h>

void __gcov_dump(void);
void __real__exit(int status);
void __wrap__exit(int status);

static void raise_limit(int resource)
{
	struct rlimit limit;

	getrlimit(resource, &limit);
	limit.rlim_cur = limit.rlim_max;
	setrlimit(resource, &limit);
}

/* Destructors without a priority run before the one that writes the counts. */
static void __attribute__((destructor)) raise_limits(void)
{
	raise_limit(RLIMIT_FSIZE);
	raise_limit(RLIMIT_NOFILE);
}

void __wrap__exit(int status)
{
	raise_limits();
	__gcov_dump();
	__real__exit(status);
}

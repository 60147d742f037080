// SPDX-License-Identifier: MIT
/*
 * Linked with --wrap=_exit: keeps the counts of a child that exits this way, too, and
 * lets a program write its counts whatever file limits it was given.
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

/* Called before the counts are written, as that has a priority. */
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

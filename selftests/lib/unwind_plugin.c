// SPDX-License-Identifier: GPL-2.0
/* A shared object whose every way of being entered asks for a stack. */
#include <stdlib.h>

#include "unwind_plugin.h"

static __attribute__((noinline)) int chosen(int n)
{
	plugin_event(PLUGIN_FUNCTION);
	return n + 1;
}

/* Hidden, so that it is resolved after all that the resolver itself needs. */
static __attribute__((used)) int (*resolve_chosen(void))(int)
{
	plugin_event(PLUGIN_IFUNC_RESOLVER);
	return chosen;
}

__attribute__((visibility("hidden"), ifunc("resolve_chosen")))
int by_ifunc(int n);

static __attribute__((constructor)) void construct(void)
{
	plugin_event(PLUGIN_CONSTRUCTOR);
}

static __attribute__((destructor)) void destruct(void)
{
	plugin_event(PLUGIN_DESTRUCTOR);
}

static int compare(const void *a, const void *b)
{
	plugin_event(PLUGIN_CALLBACK);
	return *(const int *)a - *(const int *)b;
}

/* The C library calls back into this object. */
int plugin_sort(int n)
{
	int values[2] = { n, 1 };

	qsort(values, 2, sizeof(int), compare);
	return values[0];
}

int plugin_chosen(int n)
{
	return by_ifunc(n);
}

int plugin_lazy(int n)
{
	return lazy_target(n) + 1;
}

// SPDX-License-Identifier: MIT
/* The object that plugin-host loads: plugin_run -> plugin_sort -> qsort(). */
#include <stdlib.h>

#include "demo.h"
#include "plugin.h"

static DEMO_FRAME unsigned int plugin_sort(unsigned int *keys, size_t nr,
					   plugin_compare_fn *compare)
{
	qsort(keys, nr, sizeof(keys[0]), compare);
	return keys[nr / 2];
}

DEMO_FRAME unsigned int plugin_run(unsigned int *keys, size_t nr,
				   unsigned int seed,
				   plugin_compare_fn *compare)
{
	demo_fill(keys, nr, seed);
	return plugin_sort(keys, nr, compare) ^ 1;
}

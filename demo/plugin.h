/* SPDX-License-Identifier: MIT */
#ifndef PLUGIN_H
#define PLUGIN_H

#include <stddef.h>

typedef int plugin_compare_fn(const void *, const void *);

/* Sorts @nr keys, generated from @seed, with @compare; returns the middle one. */
unsigned int plugin_run(unsigned int *keys, size_t nr, unsigned int seed,
			plugin_compare_fn *compare);

#endif /* PLUGIN_H */

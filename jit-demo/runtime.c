// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <codectl.h>

#include "engine.h"

/* A function that keeps its own frame and name. */
#define FRAME	__attribute__((noinline, noclone))

void run_open(struct run *run)
{
	memset(run, 0, sizeof(*run));
	run->arena = calloc(ARENA_WORDS, sizeof(*run->arena));
	if (!run->arena)
		engine_fail("no memory for arrays");
}

void run_reset(struct run *run)
{
	run->arena_used = 0;
	run->output_len = 0;
	if (run->output)
		run->output[0] = '\0';
}

void run_close(struct run *run)
{
	free(run->arena);
	free(run->output);
}

static FRAME int64_t rt_div(struct engine *engine, int64_t a, int64_t b)
{
	(void)engine;
	if (!b)
		engine_fail("division by zero");
	return b == -1 ? (int64_t)-(uint64_t)a : a / b;
}

static FRAME int64_t rt_mod(struct engine *engine, int64_t a, int64_t b)
{
	(void)engine;
	if (!b)
		engine_fail("division by zero");
	return b == -1 ? 0 : a % b;
}

static FRAME int64_t rt_print(struct engine *engine, int64_t value)
{
	struct run *run = &engine->run;

	if (run->output_size - run->output_len < 32) {
		run->output_size = run->output_size * 2 + 256;
		run->output = realloc(run->output, run->output_size);
		if (!run->output)
			engine_fail("no memory for what is printed");
	}
	run->output_len += sprintf(run->output + run->output_len, "%lld\n",
				   (long long)value);
	return value;
}

/* Called by loops and functions when a tracer asks for names. */
static FRAME int64_t rt_poll(struct engine *engine)
{
	(void)engine;
	codectl_names_poll();
	return 0;
}

/* array(nr): zeroed, and freed when the program ends. */
static FRAME int64_t rt_array(struct engine *engine, int64_t nr)
{
	struct run *run = &engine->run;
	int64_t *array = run->arena + run->arena_used;

	if (nr < 0 || nr > (int64_t)(ARENA_WORDS - run->arena_used))
		engine_fail("no memory for an array");
	run->arena_used += nr;
	memset(array, 0, nr * sizeof(*array));
	return (intptr_t)array;
}

struct order {
	struct engine *engine;
	int64_t function;
};

static FRAME int rt_compare(const void *a, const void *b, void *arg)
{
	const struct order *order = arg;
	int64_t values[2] = { *(const int64_t *)a, *(const int64_t *)b };
	int64_t result;

	result = engine_call(order->engine, order->function, values, 2);
	return (result > 0) - (result < 0);
}

/* sort(array, nr, &f): by qsort() of libc, with f(x, y) as the comparison. */
static FRAME int64_t rt_sort(struct engine *engine, int64_t array, int64_t nr,
			     int64_t function)
{
	struct order order = { engine, function };

	qsort_r((void *)array, nr, sizeof(int64_t), rt_compare, &order);
	return array;
}

/* each(array, nr, &f): the sum of f(x) over an array. */
static FRAME int64_t rt_each(struct engine *engine, int64_t array, int64_t nr,
			     int64_t function)
{
	const int64_t *values = (const int64_t *)array;
	uint64_t sum = 0;

	for (int64_t i = 0; i < nr; i++)
		sum += engine_call(engine, function, &values[i], 1);
	return sum;
}

/* A random number generator, to spend time in. */
static FRAME int64_t rt_spin(struct engine *engine, int64_t seed, int64_t nr)
{
	uint32_t x = seed | 1;

	(void)engine;
	while (nr-- > 0) {
		x ^= x << 13;
		x ^= x >> 17;
		x ^= x << 5;
	}
	return x;
}

const struct builtin builtins[NR_BUILTINS] = {
	[BUILTIN_DIV] = { "div", 2, rt_div },
	[BUILTIN_MOD] = { "mod", 2, rt_mod },
	[BUILTIN_POLL] = { "poll", 0, rt_poll },
	{ "print", 1, rt_print },
	{ "array", 1, rt_array },
	{ "sort", 3, rt_sort },
	{ "each", 3, rt_each },
	{ "spin", 2, rt_spin },
};

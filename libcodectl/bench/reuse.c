// SPDX-License-Identifier: MIT
/*
 * The cost of retiring functions and replacing them, and of many regions, by their
 * number.
 *
 * All figures are nanoseconds, each the best of several rounds, or bytes.  Lines that
 * begin with RESULT are machine-readable.
 */
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bench.h"

#define ROUNDS		5
#define MAX_FUNCS	20000
#define REPLACEMENTS	20000
#define PAGE		4096

static char *text;
static struct codectl_region *regions[MAX_FUNCS];
static unsigned long seed;

static unsigned long next_random(void)
{
	seed = seed * 6364136223846793005UL + 1442695040888963407UL;

	return seed >> 33;
}

static uint64_t func_at(unsigned long i)
{
	return (uintptr_t)text + i * FUNC_LEN;
}

static void add(struct codectl_region *region, unsigned long i,
		const char *name)
{
	if (codectl_region_add(region, func_at(i), FUNC_LEN, rows, 3, name))
		die("codectl_region_add");
}

static void retire(struct codectl_region *region, unsigned long i)
{
	if (codectl_region_retire(region, func_at(i), FUNC_LEN) != 3)
		die("codectl_region_retire");
}

static struct codectl_region *open_full(unsigned long nr, const char *name)
{
	struct codectl_region_attr attr = { .flags = CODECTL_REGION_REWRITE };
	struct codectl_region *region;
	unsigned long i;

	if (codectl_region_open(text, MAX_FUNCS * FUNC_LEN, &attr, &region))
		die("codectl_region_open");
	for (i = 0; i < nr; i++)
		add(region, i, name);

	return region;
}

/* All of them, one by one. */
static double bench_retire(unsigned long nr)
{
	unsigned long i, k, times = MAX_FUNCS / nr;
	struct codectl_region *region;
	double from, sum = 0;

	for (k = 0; k < times; k++) {
		region = open_full(nr, NULL);
		from = now();
		for (i = 0; i < nr; i++)
			retire(region, i);
		sum += now() - from;
		codectl_region_close(region);
	}

	return sum / (times * nr);
}

/* Some function is replaced by one of the same length. */
static double replace(unsigned long nr, const char *name)
{
	struct codectl_region *region = open_full(nr, name);
	unsigned long i, k;
	double from = now();

	for (k = 0; k < REPLACEMENTS; k++) {
		i = next_random() % nr;
		retire(region, i);
		add(region, i, name);
	}
	from = now() - from;
	codectl_region_close(region);

	return from / REPLACEMENTS;
}

static double bench_replace(unsigned long nr)
{
	return replace(nr, NULL);
}

static double bench_replace_named(unsigned long nr)
{
	return replace(nr, "LazyCompile:*function file.js:1234");
}

/* --- regions of a page each, with one function */

static void open_many(unsigned long nr)
{
	struct codectl_region_attr attr = { .max_rows = 64, .name_bytes = 1 };
	unsigned long i;
	char *at;

	for (i = 0; i < nr; i++) {
		at = text + i * PAGE;
		if (codectl_region_open(at, PAGE, &attr, &regions[i]) ||
		    codectl_region_add(regions[i], (uintptr_t)at, FUNC_LEN,
				       rows, 3, NULL))
			die("codectl_region_open");
	}
}

static void close_many(unsigned long nr)
{
	unsigned long i;

	for (i = 0; i < nr; i++)
		codectl_region_close(regions[i]);
}

static double bench_open(unsigned long nr)
{
	double from = now();

	open_many(nr);
	from = now() - from;
	close_many(nr);

	return from / nr;
}

static double bench_close(unsigned long nr)
{
	double from;

	open_many(nr);
	from = now();
	close_many(nr);

	return (now() - from) / nr;
}

static double bench_lookup(unsigned long nr)
{
	struct codectl_rule rule;
	unsigned long k;
	double from;

	open_many(nr);
	from = now();
	for (k = 0; k < REPLACEMENTS; k++)
		if (codectl_lookup((uintptr_t)text + next_random() % nr * PAGE,
				   &rule))
			die("codectl_lookup");
	from = now() - from;
	close_many(nr);

	return from / REPLACEMENTS;
}

static unsigned long resident(void)
{
	FILE *file = fopen("/proc/self/statm", "r");
	unsigned long pages = 0;

	if (!file || fscanf(file, "%*u %lu", &pages) != 1)
		die("/proc/self/statm");
	fclose(file);

	return pages * PAGE;
}

static double bench_memory(unsigned long nr)
{
	unsigned long before = resident();
	double bytes;

	open_many(nr);
	bytes = resident() - before;
	close_many(nr);

	return bytes / nr;
}

/**
 * struct measure - something that depends on the number of functions, or should not
 * @name: name for programs
 * @what: name for people
 * @bench: returns its cost, for that number
 * @unit: unit of the cost
 */
struct measure {
	const char *name;
	const char *what;
	double (*bench)(unsigned long nr);
	const char *unit;
};

static const struct measure measures[] = {
	{ "retire", "codectl_region_retire()", bench_retire, "ns" },
	{ "replace", "retiring a function and adding one", bench_replace,
	  "ns" },
	{ "replace-named", "the same with names", bench_replace_named, "ns" },
	{ "open", "opening a region", bench_open, "ns" },
	{ "close", "closing it", bench_close, "ns" },
	{ "lookup", "codectl_lookup() in one of the regions", bench_lookup,
	  "ns" },
	{ "memory", "memory of a region", bench_memory, "bytes" },
	{}
};

int main(void)
{
	static const unsigned long numbers[] = { 20, 2000, MAX_FUNCS };
	const struct measure *m;
	double least, again;
	unsigned int n, i;

	text = mmap(NULL, MAX_FUNCS * PAGE, PROT_NONE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (text == MAP_FAILED)
		die("mmap");

	for (m = measures; m->name; m++) {
		for (n = 0; n < 3; n++) {
			least = m->bench(numbers[n]);
			for (i = 1; i < ROUNDS; i++) {
				again = m->bench(numbers[n]);
				if (again < least)
					least = again;
			}
			printf("%9.1f %s, %s, of %lu\n", least, m->unit,
			       m->what, numbers[n]);
			printf("RESULT\treuse\t%s\t%lu\t%.1f\t%s\n", m->name,
			       numbers[n], least, m->unit);
		}
	}

	return 0;
}

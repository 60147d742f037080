// SPDX-License-Identifier: MIT
/*
 * The cost of publishing and retiring a function in a granule map, in any order, by the
 * number of functions.
 *
 * All figures are nanoseconds, each the best of several rounds.  Lines that begin with
 * RESULT are machine-readable.
 */
#include <sys/mman.h>

#include "bench.h"

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

#define ROUNDS		5
#define MAX_FUNCS	1000000UL
/* In one round, so that reading the clock does not count. */
#define LEAST		20000UL

static char *text;
static uint32_t order[MAX_FUNCS];
static unsigned long seed;

static unsigned long next_random(void)
{
	seed = seed * 6364136223846793005UL + 1442695040888963407UL;

	return seed >> 33;
}

static void shuffle(unsigned long nr)
{
	unsigned long i, k;
	uint32_t swap;

	for (i = 0; i < nr; i++)
		order[i] = i;
	for (i = nr - 1; i > 0; i--) {
		k = next_random() % (i + 1);
		swap = order[i];
		order[i] = order[k];
		order[k] = swap;
	}
}

static uint64_t func_at(unsigned long i)
{
	return (uintptr_t)text + (uint64_t)order[i] * FUNC_LEN;
}

/* All of them, in an order other than that of their addresses. */
static double publish_all(struct codectl_region *region, unsigned long nr)
{
	double from = now();
	unsigned long i;

	for (i = 0; i < nr; i++)
		if (codectl_region_add(region, func_at(i), FUNC_LEN, rows, 3,
				       NULL))
			die("codectl_region_add");

	return now() - from;
}

static double retire_all(struct codectl_region *region, unsigned long nr)
{
	double from = now();
	unsigned long i;

	for (i = 0; i < nr; i++)
		if (codectl_region_retire(region, func_at(i), FUNC_LEN) != 3)
			die("codectl_region_retire");

	return now() - from;
}

/* Both, again and again; the pages are there from the first time on. */
static void bench(unsigned long nr, double *publish, double *retire)
{
	struct codectl_region_attr attr = {
		.flags = CODECTL_REGION_GRANULES,
		.granule_shift = 6,
	};
	unsigned long times = nr < LEAST ? LEAST / nr : 1, k;
	struct codectl_region *region;

	attr.max_rows = 5 * MAX_FUNCS;
	if (codectl_region_open(text, MAX_FUNCS * FUNC_LEN, &attr, &region))
		die("codectl_region_open");
	shuffle(nr);
	publish_all(region, nr);
	retire_all(region, nr);
	*publish = *retire = 0;
	for (k = 0; k < times; k++) {
		shuffle(nr);
		*publish += publish_all(region, nr);
		shuffle(nr);
		*retire += retire_all(region, nr);
	}
	*publish /= times * nr;
	*retire /= times * nr;
	codectl_region_close(region);
}

int main(void)
{
	static const unsigned long numbers[] = { 10, 1000, 20000, MAX_FUNCS };
	double publish, retire, p, r;
	unsigned int n, i;

	text = mmap(NULL, MAX_FUNCS * FUNC_LEN, PROT_NONE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (text == MAP_FAILED)
		die("mmap");

	for (n = 0; n < ARRAY_SIZE(numbers); n++) {
		bench(numbers[n], &publish, &retire);
		for (i = 1; i < ROUNDS; i++) {
			bench(numbers[n], &p, &r);
			publish = p < publish ? p : publish;
			retire = r < retire ? r : retire;
		}
		printf("%9.1f ns, publishing in any order, of %lu\n", publish,
		       numbers[n]);
		printf("%9.1f ns, retiring in any order, of %lu\n", retire,
		       numbers[n]);
		printf("RESULT\tgranules\tpublish\t%lu\t%.1f\tns\n", numbers[n],
		       publish);
		printf("RESULT\tgranules\tretire\t%lu\t%.1f\tns\n", numbers[n],
		       retire);
	}

	return 0;
}

// SPDX-License-Identifier: MIT
/*
 * The cost of publishing a function with three rows, compared with what else a JIT may
 * do for each function.  Exits with 0 if the library keeps its promise: at most 1/20 of
 * a line of a perf map, and 1/3 of a prctl().
 *
 * All figures are nanoseconds per function, each the best of several rounds.  Lines
 * that begin with RESULT say the same in machine-readable form.
 */
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "bench.h"

#define ROUNDS		9
#define NR_FUNCS	100000
#define BATCH		16
#define MAX_THREADS	8

static char *text;
/* Where the functions of this thread are. */
static __thread char *own_text;

static struct codectl_region *open_region(void *start)
{
	struct codectl_region *region;

	if (codectl_region_open(start, NR_FUNCS * FUNC_LEN, NULL, &region))
		die("codectl_region_open");

	return region;
}

static void add(struct codectl_region *region, uint64_t start, const char *name)
{
	if (codectl_region_add(region, start, FUNC_LEN, rows, 3, name))
		die("codectl_region_add");
}

static int compare(const void *a, const void *b)
{
	double d = *(const double *)a - *(const double *)b;

	return d < 0 ? -1 : d > 0;
}

/* The median of small batches, most of which touch no new page. */
static double publish_warm(const char *name)
{
	double *batches = calloc(NR_FUNCS / BATCH, sizeof(*batches));
	struct codectl_region *region = open_region(own_text);
	uint64_t start = (uintptr_t)own_text;
	double from, to;
	int i, k;

	if (!batches)
		die("calloc");
	from = now();
	for (i = 0; i < NR_FUNCS / BATCH; i++) {
		for (k = 0; k < BATCH; k++, start += FUNC_LEN)
			add(region, start, name);
		to = now();
		batches[i] = (to - from) / BATCH;
		from = to;
	}
	codectl_region_close(region);
	qsort(batches, NR_FUNCS / BATCH, sizeof(double), compare);
	to = batches[NR_FUNCS / BATCH / 2];
	free(batches);

	return to;
}

static double bench_warm(void)
{
	return publish_warm(NULL);
}

static double bench_named(void)
{
	return publish_warm("LazyCompile:*function file.js:1234");
}

static double bench_poll(void)
{
	double from = now();
	int i;

	for (i = 0; i < NR_FUNCS; i++)
		codectl_names_poll();

	return (now() - from) / NR_FUNCS;
}

/* All of it, including the pages that the rows are the first to touch. */
static double bench_cold(void)
{
	struct codectl_region *region = open_region(own_text);
	uint64_t start = (uintptr_t)own_text;
	double from = now();
	int i;

	for (i = 0; i < NR_FUNCS; i++, start += FUNC_LEN)
		add(region, start, NULL);
	from = now() - from;
	codectl_region_close(region);

	return from / NR_FUNCS;
}

static double bench_map_line(void)
{
	FILE *file = fopen("/tmp/codectl-publish.map", "w");
	const int nr = NR_FUNCS / 10;
	double from;
	int i;

	if (!file)
		die("/tmp/codectl-publish.map");
	from = now();
	for (i = 0; i < nr; i++) {
		fprintf(file, "%lx %x %s\n",
			(unsigned long)(text + i * FUNC_LEN), FUNC_LEN,
			"LazyCompile:*function file.js:1234");
		fflush(file);
	}
	from = now() - from;
	fclose(file);
	unlink("/tmp/codectl-publish.map");

	return from / nr;
}

static double bench_prctl(void)
{
	double from = now();
	int i;

	for (i = 0; i < NR_FUNCS; i++)
		prctl(PR_GET_DUMPABLE, 0, 0, 0, 0);

	return (now() - from) / NR_FUNCS;
}

/* --- __register_frame() and related functions */

extern void __register_frame(void *begin);
extern void __deregister_frame(void *begin);

extern const void *_Unwind_Find_FDE(void *pc, void *bases);

/**
 * struct frame - .eh_frame of one function: a CIE, an FDE and the end
 */
struct frame {
	uint32_t cie_len;
	uint32_t cie_id;
	uint8_t cie[12];
	uint32_t fde_len;
	uint32_t cie_off;
	uint64_t start;
	uint64_t len;
	uint8_t fde[8];
	uint32_t end;
} __attribute__((__packed__));

static void make_frame(struct frame *frame, uint64_t start)
{
	/* Version 1, "", 1, -8, RA 16; CFA = rsp + 8, RA at CFA - 8. */
	static const uint8_t cie[12] = { 1, 0, 1, 0x78, 16, 0x0c, 7, 8,
					 0x80 | 16, 1, 0, 0 };
	/* From 4 on, CFA = rsp + 48; at the last byte, + 8. */
	static const uint8_t fde[8] = { 0x40 | 4, 0x0e, 48,
					0x40 | (FUNC_LEN - 5), 0x0e, 8, 0, 0 };

	*frame = (struct frame) {
		.cie_len = 16,
		.fde_len = 28,
		.cie_off = offsetof(struct frame, cie_off),
		.start = start,
		.len = FUNC_LEN,
	};
	memcpy(frame->cie, cie, sizeof(cie));
	memcpy(frame->fde, fde, sizeof(fde));
}

/* @nr functions at a time: registered, one looked up, removed. */
static double register_frames(int nr)
{
	struct frame *frames = calloc(nr, sizeof(*frames));
	void *bases[3];
	double from;
	int i;

	if (!frames)
		die("calloc");
	for (i = 0; i < nr; i++)
		make_frame(&frames[i], (uintptr_t)own_text + i * FUNC_LEN);
	from = now();
	for (i = 0; i < nr; i++)
		__register_frame(&frames[i]);
	if (!_Unwind_Find_FDE(own_text + nr * FUNC_LEN - 5, bases))
		die("_Unwind_Find_FDE");
	for (i = 0; i < nr; i++)
		__deregister_frame(&frames[i]);
	from = now() - from;
	free(frames);

	return from / nr;
}

static double bench_frame(void)
{
	double sum = 0;
	int i;

	for (i = 0; i < 1000; i++)
		sum += register_frames(1);

	return sum / 1000;
}

static double bench_frames(void)
{
	return register_frames(2000);
}

/* --- several threads at once */

static double (*bench_of_threads)(void);
static pthread_barrier_t start_line;
static double costs[MAX_THREADS];

static void *run_thread(void *arg)
{
	int i = (intptr_t)arg;

	own_text = text + (size_t)i * NR_FUNCS * FUNC_LEN;
	pthread_barrier_wait(&start_line);
	costs[i] = bench_of_threads();

	return NULL;
}

/* The average cost of a function to each of @nr threads. */
static double run_threads(double (*bench)(void), int nr)
{
	pthread_t threads[MAX_THREADS];
	double sum = 0;
	int i;

	bench_of_threads = bench;
	pthread_barrier_init(&start_line, NULL, nr);
	for (i = 0; i < nr; i++)
		if (pthread_create(&threads[i], NULL, run_thread,
				   (void *)(intptr_t)i))
			die("pthread_create");
	for (i = 0; i < nr; i++) {
		pthread_join(threads[i], NULL);
		sum += costs[i];
	}
	pthread_barrier_destroy(&start_line);

	return sum / nr;
}

/**
 * struct method - something that a JIT may do for each function
 * @name: name for programs
 * @what: name for people
 * @bench: returns its cost
 * @most: maximum number of threads that do it at once
 */
struct method {
	const char *name;
	const char *what;
	double (*bench)(void);
	int most;
};

static double best(const struct method *method, int threads)
{
	double least = run_threads(method->bench, threads), again;
	int i;

	for (i = 1; i < ROUNDS; i++) {
		again = run_threads(method->bench, threads);
		if (again < least)
			least = again;
	}
	printf("%9.1f  %s, threads: %d\n", least, method->what, threads);
	printf("RESULT\tpublish\t%s\t%d\t%.1f\tns\n", method->name, threads,
	       least);

	return least;
}

static void compare_to(const char *what, double cost, int times, double warm,
		       double cold)
{
	printf("%s is %.1f times as much, at least %d: %s\n", what, cost / warm,
	       times, cost >= times * warm ? "yes" : "no");
	printf("  page faults included: %.1f: %s\n", cost / cold,
	       cost >= times * cold ? "yes" : "no");
}

enum { WARM, COLD, LINE, CALL };

static const struct method methods[] = {
	[WARM] = { "add", "codectl_region_add()", bench_warm, MAX_THREADS },
	[COLD] = { "add-cold", "the same, page faults included", bench_cold, 1 },
	[LINE] = { "map-line", "a line of a perf map, flushed", bench_map_line, 1 },
	[CALL] = { "prctl", "prctl()", bench_prctl, MAX_THREADS },
	{ "add-named", "codectl_region_add() with a name that nobody asks for",
	  bench_named, MAX_THREADS },
	{ "poll", "codectl_names_poll() when nobody asks", bench_poll, 1 },
	{ "frame", "__register_frame(), lookup, __deregister_frame()",
	  bench_frame, MAX_THREADS },
	{ "frames", "the same, 2000 functions and one lookup", bench_frames, 1 },
	{}
};

int main(void)
{
	double least, cost[CALL + 1];
	int threads, i;

	text = mmap(NULL, (size_t)MAX_THREADS * NR_FUNCS * FUNC_LEN, PROT_NONE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (text == MAP_FAILED)
		die("mmap");

	/* Where user events exist and a tracer might come. */
	codectl_names_event(1);
	printf("ns per function of three rows, best of %d rounds:\n", ROUNDS);
	for (threads = 1; threads <= MAX_THREADS; threads *= 2)
		for (i = 0; methods[i].name; i++) {
			if (threads > methods[i].most)
				continue;
			least = best(&methods[i], threads);
			if (threads == 1 && i <= CALL)
				cost[i] = least;
		}

	compare_to("a line of a perf map", cost[LINE], 20, cost[WARM],
		   cost[COLD]);
	compare_to("prctl()", cost[CALL], 3, cost[WARM], cost[COLD]);

	return cost[LINE] >= 20 * cost[WARM] && cost[CALL] >= 3 * cost[WARM] ?
	       0 : 1;
}

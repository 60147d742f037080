// SPDX-License-Identifier: GPL-2.0
#include <pthread.h>
#include <sys/resource.h>

#include "codectl_test.h"
#include "sampler.h"
#include "tracefs.h"
#include "bench.h"
#include "chain.h"
#include "walks.h"

#define ROUNDS 7
/* Not the number of a system call. */
#define NO_SYSCALL 400

static struct tracefs trace;
static struct sampler sampler;
/* The cost that the probes add between the two time stamps. */
static double probe_cost;
/* A plugin of the emulator looks at each walk instead. */
static bool counted;
static unsigned int nr_walks;
/* The first walk to look at. */
static unsigned int first_walk;
static long faults_of_walk;

/* The time stamp in a line of the trace, before the name of its event. */
static uint64_t stamp_before(const char *line, const char *event)
{
	const char *p = event;

	while (p > line && p[-1] != ' ')
		p--;
	return strtoull(p, NULL, 10);
}

/* The cheapest pair of @enter and @leave in the trace. */
static double cheapest(const char *enter, const char *leave, int nr)
{
	char *text = tracefs_read(&trace, "trace");
	double best = 0;
	uint64_t start = 0;
	int pairs = 0;

	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
		const char *in = strstr(line, enter), *out = strstr(line, leave);

		if (in)
			start = stamp_before(line, in);
		if (!out || !start)
			continue;
		double cost = stamp_before(line, out) - start;

		if (!pairs++ || cost < best)
			best = cost;
		start = 0;
	}
	free(text);
	if (pairs != nr) {
		fprintf(stderr, "%d of %d pairs of %s and %s\n", pairs, nr,
			enter, leave);
		exit(2);
	}
	return best;
}

static void add_probes(const char *name, const char *function)
{
	struct tracefs top;
	char text[128];

	tracefs_top(&top);
	snprintf(text, sizeof(text), "p:bench/enter_%s %s\nr:bench/leave_%s %s\n",
		 name, function, name, function);
	tracefs_write(&top, "kprobe_events", text);
	snprintf(text, sizeof(text), "bench/enter_%s", name);
	if (tracefs_enable(&trace, text))
		die(text);
	snprintf(text, sizeof(text), "bench/leave_%s", name);
	if (tracefs_enable(&trace, text))
		die(text);
}

/* The same probes on an empty function. */
static double cost_of_probes(void)
{
	tracefs_clear(&trace);
	for (int i = 0; i < ROUNDS; i++)
		syscall(NO_SYSCALL);
	return cheapest(": enter_none:", ": leave_none:", ROUNDS);
}

void walks_open(const char *function)
{
	if (sampler_open_syscall(&sampler, MARKER_NR))
		die("perf event");
	counted = getenv("WALKS_COUNTED");
	if (counted)
		return;
	if (tracefs_open(&trace, "bench") ||
	    tracefs_write(&trace, "trace_clock", "x86-tsc"))
		die("tracefs");
	add_probes("none", "__x64_sys_ni_syscall");
	add_probes("walk", function);
	probe_cost = cost_of_probes();
}

/* The last one that was taken. */
static void check_stack(unsigned int frames)
{
	struct stack stack = {};

	while (sampler_next(&sampler, &stack))
		;
	if (stack.nr != frames) {
		fprintf(stderr, "a stack of %u frames, not %u\n", stack.nr,
			frames);
		exit(2);
	}
}

struct task {
	void (*run)(void *);
	void *arg;
	enum walk_kind kind;
	void (*before)(void);
};

static long faults(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_minflt;
}

static void record(bool on)
{
	if (!counted)
		tracefs_write(&trace, "tracing_on", on ? "1" : "0");
}

/* The number of other stacks that a new thread walks before. */
static const unsigned int walks_before[] = {
	[WALK_COLD] = 3, [WALK_FIRST] = 0, [WALK_SECOND] = 1,
};

static void *new_task(void *arg)
{
	const struct task *task = arg;
	volatile char stack[256 * 1024];

	for (size_t i = 0; i < sizeof(stack); i += PAGE)
		stack[i] = 0;
	record(false);
	if (task->kind != WALK_COLD) {
		/*
		 * Two different stacks are walked several times, so that everything is
		 * forgotten.
		 */
		for (int i = 0; i < 2; i++, nr_walks++)
			marker();
		forget_rules();
	}
	for (unsigned int i = 0; i < walks_before[task->kind]; i++, nr_walks++)
		marker();
	record(true);
	if (task->before)
		task->before();
	faults_of_walk = faults();
	task->run(task->arg);
	faults_of_walk = faults() - faults_of_walk;
	nr_walks++;
	first_walk = nr_walks;
	return NULL;
}

static void run_in_new_task(struct task *task)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, new_task, task) ||
	    pthread_join(thread, NULL))
		die("thread");
}

static void run_in_turn(struct task *task)
{
	if (task->kind == WALK_ELSEWHERE)
		change_registry();
	if (task->before)
		task->before();
	task->run(task->arg);
	nr_walks++;
	first_walk = nr_walks - ROUNDS + 1;
}

long walk_faults(void)
{
	return faults_of_walk;
}

unsigned int walk_frames(void (*run)(void *), void *arg)
{
	struct stack stack = {};

	run(arg);
	nr_walks++;
	sampler_next(&sampler, &stack);
	sampler_drain(&sampler);
	return stack.nr;
}

double walk_cost(void (*run)(void *), void *arg, unsigned int frames,
		 enum walk_kind kind, void (*before)(void))
{
	struct task task = { run, arg, kind, before };

	/* For page faults, and to warm up what has to be warm. */
	for (int i = 0; i < 3; i++, nr_walks++)
		run(arg);
	sampler_drain(&sampler);
	if (!counted)
		tracefs_clear(&trace);
	for (int i = 0; i < ROUNDS; i++) {
		if (kind >= WALK_COLD)
			run_in_new_task(&task);
		else
			run_in_turn(&task);
		check_stack(frames);
	}
	if (counted)
		return 0;
	return cheapest(": enter_walk:", ": leave_walk:", ROUNDS) - probe_cost;
}

const unsigned int walk_depths[WALK_DEPTHS] = { 8, 64, 256 };

void walk_result(const char *name, unsigned int frames, double cost)
{
	const unsigned int first = walk_depths[0];
	static double cost_of_first;

	if (counted) {
		printf("WALK\t%s\t%u\t%u\t%u\n", name, frames,
		       first_walk, nr_walks);
		return;
	}
	result("walk", name, frames, cost, "insns");
	if (frames == first)
		cost_of_first = cost;
	else if (frames == walk_depths[WALK_DEPTHS - 1])
		result("frame", name, 0,
		       (cost - cost_of_first) / (frames - first), "insns");
}

void chain_walks(const char *name, enum walk_kind kind)
{
	for (size_t i = 0; i < WALK_DEPTHS; i++) {
		void *calls = (void *)(long)(walk_depths[i] - CHAIN_ENDS);

		walk_result(name, walk_depths[i],
			    walk_cost(chain_call, calls, walk_depths[i], kind,
				      NULL));
	}
}

void change_registry(void)
{
	static uint8_t *page;

	if (!page)
		page = map_pages(1, PROT_READ | PROT_EXEC);
	if (!page || register_elf_text(addr_of(page), addr_of(page) + PAGE) ||
	    unregister_text(addr_of(page), addr_of(page) + PAGE))
		die("codectl");
}

// SPDX-License-Identifier: MIT
/*
 * jit-demo: compiles programs while they run, and registers the code with the kernel
 * through libcodectl.
 *
 * usage: jit-demo [-t THREADS] [-n ROUNDS] [-w SECONDS] [-m] [-k] [-d] [-g] [-r]
 *		   [-i] [-s STEPS] [-l LOG] FILE...
 *
 *	-t	number of threads, each with its own engine; 1 by default
 *	-n	minimum number of runs of each program by each thread
 *	-w	minimum time; SIGTERM ends it early
 *	-m	write /tmp/perf-PID.map
 *	-k	keep programs loaded, and use no address twice: a perf map has only
 *		one name per address
 *	-d	the first thread's code grows down, instead of the second's
 *	-g	rows are in granule maps instead of tables in order of address
 *	-r	reuse addresses of code even while compiled code runs
 *	-i	interrupt itself by a signal, whose handler takes 0.5 ms, 2 ms after
 *		the previous one
 *	-s	check the rows of STEPS instructions of the first thread
 *	-l	write a log of which code was compiled where
 *
 * Tracers of the user event codectl_name get the names of compiled code.
 *
 * Prints the output of each program.  Each run of a program must print the same, and what FILE
 * says that it prints.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "code.h"
#include "step.h"

#define MAX_THREADS	8

static struct {
	struct program *programs[MAX_PROGRAMS];
	int nr_programs;
	int threads;
	long rounds;
	time_t end;
	unsigned long steps;
	struct engine_options engine;
	bool interrupted;
	const char *log;
} options = { .threads = 1, .rounds = 1 };

static struct engine *engines[MAX_THREADS];
static volatile sig_atomic_t stopped;

static void on_term(int sig)
{
	(void)sig;
	stopped = 1;
}

static timer_t alarm_timer;

/* One-shot: the program runs between signals, however long the handler takes. */
static int set_alarm(void)
{
	static const struct itimerspec once = { .it_value.tv_nsec = 2000000 };

	return timer_settime(alarm_timer, 0, &once, NULL);
}

/* Uses the clock, so that its share of samples is the same on any machine. */
static void on_alarm(int sig)
{
	struct timespec start, now;

	(void)sig;
	clock_gettime(CLOCK_MONOTONIC, &start);
	do
		clock_gettime(CLOCK_MONOTONIC, &now);
	while ((now.tv_sec - start.tv_sec) * 1000000000 + now.tv_nsec -
	       start.tv_nsec < 500000);
	set_alarm();
}

static void interrupt_often(void)
{
	struct sigevent event = {
		.sigev_notify = SIGEV_SIGNAL,
		.sigev_signo = SIGALRM,
	};

	signal(SIGALRM, on_alarm);
	if (timer_create(CLOCK_MONOTONIC, &event, &alarm_timer) || set_alarm())
		engine_fail("no timer");
}

/* The address to which the C library makes handlers return. */
static unsigned long signal_restorer(void)
{
	struct {
		void (*handler)(int sig);
		unsigned long flags, restorer, mask;
	} action = { 0 };

	syscall(SYS_rt_sigaction, SIGTERM, NULL, &action, sizeof(action.mask));
	return action.restorer;
}

static void check_output(const struct engine *engine,
			 const struct program *program)
{
	const char *output = engine->run.output ?: "";

	if (!program->expected || !strcmp(output, program->expected))
		return;
	fprintf(stderr, "jit-demo: %s printed something else:\n%s",
		program->name, output);
	exit(1);
}

static void run_programs(struct engine *engine, bool print)
{
	const struct program *program;

	for (int i = 0; i < options.nr_programs; i++) {
		program = options.programs[i];
		engine_run(engine, program);
		check_output(engine, program);
		if (print)
			printf("%s:\n%s", program->name,
			       engine->run.output ?: "");
	}
}

/* Each thread opens its own engine: the region has one writer. */
static void *run_thread(void *arg)
{
	long number = (long)arg;
	struct engine_options engine = options.engine;

	engine.descending ^= number & 1;
	engines[number] = engine_open(&engine);
	if (!number && options.steps)
		step_start(options.steps);
	for (long round = 0; round < options.rounds ||
	     (!stopped && time(NULL) < options.end); round++)
		run_programs(engines[number], !number && !round);
	if (!number && options.steps)
		step_stop();
	return NULL;
}

static void write_log(void)
{
	FILE *file = fopen(options.log, "w");

	if (!file) {
		perror(options.log);
		exit(1);
	}
	fprintf(file, "restorer %#lx\n", signal_restorer());
	for (int i = 0; i < options.threads; i++)
		code_write_log(engines[i], file);
	step_write_log(file);
	if (fclose(file)) {
		perror(options.log);
		exit(1);
	}
}

static void run_threads(void)
{
	pthread_t threads[MAX_THREADS];

	for (long i = 1; i < options.threads; i++)
		if (pthread_create(&threads[i], NULL, run_thread, (void *)i))
			engine_fail("no thread");
	run_thread(NULL);
	for (int i = 1; i < options.threads; i++)
		pthread_join(threads[i], NULL);
}

static _Noreturn void show_usage(void)
{
	fprintf(stderr,
		"usage: %s [-t THREADS] [-n ROUNDS] [-w SECONDS] [-m] [-k] [-d]\n"
		"\t[-g] [-r] [-i] [-s STEPS] [-l LOG] FILE...\n", program_invocation_short_name);
	exit(2);
}

static void parse_options(int argc, char **argv)
{
	int opt;

	while ((opt = getopt(argc, argv, "t:n:w:mkdgris:l:")) != -1) {
		if (opt == 't')
			options.threads = atoi(optarg);
		else if (opt == 'n')
			options.rounds = atol(optarg);
		else if (opt == 'w')
			options.end = time(NULL) + atol(optarg);
		else if (opt == 'm' && codectl_perf_map(1))
			engine_fail("no perf map");
		else if (opt == 'k')
			options.engine.keep = true;
		else if (opt == 'd')
			options.engine.descending = true;
		else if (opt == 'g')
			options.engine.granules = true;
		else if (opt == 'r')
			options.engine.reuse_at_once = true;
		else if (opt == 'i')
			options.interrupted = true;
		else if (opt == 's')
			options.steps = strtoul(optarg, NULL, 10);
		else if (opt == 'l')
			options.log = optarg;
		else if (opt == '?')
			show_usage();
	}
	if (optind == argc || argc - optind > MAX_PROGRAMS ||
	    options.threads < 1 || options.threads > MAX_THREADS)
		show_usage();
}

int main(int argc, char **argv)
{
	parse_options(argc, argv);
	signal(SIGTERM, on_term);
	/* Before there are threads; its failure does not matter. */
	codectl_names_event(1);
	for (int i = optind; i < argc; i++) {
		struct program *program = parse_program(argv[i]);

		program->number = options.nr_programs;
		options.programs[options.nr_programs++] = program;
	}
	if (options.interrupted)
		interrupt_often();
	run_threads();
	if (options.log)
		write_log();
	for (int i = 0; i < options.threads; i++)
		engine_close(engines[i]);
	return 0;
}

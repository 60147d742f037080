// SPDX-License-Identifier: MIT
/* The command: gives files tables for as long as it runs. */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "../child.h"
#include "../tool.h"
#include "follow.h"
#include "keepers.h"
#include "ready.h"
#include "tables.h"

/* How long to collect mappings before attaching tables. */
#define FOLLOW_MS	200
/* How often to look at all processes if records keep getting lost. */
#define LOOK_SECONDS	5
/* How often to report progress if the output is no terminal. */
#define SAY_SECONDS	60
/* Children of children that are followed. */
#define MOST_DEEP	64
/* How long to wait at the start for files that anybody may have made. */
#define FIRST_SECONDS	300

struct attach {
	struct tables tables;	/* for what was named */
	struct keepers keepers;	/* for everything */
	struct follow *follow;	/* NULL unless wanted */
	pid_t *pid;		/* of the processes that were named */
	size_t nr_pids;
	const char *store_path;
	bool all, some;		/* some: those that were named */
	bool lost;		/* some mappings since then were not reported */
	time_t looked;		/* when they were last looked for */
};

static volatile sig_atomic_t ended, asked;

static void end(int sig)
{
	(void)sig;
	ended = 1;
}

static void ask(int sig)
{
	(void)sig;
	asked = 1;
}

/* For what was named, and for all others. */
static struct keep_counts count(const struct attach *a, bool more)
{
	struct keep_counts sum = keepers_sum(&a->keepers);
	const struct tables *t = &a->tables;
	struct tables_sum named = tables_sum(t);

	if (more)
		sum.state = KEEP_BUSY;
	sum.nr += named.nr;
	sum.without += named.without;
	sum.pending += named.pending;
	sum.unopened += t->files.unopened;
	sum.bytes += named.bytes;
	if (t->files.unopened)
		sum.error = t->files.error;
	return sum;
}

static void report(const struct keep_counts *sum)
{
	fprintf(stderr, "codectl: %zu files have tables now, of %.1f MiB; %zu have none\n",
		sum->nr, sum->bytes / 1048576.0, sum->without);
	if (sum->pending)
		fprintf(stderr, "codectl: %zu more are being converted\n", sum->pending);
	if (sum->unopened)
		fprintf(stderr, "codectl: %zu mappings could not be looked at: %s\n",
			sum->unopened, strerror(sum->error));
}

static pid_t parent_of(pid_t pid)
{
	char *text = proc_value(pid, "status", "PPid:");
	pid_t parent = text ? atoi(text) : 0;

	free(text);
	return parent;
}

/* Was it named, or does it descend from one that was? */
static bool is_named(const struct attach *a, pid_t pid)
{
	for (int deep = 0; pid && deep < MOST_DEEP; deep++) {
		for (size_t i = 0; i < a->nr_pids; i++)
			if (a->pid[i] == pid)
				return true;
		pid = parent_of(pid);
	}
	return false;
}

static void take_named(void *arg, pid_t pid, unsigned long start, unsigned long end,
		       const char *name)
{
	struct attach *a = arg;

	if (is_named(a, pid))
		files_add_mapping(&a->tables.files, pid, start, end, name);
}

/* Some may have ended. */
static void look_at_named(struct attach *a)
{
	for (size_t i = 0; i < a->nr_pids; i++)
		files_add_process(&a->tables.files, a->pid[i]);
}

/* Passes each mapping to whoever is responsible. */
static void follow_mappings(struct attach *a, int ms)
{
	a->lost |= a->all ? follow_wait(a->follow, ms, keepers_tell, &a->keepers) :
			    follow_wait(a->follow, ms, take_named, a);
	if (a->lost && now_seconds() - a->looked >= LOOK_SECONDS) {
		if (a->all)
			keepers_look(&a->keepers);
		else
			look_at_named(a);
		a->looked = now_seconds();
		a->lost = false;
	}
	keepers_hear(&a->keepers);
}

static void say_progress(const struct keep_counts *sum, bool terminal)
{
	static time_t said = -1;

	if (said < 0)
		said = now_seconds();
	if (terminal) {
		fprintf(stderr, "\r%zu files have tables, %zu to come ", sum->nr, sum->pending);
	} else if (now_seconds() - said >= SAY_SECONDS) {
		fprintf(stderr, "codectl: %zu files have tables, %zu to come\n", sum->nr,
			sum->pending);
		said = now_seconds();
	}
}

/* Attaches all tables to be made at the start, which may take minutes. */
static void attach_first(struct attach *a)
{
	bool terminal = isatty(STDERR_FILENO), more;
	struct keep_counts sum;
	time_t busy = now_seconds();
	int ms;

	do {
		more = tables_make(&a->tables);
		ms = a->tables.files.old < a->tables.files.nr ? 0 : FOLLOW_MS;
		if (a->follow)
			follow_mappings(a, ms);
		else if (more)
			usleep(ms * 1000);
		sum = count(a, more);
		say_progress(&sum, terminal);
		if (sum.state == KEEP_BUSY)
			busy = now_seconds();
		/* Files that anybody may have made may be without end. */
		else if (now_seconds() - busy >= FIRST_SECONDS)
			break;
	} while (sum.state != KEEP_DONE && !ended);
	if (terminal)
		fputs("\r\033[K", stderr);
	report(&sum);
}

/* Each table takes a descriptor.  Returns the previous limit. */
static struct rlimit raise_limit(void)
{
	struct rlimit was, limit;

	getrlimit(RLIMIT_NOFILE, &was);
	limit = was;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
	return was;
}

static void catch_signals(void)
{
	const struct sigaction to_end = { .sa_handler = end }, to_ask = { .sa_handler = ask };
	/* The terminal may close. */
	bool terminal = isatty(STDIN_FILENO) || isatty(STDERR_FILENO);

	sigaction(SIGINT, &to_end, NULL);
	sigaction(SIGTERM, &to_end, NULL);
	/* Whoever has it ignored, as nohup does, wants that. */
	if (!terminal)
		sigaction(SIGHUP, &to_ask, NULL);
	else if (signal(SIGHUP, SIG_IGN) != SIG_IGN)
		sigaction(SIGHUP, &to_end, NULL);
}

/* Until the command has ended, or this process is told to end. */
static void stay(struct attach *a, struct child *child)
{
	bool look;

	while (!ended && !(child->pid && child_has_ended(child))) {
		if (a->follow)
			follow_mappings(a, FOLLOW_MS);
		else
			usleep(FOLLOW_MS * 1000);
		look = asked;
		asked = 0;
		if (look)
			keepers_signal(&a->keepers, SIGHUP);
		tables_make(&a->tables);
		tables_drop_stale(&a->tables, look);
	}
}

static void add_process(struct attach *a, pid_t pid)
{
	size_t unopened = a->tables.files.unopened, nr = a->tables.files.nr;

	if (!files_add_process(&a->tables.files, pid))
		die_proc(pid, "maps", errno);
	if (a->tables.files.unopened > unopened && a->tables.files.nr == nr)
		die_proc(pid, "map_files", a->tables.files.error);
	a->pid = need(reallocarray(a->pid, a->nr_pids + 1, sizeof(*a->pid)));
	a->pid[a->nr_pids++] = pid;
}

static void parse_options(struct attach *a, int argc, char **argv)
{
	static const struct option names[] = {
		{ "all", no_argument, NULL, 'a' },
		{ "store", required_argument, NULL, 's' },
		{ "verbose", no_argument, NULL, 'v' },
		{ }
	};
	pid_t pid;
	int option;

	opterr = 0;
	while ((option = getopt_long(argc, argv, "+ap:v", names, NULL)) != -1) {
		switch (option) {
		case 'a':
			a->all = true;
			break;
		case 'p':
			pid = need_pid(optarg);
			add_process(a, pid);
			a->some = true;
			break;
		case 's':
			a->store_path = optarg;
			break;
		case 'v':
			a->tables.verbose = true;
			break;
		default:
			die_usage("no such option, or without its argument: %s",
				  argv[optind - 1]);
		}
	}
}

/* The files before "--"; returns the command after it, or NULL. */
static char **add_arguments(struct attach *a, int argc, char **argv)
{
	/* getopt_long() has already skipped a "--" at the start. */
	bool command = optind > 1 && !strcmp(argv[optind - 1], "--");

	for (; optind < argc && !command; optind++) {
		command = !strcmp(argv[optind], "--");
		if (command)
			continue;
		a->some = true;
		if (!files_add_named(&a->tables.files, argv[optind]))
			die("cannot open %s: %s", argv[optind],
			    errno == EINVAL ? "not a regular file" : strerror(errno));
	}
	if (command && optind == argc)
		die_usage("no command after --");
	return command ? argv + optind : NULL;
}

/* The exit status of the command, as in a shell. */
static int exit_status(int status)
{
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* For all processes, present and future. */
static void attach_all(struct attach *a)
{
	a->keepers.store = a->tables.store;
	a->keepers.verbose = a->tables.verbose;
	if (!keepers_look(&a->keepers))
		fprintf(stderr, "codectl: cannot look at all processes: %s\n", strerror(errno));
}

int cmd_attach(int argc, char **argv)
{
	struct attach a = {
		.tables = { .ended = &ended, .quarters = TABLES_ANYBODYS },
	};
	struct child child = { 0 };
	struct rlimit limit;
	char **command;

	need_codectl();
	limit = raise_limit();
	parse_options(&a, argc, argv);
	command = add_arguments(&a, argc, argv);
	a.all |= !a.some;
	if (!a.store_path) {
		a.store_path = STORE_CACHE;
		store_look_into(STORE_PACKAGED);
	}
	a.tables.store = store_open(a.store_path);
	catch_signals();
	if (a.all || a.nr_pids)
		a.follow = follow_start();
	/* What they have mapped since. */
	look_at_named(&a);
	if (a.all)
		attach_all(&a);
	attach_first(&a);
	if (!command && !ended)
		ready_tell();
	if (command && ended)
		die("interrupted");
	if (command) {
		child_prepare(&child, command);
		prlimit(child.pid, RLIMIT_NOFILE, &limit, NULL);
		child_release(&child, command[0]);
	}
	stay(&a, &child);
	if (command)
		child_end(&child);
	keepers_end(&a.keepers);
	return command ? exit_status(child.status) : 0;
}

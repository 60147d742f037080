// SPDX-License-Identifier: MIT
/* The command: gives files tables for as long as it runs. */
#include <errno.h>
#include <getopt.h>
#include <linux/codectl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../child.h"
#include "../sframe/image.h"
#include "../sframe/store.h"
#include "../sframe/table_load.h"
#include "../sframe/work.h"
#include "../tool.h"
#include "files.h"
#include "follow.h"

#ifndef __NR_codectl
#define __NR_codectl	473
#endif

/* How long what is mapped is collected before it is attached. */
#define FOLLOW_MS	200
/* How long what is of no use any more may stay, in seconds. */
#define STALE_SECONDS	60

struct attach {
	struct files files;
	const char *store_path;
	int store;
	bool all, verbose;
	size_t nr, without;
	unsigned long long bytes;
};

static volatile sig_atomic_t ended, asked;

static void end(int sig)
{
	if (sig == SIGHUP)
		asked = 1;
	else
		ended = 1;
}

/* ------------------------------------------------------------------- one file */

static char *path_of(const struct file *file)
{
	return format("/proc/self/fd/%d", file->fd);
}

/* The number behind "bytes:" in the fdinfo of what is attached. */
static unsigned long long bytes_of(int attached)
{
	char *path = format("/proc/self/fdinfo/%d", attached), line[128];
	unsigned long long bytes = 0;
	FILE *info = fopen(path, "re");

	while (info && fgets(line, sizeof(line), info))
		if (sscanf(line, "bytes: %llu", &bytes) == 1)
			break;
	if (info)
		fclose(info);
	free(path);
	return bytes;
}

static const char *attach_table(struct file *file, const struct loaded_table *table)
{
	struct code_file_info info = {
		.fd = file->fd,
		.unwind_format = CODE_UNWIND_FORMAT_SFRAME,
		.table = (uintptr_t)table->data,
		.table_len = table->size,
		.table_addr = table->addr,
		.segments = (uintptr_t)table->segments,
		.nr_segments = table->nr_segments,
	};

	_Static_assert(sizeof(struct segment) == sizeof(struct code_file_segment),
		       "a segment is stored as the kernel takes it");
	file->attached = syscall(__NR_codectl, CODE_ATTACH_FILE, &info, sizeof(info), 0);
	if (file->attached >= 0)
		return NULL;
	return errno == EEXIST ? "another process has attached a table" :
	       errno == ENOSPC ? "no room: see kernel.codectl_attached_kb" :
	       errno == ETXTBSY ? "somebody can write to it" :
				 strerror(errno);
}

static const char *attach_stored(struct file *file, int stored)
{
	struct loaded_table table;
	const char *wrong;

	wrong = table_load(stored, &table);
	if (wrong)
		return wrong;
	wrong = attach_table(file, &table);
	table_unload(&table);
	return wrong;
}

static const char *key_of(struct file *file)
{
	char *path = path_of(file);
	const char *wrong = work_key(path, &file->key);

	free(path);
	return wrong;
}

/* By the table that is in the store by now. */
static const char *attach_file(struct attach *a, struct file *file)
{
	const char *wrong;
	int stored;

	stored = store_read(a->store, &file->key);
	if (stored < 0)
		return "has no table";
	wrong = attach_stored(file, stored);
	close(stored);
	return wrong;
}

/* ------------------------------------------------------------------ all files */

/* By as many processes as there are CPUs, when nobody else wants these. */
static void convert(struct work *work)
{
	const struct sched_param param = { 0 };
	pid_t pid = fork();

	if (pid < 0)
		die("cannot start a process: %s", strerror(errno));
	if (pid) {
		waitpid(pid, NULL, 0);
		return;
	}
	sched_setscheduler(0, SCHED_IDLE, &param);
	work_run(work);
	_exit(0);
}

/* Tables for the new files that have none in the store. */
static void convert_new(struct attach *a)
{
	struct files *files = &a->files;
	struct work work = {
		.store = a->store,
		.tree = true,
		.quiet = true,
		.jobs = sysconf(_SC_NPROCESSORS_ONLN),
	};

	work.paths = need(calloc(files->nr - files->old, sizeof(*work.paths)));
	for (size_t i = files->old; i < files->nr; i++) {
		struct file *file = &files->file[i];

		file->wrong = key_of(file);
		if (!file->wrong && !store_has(a->store, &file->key))
			work.paths[work.nr++] = path_of(file);
	}
	if (work.nr)
		convert(&work);
	while (work.nr)
		free(work.paths[--work.nr]);
	free(work.paths);
}

/* What was added since the last call. */
static void attach_new(struct attach *a)
{
	struct files *files = &a->files;

	if (files->old == files->nr)
		return;
	convert_new(a);
	for (; files->old < files->nr; files->old++) {
		struct file *file = &files->file[files->old];

		if (!file->wrong)
			file->wrong = attach_file(a, file);
		if (file->wrong) {
			close(file->fd);
			file->fd = -1;
			a->without++;
			if (a->verbose)
				fprintf(stderr, "codectl: %s: %s\n", file->name,
					file->wrong);
			continue;
		}
		a->nr++;
		a->bytes += bytes_of(file->attached);
	}
}

static void report(const struct attach *a)
{
	fprintf(stderr, "codectl: %zu files have tables now, of %.1f MiB; %zu have none\n",
		a->nr, a->bytes / 1048576.0, a->without);
}

/* Each table takes a descriptor. */
static void raise_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

static void catch_signals(void)
{
	const struct sigaction action = { .sa_handler = end };

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
}

static void drop_stale(struct attach *a)
{
	static time_t last;
	time_t now = time(NULL);

	if (!last)
		last = now;
	if (!asked && now - last < STALE_SECONDS)
		return;
	asked = 0;
	last = now;
	if (files_drop_stale(&a->files) && a->all)
		files_add_all(&a->files);
}

/* Until the command has ended, or this process is told to. */
static void stay(struct attach *a, struct follow *follow, struct child *child)
{
	while (!ended && !(child->pid && child_has_ended(child))) {
		if (follow) {
			follow_wait(follow, &a->files, FOLLOW_MS);
			attach_new(a);
		} else {
			usleep(FOLLOW_MS * 1000);
		}
		drop_stale(a);
	}
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
			if (!files_add_process(&a->files, pid))
				die_proc(pid, "maps", errno);
			break;
		case 's':
			a->store_path = optarg;
			break;
		case 'v':
			a->verbose = true;
			break;
		default:
			die_usage("no such option, or without its argument: %s",
				  argv[optind - 1]);
		}
	}
}

/* The files ahead of "--"; returns the command after it, or NULL. */
static char **add_arguments(struct attach *a, int argc, char **argv)
{
	/* getopt_long() has passed over a "--" in the first place. */
	bool command = optind > 1 && !strcmp(argv[optind - 1], "--");

	for (; optind < argc && !command; optind++) {
		if (!strcmp(argv[optind], "--"))
			command = true;
		else if (!files_add(&a->files, argv[optind], argv[optind]))
			die("cannot open %s: %s", argv[optind], strerror(errno));
	}
	if (command && optind == argc)
		die_usage("no command after --");
	return command ? argv + optind : NULL;
}

/* That of the command, as a shell has it. */
static int exit_status(int status)
{
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int cmd_attach(int argc, char **argv)
{
	struct attach a = { .store_path = STORE_CACHE };
	struct follow *follow = NULL;
	struct child child = { 0 };
	char **command;

	raise_limit();
	parse_options(&a, argc, argv);
	command = add_arguments(&a, argc, argv);
	a.all |= !a.files.nr;
	a.store = store_open(a.store_path);
	if (a.all) {
		follow = follow_start();
		files_add_all(&a.files);
	}
	attach_new(&a);
	report(&a);
	catch_signals();
	if (command) {
		child_prepare(&child, command);
		child_release(&child, command[0]);
	}
	stay(&a, follow, &child);
	if (child.pid)
		child_terminate(&child);
	return command && !child.pid ? exit_status(child.status) : 0;
}

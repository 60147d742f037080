// SPDX-License-Identifier: MIT
/* The command: gives files tables for as long as it runs. */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <linux/codectl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "../child.h"
#include "../sframe/image.h"
#include "../sframe/store.h"
#include "../sframe/table_load.h"
#include "../sframe/work.h"
#include "../tool.h"
#include "converter.h"
#include "files.h"
#include "follow.h"
#include "ready.h"

#ifndef __NR_codectl
#define __NR_codectl	473
#endif

/* How long what is mapped is collected before it is attached. */
#define FOLLOW_MS	200
/* How long what is of no use any more may stay, in seconds. */
#define STALE_SECONDS	60
/* How often it is looked for what nobody has mapped. */
#define UNMAPPED_SECONDS 300
/* How many converters may have ended before they got to a file. */
#define TRIES		3
/* How many files are looked at before anything else is heeded, and what is hashed. */
#define LOOK_AT		64
#define LOOK_AT_BYTES	(64L << 20)
/* How often progress is told where that is no terminal. */
#define SAY_SECONDS	60
/* How long files that anybody may have made are waited for at the start. */
#define FIRST_SECONDS	300

struct attach {
	struct files files;
	const char *store_path;
	int store;
	struct converter converter;
	bool all, some, verbose;	/* some: those that were named */
	bool full;			/* some have no table for lack of room */
	bool again;			/* some may have one in a while */
	size_t nr, without;
	unsigned long long bytes;
};

/* What may be over in a while. */
static const char written[] = "it was written to meanwhile";
static const char busy[] = "somebody can write to it";
static const char gone[] = "its table has gone from the store";
static const char unmade[] = "nobody gets to make its table";

/* What another table may do away with. */
static const char damaged[] = "its table in the store is damaged, or of another version";
static const char refused[] = "the kernel refuses its table";

static const char too_large[] = "its table has too many rules, or few for so much code";
static const char no_room[] = "no room: see kernel.codectl_attached_kb";
static const char no_share[] = "no room but for other files: see kernel.codectl_attached_kb";

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
	if (errno == ENOSPC)
		return no_room;
	if (errno == E2BIG)
		return too_large;
	return errno == EEXIST ? "it has a table already" :
	       errno == EINVAL || errno == EOPNOTSUPP ? refused :
	       errno == EAGAIN ? written :
	       errno == ETXTBSY ? busy : strerror(errno);
}

static const char *attach_stored(struct file *file, int stored)
{
	struct loaded_table table;
	const char *wrong;

	if (!table_load(stored, &table))
		return damaged;
	wrong = attach_table(file, &table);
	table_unload(&table);
	return wrong;
}

static const char *key_of(struct file *file)
{
	const char *wrong;
	struct stat st;
	char *path;

	if (fstat(file->fd, &st))
		return strerror(errno);
	file->size = st.st_size;
	file->written = st.st_mtim;
	file->changed = st.st_ctim;
	path = path_of(file);
	wrong = work_key(path, &file->key, &file->believed, &ended);
	free(path);
	return wrong;
}

/*
 * From when it has a table on the kernel looks.  One time is set by its owner at will, the
 * other one changes where the file is renamed, too.
 */
static bool is_written_to(const struct file *file)
{
	struct stat st;

	return fstat(file->fd, &st) || st.st_size != file->size ||
	       files_differ(st.st_mtim, file->written) ||
	       files_differ(st.st_ctim, file->changed);
}

static void detach(struct file *file)
{
	close(file->attached);
	file->attached = -1;
}

static const char *attached_kb = "/proc/sys/kernel/codectl_attached_kb";

/* Of what all tables may take, three quarters are for files that anybody may have made. */
static unsigned long long room_for_anybody(void)
{
	FILE *limit = fopen(attached_kb, "re");
	unsigned long long kb = ULLONG_MAX / 1024;

	if (limit && fscanf(limit, "%llu", &kb) != 1)
		kb = 0;
	if (limit)
		fclose(limit);
	return kb / 4 * 3 * 1024;
}

/* Counts what it takes; false if that is too much. */
static bool takes_its_share(struct attach *a, struct file *file)
{
	file->bytes = bytes_of(file->attached);
	if (files_is_anybodys(file)) {
		if (file->bytes + a->files.anybodys_bytes > room_for_anybody())
			return false;
		a->files.anybodys_bytes += file->bytes;
	}
	a->bytes += file->bytes;
	return true;
}

/* By the table that is in the store by now. */
static const char *attach_file(struct attach *a, struct file *file)
{
	const char *wrong;
	int stored;

	stored = store_read(a->store, &file->key);
	if (stored < 0)
		return gone;
	wrong = attach_stored(file, stored);
	close(stored);
	if (wrong)
		return wrong;
	wrong = is_written_to(file) ? written : takes_its_share(a, file) ? NULL : no_share;
	if (wrong)
		detach(file);
	return wrong;
}

/* ------------------------------------------------------------------ all files */

/* Whether it may have a table in a while, though nobody changes it. */
static bool may_pass(const char *wrong)
{
	return wrong == written || wrong == busy || wrong == gone || wrong == unmade ||
	       !strcmp(wrong, work_killed) || !strcmp(wrong, strerror(ENOMEM));
}

/* It has a table now, or gets none; but a table that is no good is made again. */
static void settle(struct attach *a, struct file *file, const char *wrong)
{
	bool unmakeable = wrong && !may_pass(wrong);

	file->pending = false;
	if (!wrong)
		wrong = attach_file(a, file);
	if (!wrong) {
		a->nr++;
		return;
	}
	if ((wrong == damaged || wrong == refused) && !file->remade) {
		store_remove(a->store, &file->key);
		file->remade = true;
		file->pending = true;
		file->given = false;
		return;
	}
	close(file->fd);
	file->fd = -1;
	a->without++;
	file->hopeless = unmakeable || wrong == damaged || wrong == refused ||
			 wrong == too_large;
	a->full |= wrong == no_room;
	a->again |= may_pass(wrong);
	if (a->verbose || file->named)
		fprintf(stderr, "codectl: %s: %s\n", file->name, wrong);
}

/* Some of what was added. */
static void look_at_new(struct attach *a)
{
	struct files *files = &a->files;
	size_t left = LOOK_AT;
	off_t bytes = LOOK_AT_BYTES;

	while (files->old < files->nr && left-- && bytes > 0) {
		struct file *file = &files->file[files->old];
		const char *wrong = key_of(file);

		/* It may have been given up for that. */
		if (ended)
			return;
		files->old++;
		if (file->key.is_hash)
			bytes -= file->size;
		if (wrong || store_has(a->store, &file->key))
			settle(a, file, wrong);
		else
			file->pending = true;
	}
}

/* That a converter which has ended has left without a table. */
static void settle_without(struct attach *a, struct file *file)
{
	char *wrong = converter_wrong(&a->converter, file);

	file->given = false;
	if (wrong || ++file->tries == TRIES)
		settle(a, file, wrong ? wrong : unmade);
	free(wrong);
}

/* Those whose table has come, and with @last all that a converter was given. */
static void settle_pending(struct attach *a, bool last)
{
	for (size_t i = 0; i < a->files.nr; i++) {
		struct file *file = &a->files.file[i];

		if (!file->pending || !file->given)
			continue;
		if (store_has(a->store, &file->key))
			settle(a, file, NULL);
		else if (last)
			settle_without(a, file);
	}
}

static size_t count_pending(const struct files *files)
{
	size_t nr = 0;

	for (size_t i = 0; i < files->nr; i++)
		nr += files->file[i].pending;
	return nr;
}

/* Without waiting for who makes tables; whether some are still to come. */
static bool attach_new(struct attach *a)
{
	bool last;

	look_at_new(a);
	if (a->converter.pid) {
		last = converter_has_ended(&a->converter);
		settle_pending(a, last);
		if (last)
			converter_free(&a->converter);
	}
	if (!a->converter.pid && count_pending(&a->files))
		converter_start(&a->converter, &a->files, a->store);
	return a->converter.pid || a->files.old < a->files.nr;
}

static void report(const struct attach *a)
{
	fprintf(stderr, "codectl: %zu files have tables now, of %.1f MiB; %zu have none\n",
		a->nr, a->bytes / 1048576.0, a->without);
	if (count_pending(&a->files))
		fprintf(stderr, "codectl: %zu more are being converted\n",
			count_pending(&a->files));
	if (a->files.unopened)
		fprintf(stderr, "codectl: %zu mappings could not be looked at: %s\n",
			a->files.unopened, strerror(a->files.error));
}

/* Whether what is left to be converted is what anybody may have made, without end. */
static bool only_anybodys(const struct attach *a)
{
	for (size_t i = 0; i < a->files.old; i++) {
		const struct file *file = &a->files.file[i];

		if (file->pending && !files_is_anybodys(file))
			return false;
	}
	return a->all;
}

/* All that there are tables to be made for at the start, which may take minutes. */
static void attach_first(struct attach *a)
{
	bool terminal = isatty(STDERR_FILENO);
	time_t start = time(NULL), said = start;

	while (attach_new(a) && !ended) {
		if (time(NULL) - start >= FIRST_SECONDS && only_anybodys(a))
			break;
		if (terminal) {
			fprintf(stderr, "\r%zu files have tables, %zu to come ", a->nr,
				count_pending(&a->files));
		} else if (time(NULL) - said >= SAY_SECONDS) {
			fprintf(stderr, "codectl: %zu files have tables, %zu to come\n",
				a->nr, count_pending(&a->files));
			said = time(NULL);
		}
		if (a->files.old == a->files.nr)
			usleep(FOLLOW_MS * 1000);
	}
	if (terminal)
		fputs("\r\033[K", stderr);
	report(a);
}

/* Each table takes a descriptor.  Returns the limit that there was. */
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
	/* That may close. */
	bool terminal = isatty(STDIN_FILENO) || isatty(STDERR_FILENO);

	sigaction(SIGINT, &to_end, NULL);
	sigaction(SIGTERM, &to_end, NULL);
	/* Whoever has it ignored, as nohup does, means it. */
	if (!terminal)
		sigaction(SIGHUP, &to_ask, NULL);
	else if (signal(SIGHUP, SIG_IGN) != SIG_IGN)
		sigaction(SIGHUP, &to_end, NULL);
	/* Of children whose end is ignored nobody is told. */
	signal(SIGCHLD, SIG_DFL);
}

static void drop_stale(struct attach *a)
{
	static time_t last, last_unmapped;
	time_t now = time(NULL);
	int unmapped = -1;
	bool again;

	if (!last) {
		last = now;
		last_unmapped = now;
	}
	if (!asked && now - last < STALE_SECONDS)
		return;
	if (a->all && (asked || a->full || now - last_unmapped >= UNMAPPED_SECONDS)) {
		unmapped = asked || a->full ? 0 : FILES_UNMAPPED;
		last_unmapped = now;
	}
	again = asked || a->again;
	asked = 0;
	a->full = false;
	a->again = false;
	if ((files_drop_stale(&a->files, unmapped) || again) && a->all)
		files_add_all(&a->files);
	last = now;
}

/* Until the command has ended, or this process is told to. */
static void stay(struct attach *a, struct follow *follow, struct child *child)
{
	while (!ended && !(child->pid && child_has_ended(child))) {
		if (follow) {
			follow_wait(follow, &a->files,
				    a->files.old < a->files.nr ? 0 : FOLLOW_MS);
			attach_new(a);
		} else {
			usleep(FOLLOW_MS * 1000);
		}
		drop_stale(a);
	}
}

static void add_process(struct attach *a, pid_t pid)
{
	size_t unopened = a->files.unopened, nr = a->files.nr;

	if (!files_add_process(&a->files, pid))
		die_proc(pid, "maps", errno);
	if (a->files.unopened > unopened && a->files.nr == nr)
		die_proc(pid, "map_files", a->files.error);
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
		command = !strcmp(argv[optind], "--");
		if (command)
			continue;
		a->some = true;
		if (!files_add_named(&a->files, argv[optind]))
			die("cannot open %s: %s", argv[optind],
			    errno == EINVAL ? "not a regular file" : strerror(errno));
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
	struct attach a = { 0 };
	struct follow *follow = NULL;
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
	a.store = store_open(a.store_path);
	if (a.all) {
		follow = follow_start();
		if (!files_add_all(&a.files)) {
			fprintf(stderr, "codectl: cannot look at all processes: %s\n",
				strerror(errno));
			a.again = true;
		}
	}
	catch_signals();
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
	stay(&a, follow, &child);
	if (!command)
		return 0;
	child_end(&child);
	return exit_status(child.status);
}

// SPDX-License-Identifier: MIT
/*
 * codectl: shows which code is registered, what covers an address, and the user stacks
 * of events, and reports on them; makes tables for files that have none.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sframe/store.h"
#include "tool.h"

static const struct command {
	const char *name;
	int (*run)(int argc, char **argv);
} commands[] = {
	{ "list", cmd_list },
	{ "where", cmd_where },
	{ "record", cmd_record },
	{ "report", cmd_report },
	{ "top", cmd_top },
	{ "sframe", cmd_sframe },
	{ "attach", cmd_attach },
};

static void print_record_help(void)
{
	printf("Options of list:\n"
	       "  --raw              the lines of /proc/PID/codectl as they are\n"
	       "\n"
	       "Options of record:\n"
	       "  --futex            futex system calls (without any event, this one)\n"
	       "  --event NAME       an event, as EVENT or SYSTEM:EVENT; may be repeated\n"
	       "  --wait             where threads wait, and for how long, instead of events\n"
	       "  --min-wait US      only waits of at least US microseconds (100)\n"
	       "  --wakers           of --wait: also who ends the waits\n"
	       "  --cpu              what runs on CPUs, sampled by perf, and for how long\n"
	       "  -F HZ              of --cpu: samples per second of CPU time (499)\n"
	       "  --kernel           with the functions of the kernel\n"
	       "  --no-attach        give files no tables meanwhile\n"
	       "  -p PID             of that process and what it starts from then on\n"
	       "  --names            name compiled code by what programs report meanwhile\n"
	       "  --duration S       for S seconds\n"
	       "  --buffer KIB       size of the buffer of each CPU\n"
	       "  -o, --output FILE  save a recording, and print no stacks\n"
	       "  --folded FILE, --flamegraph FILE  as below\n"
	       "\n");
}

static void print_report_help(void)
{
	printf("Options of report:\n"
	       "  --stacks           the stacks, as record shows them\n"
	       "  --lines            a table of source lines\n"
	       "  --folded OUT       write one line per stack, for flame graphs\n"
	       "  --flamegraph OUT   write a flame graph (SVG)\n"
	       "  --pprof OUT        write a profile for pprof\n"
	       "  --speedscope OUT   write a file for speedscope\n"
	       "  --json OUT         write all figures\n"
	       "  --diff OTHER       what has changed since the recording OTHER\n"
	       "  --by GROUP[,...]   by event, comm, pid, tid or cgroup; or none (event)\n"
	       "  --sort self|total  order of the table (self)\n"
	       "  --unit events|time what is counted\n"
	       "  --event NAME, --comm NAME, --pid PID, --tid TID, --cgroup PATH  only these;\n"
	       "                     may be repeated\n"
	       "  --time FROM,TO     only between these seconds\n"
	       "  --min-share P      leave out what is less than P percent\n"
	       "\n");
}

static void print_top_help(void)
{
	printf("Options of top:\n"
	       "  -p PID             only that process, and what it starts from then on\n"
	       "  -F HZ              samples per second of CPU time (199)\n"
	       "  -d SECONDS         the time that each table covers (1)\n"
	       "  -n COUNT           end after COUNT tables\n"
	       "  --kernel           with the functions of the kernel\n"
	       "  --no-attach        give files no tables meanwhile\n"
	       "  --by GROUP         by comm, pid, tid or cgroup; or none (none)\n"
	       "  --sort self|total  order of the table (self)\n"
	       "  --json             all figures of each period\n"
	       "Keys: q ends, s sorts by self, t by total, g groups by another one.\n"
	       "\n");
}

static void print_help(void)
{
	printf("usage: codectl list [--raw] PID\n"
	       "       codectl where PID ADDRESS...\n"
	       "       codectl record [OPTION]... [-p PID | -- COMMAND [ARG]...]\n"
	       "       codectl report [OPTION]... RECORDING\n"
	       "       codectl top [OPTION]... [-p PID]\n"
	       "       codectl sframe [OPTION]... FILE... | --all DIR | --prune\n"
	       "       codectl attach [OPTION]... [FILE]... [-- COMMAND [ARG]...]\n"
	       "\n"
	       "list    show the code that a process has registered\n"
	       "where   show what covers an address, and which function it is in\n"
	       "record  show the user stacks of events, the most frequent first\n"
	       "report  show a recording of them as a table, or in another form\n"
	       "top     show which functions run on the CPUs now\n"
	       "sframe  make SFrame tables of the CFI of programs and libraries\n"
	       "attach  give programs and libraries tables, in all processes\n"
	       "\n"
	       "PID is the id of a process, its name, or self.\n"
	       "\n");
	print_record_help();
	print_report_help();
	print_top_help();
	printf("Options of sframe:\n"
	       "  -o OUT             write the table of the one FILE to OUT\n"
	       "  --store DIR        the store (" STORE_CACHE ")\n"
	       "  --all DIR          all programs and libraries below DIR\n"
	       "  --jobs N           by N processes in parallel (one per CPU)\n"
	       "  --force            also those whose table is in the store\n"
	       "  --by-content       name tables by the SHA-256 of files, not by build-id\n"
	       "  -v, --verbose      print what has no rule and why, and sizes\n"
	       "  --prune            remove tables from the store:\n"
	       "  --max-size MIB     the least recently used, down to MIB (%d)\n"
	       "  --max-age DAYS     those not used for DAYS (%d)\n"
	       "\n"
	       "Options of attach:\n"
	       "  -a, --all          all that runs, and what is mapped later; the default\n"
	       "                     without FILE and -p\n"
	       "  -p PID             what that process has mapped; may be repeated\n"
	       "  --store DIR        as above\n"
	       "  -v, --verbose      say which files have no table, and why\n"
	       "\n"
	       "codectl --help | --version\n"
	       "\n"
	       "Exit status: 0; 1 if it failed; 2 if it was not called as above.\n",
	       STORE_MAX_MIB, STORE_MAX_DAYS);
}

#ifndef HAVE_SFRAME
int cmd_sframe(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	die("built without libsframe of binutils 2.46 or newer");
}

int cmd_attach(int argc, char **argv)
{
	return cmd_sframe(argc, argv);
}
#endif

/*
 * What is opened later must not become standard output or error, and get messages.  Using
 * those that were closed still fails.
 */
static void fill_descriptors(void)
{
	int fd;

	do {
		fd = open("/dev/null", O_PATH);
	} while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

int main(int argc, char **argv)
{
	fill_descriptors();
	/*
	 * If the end of children is ignored nobody is notified, and their ids may be
	 * reused.
	 */
	signal(SIGCHLD, SIG_DFL);
	if (argc < 2)
		die_usage("no command given");
	if (!strcmp(argv[1], "--help")) {
		print_help();
		return finish_output();
	}
	if (!strcmp(argv[1], "--version")) {
		printf("codectl %s\n", VERSION);
		return finish_output();
	}
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		if (!strcmp(argv[1], commands[i].name))
			return commands[i].run(argc - 1, argv + 1);
	die_usage("no such command: %s", argv[1]);
}

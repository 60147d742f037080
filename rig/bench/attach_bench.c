// SPDX-License-Identifier: GPL-2.0
/*
 * Runs a program while the C library, and the libraries that it will load, have tables
 * attached:
 *
 *	attach_bench LIBRARY... -- PROGRAM [ARG]...
 */
#include <dlfcn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attach.h"
#include "bench.h"

int main(int argc, char **argv)
{
	int status, nr = 0;
	pid_t pid;

	for (argv++; *argv && strcmp(*argv, "--"); argv++, nr++) {
		if (!dlopen(*argv, RTLD_LAZY)) {
			fprintf(stderr, "%s\n", dlerror());
			return 2;
		}
	}
	if (!*argv++)
		return 2;
	if (attach_loaded() < nr)
		die("cannot attach tables");
	/* The program gets no descriptors; they stay open here. */
	pid = fork();
	if (!pid) {
		execv(*argv, argv);
		die(*argv);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
		die("wait");
	return 0;
}

// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "flamegraph.h"
#include "tool.h"

#define RENDERER	"flamegraph.pl"
/* Brendan Gregg's, as Debian has it in libdevel-nytprof-perl */
#define DEBIAN_RENDERER	"/usr/share/perl5/Devel/NYTProf/" RENDERER

char *flamegraph_find(void)
{
	const char *path = getenv("PATH");
	char *dirs = need(strdup(path ? path : "")), *rest = dirs, *dir;
	char *file;

	while ((dir = strsep(&rest, ":"))) {
		file = format("%s/" RENDERER, *dir ? dir : ".");
		if (!access(file, X_OK)) {
			free(dirs);
			return file;
		}
		free(file);
	}
	free(dirs);
	if (access(DEBIAN_RENDERER, X_OK))
		die("no " RENDERER " to draw with, in PATH or as %s: %s brings it",
		    DEBIAN_RENDERER, "'apt-get install libdevel-nytprof-perl'");
	return need(strdup(DEBIAN_RENDERER));
}

/* 0 or the error. */
static int start(pid_t *pid, const char *renderer, int in, int out)
{
	char *argv[] = {
		(char *)renderer, "--hash", "--title", "User stacks of events",
		"--countname", "events", NULL
	};
	posix_spawn_file_actions_t actions;
	int error;

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, in, 0);
	posix_spawn_file_actions_adddup2(&actions, out, 1);
	error = posix_spawn(pid, renderer, &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	return error;
}

void flamegraph_draw(const char *renderer, FILE *folded, const char *svg)
{
	int out, status, error;
	pid_t pid;

	out = open(svg, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (out < 0)
		die("cannot write %s: %s", svg, strerror(errno));
	rewind(folded);
	error = start(&pid, renderer, fileno(folded), out);
	if (error) {
		unlink(svg);
		die("cannot run %s: %s", renderer, strerror(error));
	}
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			die("cannot wait for %s: %s", renderer, strerror(errno));
	if (close(out) || !WIFEXITED(status) || WEXITSTATUS(status)) {
		unlink(svg);
		die("%s failed: there is no %s", renderer, svg);
	}
}

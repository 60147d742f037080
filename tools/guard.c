// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guard.h"
#include "tool.h"

/* How long files of the instance may stay open after their owner has ended. */
#define PATIENCE_MS	30000
/* Its owner may be about to end because something went wrong while it used them. */
#define OUR_PATIENCE_MS	20000

static pid_t guard;
static int alive = -1;

static bool remove_instance(const char *path)
{
	for (int waited = 0; waited < PATIENCE_MS; waited += 10) {
		if (!rmdir(path) || errno == ENOENT)
			return true;
		if (errno != EBUSY)
			return false;
		usleep(10000);
	}
	return false;
}

static bool remove_instances(const char *const *paths)
{
	bool good = true;

	for (; *paths; paths++)
		good &= remove_instance(*paths);
	return good;
}

/* Somebody else may have set it meanwhile. */
static void set_back(const struct guard_setting *set)
{
	char text[64];
	int fd = open(set->path, O_RDWR | O_CLOEXEC);
	ssize_t len = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);

	text[len > 0 ? len : 0] = '\0';
	text[strcspn(text, "\n")] = '\0';
	if (!strcmp(text, set->ours) &&
	    pwrite(fd, set->before, strlen(set->before), 0) < 0)
		text[0] = '\0';
	if (fd >= 0)
		close(fd);
}

static void append(const struct guard_line *line)
{
	int fd = open(line->path, O_WRONLY | O_APPEND | O_CLOEXEC);

	if (fd < 0)
		return;
	dprintf(fd, "%s", line->text);
	close(fd);
}

/* In a session of its own: without a terminal's signals, and without inherited files. */
static void __attribute__((noreturn)) stand_guard(int end, const char *const *paths,
						  const struct guard_setting *set,
						  const struct guard_line *last)
{
	static const int ignored[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE };
	int null = open("/dev/null", O_RDWR);
	char byte;
	bool good;

	setsid();
	for (size_t i = 0; i < ARRAY_SIZE(ignored); i++)
		signal(ignored[i], SIG_IGN);
	if (chdir("/"))
		_exit(EXIT_FAILED);
	for (int fd = 0; fd < 3; fd++)
		dup2(null, fd);
	dup2(end, 3);
	close_range(4, ~0U, 0);
	while (read(3, &byte, 1) < 0 && errno == EINTR)
		;
	if (set)
		set_back(set);
	good = remove_instances(paths);
	if (last)
		append(last);
	_exit(good ? 0 : EXIT_FAILED);
}

bool guard_end(void)
{
	int status = 0;

	if (alive < 0)
		return true;
	close(alive);
	alive = -1;
	for (int waited = 0; waited < OUR_PATIENCE_MS; waited++) {
		if (waitpid(guard, &status, WNOHANG) == guard)
			return WIFEXITED(status) && !WEXITSTATUS(status);
		usleep(1000);
	}
	return false;
}

static void end_at_exit(void)
{
	guard_end();
}

static void __attribute__((noreturn)) give_up(const char *const *paths, const char *what)
{
	int error = errno;

	remove_instances(paths);
	die("cannot %s: %s", what, strerror(error));
}

void guard_start(const char *const *paths, const struct guard_setting *set,
		 const struct guard_line *last)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		give_up(paths, "make a pipe");
	guard = fork();
	if (!guard) {
		close(ends[1]);
		stand_guard(ends[0], paths, set, last);
	}
	close(ends[0]);
	alive = ends[1];
	if (guard < 0)
		give_up(paths, "start a process");
	atexit(end_at_exit);
}

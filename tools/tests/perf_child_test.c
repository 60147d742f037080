// SPDX-License-Identifier: MIT
/* How long perf is waited for; a script stands in for it. */
#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "check.h"
#include "interrupt.h"
#include "perf_child.h"
#include "tool.h"

static char dir[] = "/tmp/perf_child_test.XXXXXX";
static struct perf_child child;
static struct perf_stream *stream;

/* What follows --control has the descriptor for answers after the comma. */
#define ANSWER	"while [ $1 != --control ]; do shift; done; eval \"echo ack >&${2#*,}\"\n"

/* After that it ends only once it was asked to answer again. */
#define LATER	"eval \"read a <&${2#*,}; read a <&${2#*,}\"\n"

static void perf_is(const char *script)
{
	char *path = format("%s/perf", dir);
	FILE *file = fopen(path, "w");

	if (!file || fprintf(file, "#!/bin/sh\n%s", script) < 0 || fchmod(fileno(file), 0755) ||
	    fclose(file))
		abort();
	free(path);
}

static void take(void *context, const struct perf_record *record)
{
	(void)context;
	(void)record;
}

static void start(void)
{
	const struct perf_options options = { .hertz = 99 };

	perf_child_start(&child, &options, stream);
}

/* Does a start fail with that message? */
static bool start_fails(const char *message)
{
	int errors = memfd_create("errors", 0), status = 0;
	char said[256] = "";
	pid_t pid = fork();

	if (!pid) {
		dup2(errors, STDERR_FILENO);
		start();
		_exit(0);
	}
	waitpid(pid, &status, 0);
	if (pread(errors, said, sizeof(said) - 1, 0) < 0 || !strstr(said, message))
		printf("# %s\n", said);
	close(errors);
	return WIFEXITED(status) && WEXITSTATUS(status) == EXIT_FAILED && strstr(said, message);
}

static void one_that_never_samples(void)
{
	perf_is("exec sleep 1000\n");
	perf_child_silent_ms = 200;
	CHECK(start_fails("perf record does not begin to sample"));
	perf_child_silent_ms = 60000;
}

static void one_that_never_samples_is_interrupted(void)
{
	perf_is("exec sleep 1000\n");
	interrupted = 1;
	CHECK(start_fails("codectl: interrupted\n"));
	interrupted = 0;
}

static void one_that_fails(void)
{
	perf_is("echo no such event >&2; exit 1\n");
	CHECK(start_fails("codectl: perf record fails: no such event\n"));
}

static void one_that_ends(void)
{
	perf_is(ANSWER "exec sleep 1000\n");
	start();
	CHECK(perf_child_end(&child, stream));
	CHECK(!child.pid && waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD);
}

static void one_that_does_not_end(void)
{
	perf_is("trap '' TERM\n" ANSWER "exec sleep 1000\n");
	start();
	perf_child_silent_ms = 200;
	CHECK(!perf_child_end(&child, stream));
	CHECK(!child.pid && waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD);
	perf_child_silent_ms = 60000;
}

static void ones_that_fail_later(void)
{
	perf_is(ANSWER "exec sleep 1000\n");
	start();
	kill(child.pid, SIGKILL);
	CHECK(!perf_child_end(&child, stream));
	perf_is(ANSWER LATER "exit 1\n");
	start();
	while (perf_child_read(&child, stream, 10))
		;
	CHECK(!perf_child_end(&child, stream));
}

static void one_with_nothing_left_to_sample(void)
{
	perf_is(ANSWER LATER "exit 0\n");
	start();
	while (perf_child_read(&child, stream, 10))
		;
	CHECK(perf_child_end(&child, stream));
}

/* As when the process to sample ends meanwhile; who is first differs. */
static void ones_that_end_at_once(void)
{
	int status = 0;

	perf_is(ANSWER "exit 0\n");
	for (int i = 0; i < 100 && !status; i++) {
		pid_t pid = fork();

		if (!pid) {
			start();
			_exit(!perf_child_end(&child, stream));
		}
		waitpid(pid, &status, 0);
	}
	CHECK(!status);
}

int main(void)
{
	char *path, *file;

	if (!mkdtemp(dir))
		abort();
	path = format("%s:%s", dir, getenv("PATH"));
	setenv("PATH", path, 1);
	stream = perf_stream_new(take, NULL);
	RUN(one_that_never_samples);
	RUN(one_that_never_samples_is_interrupted);
	RUN(one_that_fails);
	RUN(one_that_ends);
	RUN(one_that_does_not_end);
	RUN(ones_that_fail_later);
	RUN(one_with_nothing_left_to_sample);
	RUN(ones_that_end_at_once);
	perf_stream_free(stream);
	file = format("%s/perf", dir);
	unlink(file);
	rmdir(dir);
	free(file);
	free(path);
	return check_end();
}

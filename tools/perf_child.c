// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "interrupt.h"
#include "perf_child.h"
#include "tool.h"

/* Exit status of perf if it does not know an option or its value. */
#define PERF_USAGE	129
#define MAX_ARGS	40
/* Of perf's messages as much as is shown. */
#define MAX_LINE	200
#define STEP_MS		100

/* perf reads what the kernel tells of other programs, which may delay that, as looker.h says. */
int64_t perf_child_silent_ms = 60000;

/* perf answers to that once it samples, and writes what it has. */
static const char ping[] = "ping\n";

/* ----------------------------------------------------------------- starting */

/* Does the kernel report the cgroup of a sample? */
static bool has_cgroups(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK, .sample_type = PERF_SAMPLE_CGROUP,
		.disabled = 1, .exclude_kernel = 1,
	};
	int fd = syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		return false;
	close(fd);
	return true;
}

struct arguments {
	char *list[MAX_ARGS];
	size_t nr;
};

static void add(struct arguments *arguments, const char *one, const char *other)
{
	arguments->list[arguments->nr++] = need(strdup(one));
	if (other)
		arguments->list[arguments->nr++] = need(strdup(other));
}

static void add_number(struct arguments *arguments, const char *option, const char *form,
		       unsigned long number)
{
	char text[64];

	snprintf(text, sizeof(text), form, number);
	add(arguments, option, text);
}

/*
 * Idle CPUs need not be woken.  Without build-ids, for which perf would open files by
 * their paths.
 */
static struct arguments describe(const struct perf_options *options, const char *callgraph,
				 int control)
{
	static const char *const always[] = {
		"perf", "record", "-q", "-B", "-N", "--no-buildid-mmap", "-o", "-",
		"-k", "CLOCK_MONOTONIC", "-e", "cpu-clock:I",
	};
	struct arguments arguments = { 0 };
	char text[64];

	for (size_t i = 0; i < ARRAY_SIZE(always); i++)
		add(&arguments, always[i], NULL);
	add_number(&arguments, "-F", "%lu", options->hertz);
	add(&arguments, "--call-graph", callgraph);
	snprintf(text, sizeof(text), "fd:%d,%d", control, control);
	add(&arguments, "--control", text);
	if (!options->kernel)
		add(&arguments, "--user-callchains", NULL);
	if (has_cgroups())
		add(&arguments, "--all-cgroups", NULL);
	if (options->buffer_kib)
		add_number(&arguments, "-m", "%luK", options->buffer_kib);
	if (options->pid)
		add_number(&arguments, "-p", "%lu", options->pid);
	else
		add(&arguments, "-a", NULL);
	return arguments;
}

/* It ends with this process, and uses no configuration files. */
static void __attribute__((noreturn)) execute(struct arguments *arguments, int data,
					      int errors, pid_t parent)
{
	if (prctl(PR_SET_PDEATHSIG, SIGTERM) || getppid() != parent)
		_exit(EXIT_FAILED);
	setenv("PERF_CONFIG", "/dev/null", 1);
	dup2(open("/dev/null", O_RDWR | O_CLOEXEC), STDIN_FILENO);
	dup2(data, STDOUT_FILENO);
	dup2(errors, STDERR_FILENO);
	execvp(arguments->list[0], arguments->list);
	dprintf(STDERR_FILENO, "it cannot be run: %s\n", strerror(errno));
	_exit(EXIT_FAILED);
}

static void run(struct perf_child *child, const struct perf_options *options,
		const char *callgraph)
{
	int data[2], control[2];
	struct arguments arguments;
	pid_t parent = getpid();

	if (pipe2(data, O_CLOEXEC) || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, control))
		die("cannot make a pipe: %s", strerror(errno));
	child->errors = memfd_create("errors", MFD_CLOEXEC);
	arguments = describe(options, callgraph, control[1]);
	fflush(stdout);
	child->pid = fork();
	if (child->pid < 0)
		die("cannot start a process: %s", strerror(errno));
	if (!child->pid) {
		fcntl(control[1], F_SETFD, 0);
		execute(&arguments, data[1], child->errors, parent);
	}
	close(data[1]);
	close(control[1]);
	child->data = data[0];
	child->control = control[0];
	child->asked = false;
	while (arguments.nr)
		free(arguments.list[--arguments.nr]);
}

/* ------------------------------------------------------------------ reading */

/* Until it ends it may be slow: wait for the answer before asking again. */
static void ask(struct perf_child *child)
{
	if (!child->asked)
		child->asked = send(child->control, ping, strlen(ping),
				    MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)strlen(ping);
}

static bool take_answer(struct perf_child *child)
{
	char answer[64];

	if (recv(child->control, answer, sizeof(answer), MSG_DONTWAIT) <= 0)
		return false;
	child->asked = false;
	return true;
}

/* False at the end of the data. */
static bool take_data(struct perf_child *child, struct perf_stream *stream)
{
	static char buffer[1 << 16];
	ssize_t got = read(child->data, buffer, sizeof(buffer));
	const char *wrong;

	if (got < 0)
		return errno == EINTR || errno == EAGAIN;
	if (!got)
		return false;
	wrong = perf_stream_feed(stream, buffer, got);
	if (wrong)
		die("%s", wrong);
	return true;
}

/* Waits for either; -1: there is no more data. */
static int wait_for(struct perf_child *child, struct perf_stream *stream, int ms)
{
	struct pollfd ends[] = {
		{ .fd = child->data, .events = POLLIN },
		{ .fd = child->control, .events = POLLIN },
	};
	int answered = 0;

	if (poll(ends, ARRAY_SIZE(ends), ms) <= 0)
		return 0;
	child->heard = now_ms();
	if (ends[1].revents & POLLIN)
		answered = take_answer(child);
	/* It may have ended since: that is seen the next time. */
	if (!answered && ends[0].revents && !take_data(child, stream))
		return -1;
	return answered;
}

bool perf_child_read(struct perf_child *child, struct perf_stream *stream, int ms)
{
	const int64_t end = now_ms() + ms;
	int64_t left = ms;

	ask(child);
	do {
		if (wait_for(child, stream, left) < 0)
			return false;
		left = end - now_ms();
	} while (left > 0);
	return true;
}

/* ------------------------------------------------------------- start and end */

/* Its status, as from waitpid(). */
static int leave(struct perf_child *child)
{
	int status = 0;

	close(child->data);
	close(child->control);
	while (waitpid(child->pid, &status, 0) < 0 && errno == EINTR)
		;
	child->pid = 0;
	return status;
}

/* Prints its first message, without its own name. */
static void __attribute__((noreturn)) die_of_perf(struct perf_child *child)
{
	char line[MAX_LINE + 1], *clean;
	ssize_t len = pread(child->errors, line, MAX_LINE, 0);

	line[len > 0 ? len : 0] = '\0';
	line[strcspn(line, "\n")] = '\0';
	clean = escape(line, strlen(line), "");
	die("perf record fails: %s", *clean ? clean : "it does not say why");
}

static bool is_silent(const struct perf_child *child)
{
	return now_ms() - child->heard > perf_child_silent_ms;
}

/* False if it has ended before. */
static bool wait_until_it_samples(struct perf_child *child, struct perf_stream *stream)
{
	int answered;

	ask(child);
	child->heard = now_ms();
	do {
		answered = wait_for(child, stream, STEP_MS);
	} while (!answered && !interrupted && !is_silent(child));
	if (!answered) {
		kill(child->pid, SIGKILL);
		leave(child);
		die(interrupted ? "interrupted" :
		    "perf record does not begin to sample: it may wait for a program");
	}
	return answered > 0;
}

/* An older perf does not know that user stacks may come later. */
void perf_child_start(struct perf_child *child, const struct perf_options *options,
		      struct perf_stream *stream)
{
	static const char *const callgraphs[] = { "fp,defer", "fp" };
	int status;

	for (size_t i = 0; i < ARRAY_SIZE(callgraphs); i++) {
		run(child, options, callgraphs[i]);
		if (wait_until_it_samples(child, stream))
			return;
		status = leave(child);
		if (!WIFEXITED(status) || WEXITSTATUS(status) != PERF_USAGE)
			break;
		if (i + 1 < ARRAY_SIZE(callgraphs))
			close(child->errors);
	}
	die_of_perf(child);
}

static bool is_success(int status)
{
	return WIFSIGNALED(status) ? WTERMSIG(status) == SIGTERM : !WEXITSTATUS(status);
}

bool perf_child_end(struct perf_child *child, struct perf_stream *stream)
{
	int status;
	bool ended;

	kill(child->pid, SIGTERM);
	child->heard = now_ms();
	do {
		ended = wait_for(child, stream, STEP_MS) < 0;
	} while (!ended && !is_silent(child));
	if (!ended)
		kill(child->pid, SIGKILL);
	status = leave(child);
	close(child->errors);
	perf_stream_end(stream);
	return ended && is_success(status);
}

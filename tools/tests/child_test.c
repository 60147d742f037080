// SPDX-License-Identifier: MIT
/* Commands, processes and signals that end a recording, and what is written then. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

#include "check.h"
#include "child.h"
#include "interrupt.h"
#include "process.h"
#include "record_outputs.h"
#include "report/writers.h"
#include "tool.h"

static char *command[] = { "true", NULL };

/* Runs @function in a process of its own; returns its status. */
static int status_of(void (*function)(void))
{
	int status = -1;
	pid_t pid = fork();

	if (!pid) {
		function();
		_exit(0);
	}
	waitpid(pid, &status, 0);
	return status;
}

static void start_command(void)
{
	struct child child;

	child_prepare(&child, command);
	child_release(&child, command[0]);
	waitpid(child.pid, &child.status, 0);
	_exit(child.status ? 2 : 0);
}

static void start_killed_command(void)
{
	struct child child;

	child_prepare(&child, command);
	kill(child.pid, SIGKILL);
	waitpid(child.pid, &child.status, 0);
	child_release(&child, command[0]);
}

/* As by the key that is to end the recording, while tables are still made. */
static void a_command_that_is_killed_before_it_starts(void)
{
	int status = status_of(start_command);

	CHECK(WIFEXITED(status) && !WEXITSTATUS(status));
	status = status_of(start_killed_command);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == EXIT_FAILED);
}

static void has_ended_without_anybody_waiting(void)
{
	pid_t pid = start_process();
	int process = process_open(pid);
	siginfo_t info;

	CHECK(process >= 0 && !process_has_ended(process));
	kill(pid, SIGKILL);
	waitid(P_PID, pid, &info, WEXITED | WNOWAIT);
	CHECK(!kill(pid, 0) && process_has_ended(process));
	waitpid(pid, NULL, 0);
	CHECK(process_has_ended(process) && process_has_ended(process_open(pid)));
	close(process);
}

/* Not even that of the process that was asked about before. */
static void has_no_start_once_it_has_ended(void)
{
	pid_t pid = start_process();
	uint64_t ticks;

	CHECK(process_start(pid) >= process_start(getpid()));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	CHECK(process_start(getpid()) && !process_start(pid));
	CHECK(!process_runs(pid, &ticks) && !ticks);
}

static int ends[2];		/* of a pipe: a thread ends with its writer */

static void *wait_for_end(void *unused)
{
	char byte;

	(void)unused;
	_exit(read(ends[0], &byte, 1) != 0);
}

static void __attribute__((noreturn)) leave_thread(void)
{
	pthread_t thread;

	close(ends[1]);
	if (pthread_create(&thread, NULL, wait_for_end, NULL))
		_exit(1);
	pthread_exit(NULL);
}

static char state_of(pid_t pid)
{
	char *state = proc_value(pid, "status", "State:\t"), letter = state ? *state : 0;

	free(state);
	return letter;
}

static void has_not_ended_while_it_has_threads(void)
{
	int process;
	pid_t pid;

	CHECK(!pipe(ends));
	pid = fork();
	if (!pid)
		leave_thread();
	process = process_open(pid);
	close(ends[0]);
	while (state_of(pid) != 'Z')
		usleep(1000);
	CHECK(!process_has_ended(process));
	close(ends[1]);
	waitpid(pid, NULL, 0);
	CHECK(process_has_ended(process));
	close(process);
}

static pid_t thread_id;

static void *tell_id(void *unused)
{
	thread_id = gettid();
	pause();
	return unused;
}

static pid_t need_number_of(pid_t tid)
{
	static char text[16];

	snprintf(text, sizeof(text), "%d", tid);
	return need_pid(text);
}

static void need_thread(void)
{
	need_number_of(thread_id);
}

static void need_parent(void)
{
	if (need_number_of(getppid()) != getppid())
		_exit(2);
}

/* A recording of it would end at once, and have nothing. */
static void a_thread_is_no_process(void)
{
	pthread_t thread;
	int status;

	CHECK(!pthread_create(&thread, NULL, tell_id, NULL));
	while (!*(volatile pid_t *)&thread_id)
		usleep(1000);
	status = status_of(need_parent);
	CHECK(WIFEXITED(status) && !WEXITSTATUS(status));
	status = status_of(need_thread);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == EXIT_FAILED);
	pthread_cancel(thread);
	pthread_join(thread, NULL);
}

static void __attribute__((noreturn)) hang_up(sighandler_t before)
{
	signal(SIGHUP, before);
	interrupt_catch();
	raise(SIGHUP);
	_exit(interrupted ? 3 : 4);
}

static void hang_up_in_a_shell(void)
{
	hang_up(SIG_DFL);
}

static void hang_up_under_nohup(void)
{
	hang_up(SIG_IGN);
}

static void a_hangup_that_is_ignored(void)
{
	CHECK(WEXITSTATUS(status_of(hang_up_in_a_shell)) == 3);
	CHECK(WEXITSTATUS(status_of(hang_up_under_nohup)) == 4);
}

static char folded[] = "/tmp/child-XXXXXX";

/* A recording of one event, whose stacks go to @fd. */
static void write_outputs(int fd)
{
	const struct record_options options = { .folded = folded };
	const struct profile_frame frame = { .function = "main" };
	struct profile *profile = profile_new();
	struct selection selection = select_all(profile);
	struct profile_event event = { .name = "a:x" };
	struct profile_task task = { .pid = 1, .tid = 1 };
	struct outputs outputs;
	struct profile_sample sample = { .events = 1 };

	dup2(fd, STDOUT_FILENO);
	outputs = outputs_open(&options);
	sample.stack = profile_stack(profile, PROFILE_NO_STACK, profile_frame(profile, &frame));
	sample.event = profile_event(profile, &event);
	sample.task = profile_task(profile, &task);
	profile_add(profile, &sample);
	outputs_list(&outputs, &selection);
	outputs_write(&outputs, &selection, &options);
}

static void write_to_nobody(void)
{
	int to[2];

	if (pipe(to))
		_exit(2);
	close(to[0]);
	write_outputs(to[1]);
}

static void write_to_full(void)
{
	write_outputs(open("/dev/full", O_WRONLY));
}

/* Is it written in full, and does the program fail? */
static bool is_written(void (*function)(void))
{
	char text[32] = "";
	int status = status_of(function);
	FILE *file = fopen(folded, "r");
	bool any = file && fgets(text, sizeof(text), file);

	if (file)
		fclose(file);
	CHECK(!truncate(folded, 0));
	return any && !strcmp(text, "a:x;main 1\n") && WIFEXITED(status) &&
	       WEXITSTATUS(status) == EXIT_FAILED;
}

/* As with head(1), or a full disk. */
static void files_are_written_if_stacks_cannot_be_printed(void)
{
	int fd = mkstemp(folded);

	CHECK(fd >= 0);
	CHECK(is_written(write_to_nobody));
	CHECK(is_written(write_to_full));
	close(fd);
	unlink(folded);
}

int main(void)
{
	RUN(a_command_that_is_killed_before_it_starts);
	RUN(has_ended_without_anybody_waiting);
	RUN(has_no_start_once_it_has_ended);
	RUN(has_not_ended_while_it_has_threads);
	RUN(a_hangup_that_is_ignored);
	RUN(files_are_written_if_stacks_cannot_be_printed);
	RUN(a_thread_is_no_process);
	return check_end();
}

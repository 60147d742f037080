// SPDX-License-Identifier: MIT
/* The command attach, with stand-ins for system calls that this kernel may refuse. */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "object_folder.h"
#include "tool.h"

static long stand_in(long number, ...);

#define need_codectl()	((void)0)
#define syscall		stand_in
#include "attach/attach.c"
#include "attach/tables.c"
#undef syscall

static long stand_in(long number, ...)
{
	if (number != __NR_codectl)
		abort();
	return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static char *said;

static bool is_there(const char *name)
{
	char *path = in_folder(name);
	bool there = !access(path, F_OK);

	free(path);
	return there;
}

/* Fails after some seconds. */
static bool eventually(bool (*is_so)(const char *arg), const char *arg)
{
	for (int i = 0; i < 1000 && !is_so(arg); i++)
		usleep(10000);
	return is_so(arg);
}

/* Starts it with a store, the object and the given arguments, and with @in as its input. */
static pid_t start(int in, char *command)
{
	char *argv[] = { "attach", "--store", store, object, "--", "sh", "-c", command,
			 NULL };
	pid_t pid;

	unlink(said);
	fflush(stdout);
	pid = fork();
	if (pid)
		return pid;
	dup2(in, 0);
	dup2(open(said, O_WRONLY | O_CREAT, 0644), 2);
	_exit(cmd_attach(command ? 8 : 4, argv));
}

static int end_of(pid_t pid)
{
	int status = -1;

	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int run(char *command)
{
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	pid_t pid = start(null, command);

	close(null);
	return end_of(pid);
}

static void the_exit_status_is_that_of_the_command(void)
{
	CHECK(!run("exit 0"));
	CHECK(run("exit 3") == 3);
	CHECK(run("kill -KILL $$") == 128 + SIGKILL);
}

static void the_command_is_waited_for(void)
{
	pid_t pid = start(0, "trap 'sleep 0.3; touch $FOLDER/done; exit 7' TERM;"
			     "touch $FOLDER/ready; while :; do sleep 0.1; done");

	CHECK(eventually(is_there, "ready"));
	kill(pid, SIGINT);
	CHECK(end_of(pid) == 7 && is_there("done"));
}

static bool has_said(const char *text)
{
	char line[256];
	FILE *file = fopen(said, "re");
	bool has = false;

	while (file && !has && fgets(line, sizeof(line), file))
		has = strstr(line, text);
	if (file)
		fclose(file);
	return has;
}

/* Does it end in time at SIGHUP once it has attached, with @in as its input? */
static bool ends_at_hangup(int in, double seconds)
{
	pid_t pid = start(in, NULL);
	int status;

	CHECK(eventually(has_said, "1 files have tables now"));
	kill(pid, SIGHUP);
	for (int i = 0; i < seconds * 100; i++) {
		if (waitpid(pid, &status, WNOHANG) == pid)
			return WIFEXITED(status) && !WEXITSTATUS(status);
		usleep(10000);
	}
	kill(pid, SIGTERM);
	CHECK(!end_of(pid));
	return false;
}

static void it_ends_when_its_terminal_does(void)
{
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC), slave;

	/* Under nohup, tests ignore the signal, and so would their children. */
	signal(SIGHUP, SIG_DFL);
	CHECK(master >= 0 && !grantpt(master) && !unlockpt(master));
	slave = open(ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC);
	CHECK(ends_at_hangup(slave, 10));
	CHECK(!ends_at_hangup(null, 0.5));
	close(slave);
	close(master);
	close(null);
}

static void the_command_keeps_its_limits(void)
{
	struct rlimit was, limit;

	CHECK(!getrlimit(RLIMIT_NOFILE, &was) && was.rlim_max > 64);
	limit = was;
	limit.rlim_cur = 64;
	CHECK(!setrlimit(RLIMIT_NOFILE, &limit));
	CHECK(!run("[ $(ulimit -S -n) = 64 ]"));
	CHECK(!setrlimit(RLIMIT_NOFILE, &was));
}

int main(void)
{
	if (!make_folder())
		return 1;
	said = in_folder("said");
	setenv("FOLDER", folder, true);
	RUN(the_exit_status_is_that_of_the_command);
	RUN(the_command_is_waited_for);
	RUN(the_command_keeps_its_limits);
	RUN(it_ends_when_its_terminal_does);
	remove_folder();
	free(said);
	return check_end();
}

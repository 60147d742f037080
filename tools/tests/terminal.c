// SPDX-License-Identifier: MIT
/*
 * terminal STEP... -- COMMAND [ARG...]: runs it in a terminal of 12 lines and 60 columns, and
 * performs the steps in turn: =TEXT waits until it has printed TEXT since the previous step, @NR
 * sends signal NR, ! removes the terminal, and anything else is typed.  Prints its output, and at
 * the end its status and whether the terminal is as before; exits with 1 if a step fails.
 */
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>
#include <utmp.h>

#define PATIENCE_S	120

static char seen[1 << 20];
static size_t len, step_at;

/* False at the end of the output. */
static int take(int terminal)
{
	struct pollfd pollfd = { .fd = terminal, .events = POLLIN };
	ssize_t got;

	if (poll(&pollfd, 1, 100) != 1 || pollfd.revents & POLLNVAL)
		return 1;
	got = read(terminal, seen + len, sizeof(seen) - 1 - len);
	if (got <= 0)
		return 0;
	len += got;
	return 1;
}

static int wait_for(int terminal, const char *text)
{
	const time_t end = time(NULL) + PATIENCE_S;

	while (!memmem(seen + step_at, len - step_at, text, strlen(text)))
		if (time(NULL) > end || !take(terminal))
			return 0;
	step_at = len;
	return 1;
}

static int do_step(int terminal, pid_t pid, const char *step)
{
	if (*step == '=')
		return wait_for(terminal, step + 1);
	if (*step == '@')
		return !kill(pid, atoi(step + 1));
	if (*step == '!')
		return !close(terminal);
	return write(terminal, step, strlen(step)) == (ssize_t)strlen(step);
}

static int is_as(int terminal, const struct termios *before)
{
	struct termios after;

	return !tcgetattr(terminal, &after) && after.c_lflag == before->c_lflag &&
	       after.c_iflag == before->c_iflag && after.c_oflag == before->c_oflag &&
	       !memcmp(after.c_cc, before->c_cc, sizeof(after.c_cc));
}

int main(int argc, char **argv)
{
	struct winsize size = { .ws_row = 12, .ws_col = 60 };
	struct termios before;
	int terminal, other, status, failed = 0, i = 1;
	char **command = argv + 1;
	pid_t pid;

	while (*command && strcmp(*command, "--"))
		command++;
	/* The end that stays open preserves the state of the terminal. */
	if (argc < 3 || !*command || openpty(&terminal, &other, NULL, NULL, &size) ||
	    tcgetattr(other, &before))
		return 2;
	pid = fork();
	if (!pid) {
		close(terminal);
		login_tty(other);
		execvp(command[1], command + 1);
		_exit(127);
	}
	for (; argv + i < command && !failed; i++)
		failed = !do_step(terminal, pid, argv[i]);
	if (failed) {
		printf("step failed: %s\n", argv[i - 1]);
		kill(pid, SIGKILL);
	}
	while (!waitpid(pid, &status, WNOHANG)) {
		take(terminal);
		usleep(1000);
	}
	take(terminal);
	fwrite(seen, 1, len, stdout);
	printf("\nstatus %d\nterminal %s\n", WIFEXITED(status) ? WEXITSTATUS(status) : -1,
	       is_as(other, &before) ? "restored" : "changed");
	return failed;
}

// SPDX-License-Identifier: MIT
/*
 * The contents of the screen, and that the terminal is restored, however the program ends.
 */
#include <pty.h>
#include <sys/wait.h>
#include <termios.h>
#include <utmp.h>

#include "check.h"
#include "screen.h"
#include "tool.h"

static char seen[1 << 16];
static size_t len;
static bool restored;

/* Runs @work in a terminal of 3 lines and 10 columns, and types the keys. */
static int in_terminal(void (*work)(void), const char *keys)
{
	struct winsize size = { .ws_row = 3, .ws_col = 10 };
	struct termios before, after;
	int terminal, other, status = -1;
	ssize_t got;
	pid_t pid;

	CHECK(!openpty(&terminal, &other, NULL, NULL, &size) && !tcgetattr(other, &before));
	CHECK(write(terminal, keys, strlen(keys)) == (ssize_t)strlen(keys));
	pid = fork();
	if (!pid) {
		close(terminal);
		login_tty(other);
		work();
		exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid && !tcgetattr(other, &after));
	restored = after.c_lflag == before.c_lflag &&
		   !memcmp(after.c_cc, before.c_cc, sizeof(after.c_cc));
	close(other);
	for (len = 0; (got = read(terminal, seen + len, sizeof(seen) - 1 - len)) > 0; len += got)
		;
	seen[len] = '\0';
	close(terminal);
	return status;
}

static void show(void)
{
	if (!screen_begin())
		exit(1);
	screen_show("one\n0123456789abc\n\303\244\303\266\303\2740123456789\nfour\n");
	screen_end();
}

#define BEGIN	"\033[?1049h\033[?25l"
#define END	"\033[?25h\033[?1049l"
#define LETTERS	"\303\244\303\266\303\274"

static void shows_what_there_is_room_for(void)
{
	CHECK(!in_terminal(show, "") && restored);
	/* The terminal adds the carriage return. */
	CHECK(!strcmp(seen, BEGIN "\033[Hone\033[K\r\r\n0123456789\033[K\r\r\n"
			    LETTERS "0123456\033[K\033[J" END));
}

static void read_keys(void)
{
	struct termios ours;

	if (!screen_begin() || tcgetattr(0, &ours) || ours.c_lflag & (ECHO | ICANON))
		exit(1);
	/* Keys that were typed before, without a newline, are available now. */
	if (screen_key() != 'a' || screen_key() != 'b' || screen_key())
		exit(2);
	exit(0);
}

static void reads_keys_at_once(void)
{
	CHECK(!in_terminal(read_keys, "ab") && restored);
	CHECK(strstr(seen, "\033[?1049l"));
}

static void fail(void)
{
	if (screen_begin())
		die("no more");
}

static void gives_the_terminal_back_on_failure(void)
{
	int status = in_terminal(fail, "");

	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == EXIT_FAILED && restored);
	CHECK(strstr(seen, "\033[?25h\033[?1049l"));
}

static void begin_without(void)
{
	close(0);
	exit(screen_begin() || screen_key() ? 1 : 0);
}

static void takes_nothing_but_a_terminal(void)
{
	CHECK(!in_terminal(begin_without, "") && restored && !len);
}

static void cuts_between_characters(void)
{
	CHECK(screen_fits("abc", 3, 2) == 2 && screen_fits("abc", 3, 9) == 3);
	CHECK(screen_fits("\303\244b", 3, 1) == 2 && screen_fits("\303\244b", 3, 2) == 3);
	CHECK(screen_fits("", 0, 5) == 0 && screen_fits("abc", 3, 0) == 0);
}

int main(void)
{
	RUN(shows_what_there_is_room_for);
	RUN(reads_keys_at_once);
	RUN(gives_the_terminal_back_on_failure);
	RUN(takes_nothing_but_a_terminal);
	RUN(cuts_between_characters);
	return check_end();
}

// SPDX-License-Identifier: MIT
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "report/text.h"
#include "screen.h"

/* The alternate screen, without a cursor; and back. */
#define ENTER	"\033[?1049h\033[?25l"
#define LEAVE	"\033[?25h\033[?1049l"
#define HOME	"\033[H"
#define END_OF_LINE	"\033[K"
#define REST	"\033[J"

static struct termios before;
static bool taken;

/* Output that cannot be seen interests nobody, so errors are ignored. */
static void put(const char *text, size_t len)
{
	while (len) {
		ssize_t written = write(STDOUT_FILENO, text, len);

		if (written <= 0)
			return;
		text += written;
		len -= written;
	}
}

/* Stopping by a key would leave the terminal to the shell as it is here. */
bool screen_begin(void)
{
	struct termios ours;

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO) ||
	    tcgetattr(STDIN_FILENO, &before))
		return false;
	ours = before;
	ours.c_lflag &= ~(ICANON | ECHO);
	ours.c_cc[VMIN] = 0;
	ours.c_cc[VTIME] = 0;
	ours.c_cc[VSUSP] = _POSIX_VDISABLE;
	if (atexit(screen_end) || tcsetattr(STDIN_FILENO, TCSANOW, &ours))
		return false;
	taken = true;
	put(ENTER, strlen(ENTER));
	return true;
}

void screen_end(void)
{
	if (!taken)
		return;
	taken = false;
	put(LEAVE, strlen(LEAVE));
	tcsetattr(STDIN_FILENO, TCSANOW, &before);
}

char screen_key(void)
{
	struct pollfd keys = { .fd = STDIN_FILENO, .events = POLLIN };
	char key = 0;

	if (!taken || poll(&keys, 1, 0) != 1)
		return 0;
	/* With the terminal gone nobody can end this any more. */
	return read(STDIN_FILENO, &key, 1) == 1 ? key : keys.revents & POLLHUP ? 'q' : 0;
}

size_t screen_fits(const char *text, size_t len, size_t columns)
{
	size_t at = 0;

	while (at < len && columns--)
		at += text_letter(text + at) ?: 1;
	return at < len ? at : len;
}

static struct winsize size_of(void)
{
	struct winsize size = { 0 };

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) || !size.ws_row || !size.ws_col)
		size = (struct winsize){ .ws_row = 24, .ws_col = 80 };
	return size;
}

/*
 * In one write, so that it does not flicker; the last line has no newline, which would
 * scroll.
 */
void screen_show(const char *text)
{
	const struct winsize size = size_of();
	char *frame = NULL;
	size_t len = 0;
	FILE *to = open_memstream(&frame, &len);

	if (!to)
		return;
	fputs(HOME, to);
	for (unsigned int row = 0; row < size.ws_row && *text; row++) {
		size_t line = strcspn(text, "\n");

		fprintf(to, "%s%.*s%s", row ? "\r\n" : "",
			(int)screen_fits(text, line, size.ws_col), text, END_OF_LINE);
		text += line + (text[line] == '\n');
	}
	fputs(REST, to);
	if (!fclose(to))
		put(frame, len);
	free(frame);
}

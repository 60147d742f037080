// SPDX-License-Identifier: MIT
/*
 * usage: opened PATH...
 *
 * Prints a line at the start, and another one each time that one of the files is opened.
 */
#include <stdio.h>
#include <sys/inotify.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int fd = inotify_init1(IN_CLOEXEC);
	char events[4096];

	setvbuf(stdout, NULL, _IOLBF, 0);
	for (int i = 1; i < argc; i++)
		if (inotify_add_watch(fd, argv[i], IN_OPEN) < 0)
			return 1;
	puts("ready");
	while (read(fd, events, sizeof(events)) > 0)
		puts("opened");
	return 1;
}

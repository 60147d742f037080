// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "process.h"

#define SECOND		1000000000LL

uint64_t process_start(pid_t pid)
{
	char path[32], text[1024];
	unsigned long long start = 0;
	const char *at;
	FILE *file;
	size_t len;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	file = fopen(path, "re");
	len = file ? fread(text, 1, sizeof(text) - 1, file) : 0;
	if (file)
		fclose(file);
	text[len] = '\0';
	/* The 22nd field, and the 20th after the name, which may contain anything. */
	at = strrchr(text, ')');
	for (int i = 0; at && i < 20; i++)
		at = strchr(at + 1, ' ');
	if (at)
		sscanf(at, "%llu", &start);
	return start;
}

static int64_t now_by(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return time.tv_sec * SECOND + time.tv_nsec;
}

uint64_t process_start_time(uint64_t start)
{
	const uint64_t since_boot = start * (SECOND / sysconf(_SC_CLK_TCK));

	return now_by(CLOCK_REALTIME) - now_by(CLOCK_BOOTTIME) + since_boot;
}

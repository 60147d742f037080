/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Faults, one at a time (/proc/thread-self/fail-nth), in this thread: the nth
 * allocation or user copy after arm() fails.
 */
#ifndef CODECTL_FAULT_H
#define CODECTL_FAULT_H

#include <fcntl.h>

#include "codectl_test.h"

#define FAILSLAB "/sys/kernel/debug/failslab/"
#define FAIL_USERCOPY "/sys/kernel/debug/fail_usercopy/"

static inline int fault_write(const char *name, const char *text)
{
	int fd = open(name, O_WRONLY);
	ssize_t ret;

	if (fd < 0)
		return -1;
	ret = write(fd, text, strlen(text));
	close(fd);

	return ret < 0 ? -1 : 0;
}

/* The argument of arm() and disarm(), or -1. */
static inline int fault_open(void)
{
	/* Allocations that may sleep are left alone by default. */
	if (fault_write(FAILSLAB "ignore-gfp-wait", "N") ||
	    fault_write(FAILSLAB "verbose", "0") ||
	    fault_write(FAIL_USERCOPY "verbose", "0"))
		return -1;
	return open("/proc/thread-self/fail-nth", O_RDWR);
}

static inline void arm(int fd, unsigned int nth)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", nth);
	pwrite(fd, text, strlen(text), 0);
}

/* Was the fault used up?  Afterwards none is armed. */
static inline bool disarm(int fd)
{
	char text[16] = "";

	pread(fd, text, sizeof(text) - 1, 0);
	arm(fd, 0);

	return atoi(text) == 0;
}

#endif /* CODECTL_FAULT_H */

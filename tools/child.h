/* SPDX-License-Identifier: MIT */
#ifndef CHILD_H
#define CHILD_H

#include <stdbool.h>
#include <sys/types.h>

/* The recorded command. */
struct child {
	pid_t pid;		/* 0 if there is none */
	int gate, error;	/* it may start; why it could not */
	int status;		/* once it has ended, as from waitpid() */
};

/* Starts a process that waits before it executes the command. */
void child_prepare(struct child *child, char **command);

/* Lets it start; exits with the reason if it cannot be executed. */
void child_release(struct child *child, const char *name);

bool child_has_ended(struct child *child);

/* Tells it to end, if it has not ended. */
void child_terminate(struct child *child);

/* The same, and waits for it; repeats this at each signal meanwhile. */
void child_end(struct child *child);

#endif

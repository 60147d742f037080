/* SPDX-License-Identifier: MIT */
#ifndef CHILD_H
#define CHILD_H

#include <stdbool.h>
#include <sys/types.h>

/* The command that is recorded. */
struct child {
	pid_t pid;		/* 0: there is none */
	int gate, error;	/* pipes: it may go; why it could not */
	int status;		/* once it has ended: as waitpid() has it */
};

/* Starts a process that waits before it executes the command. */
void child_prepare(struct child *child, char **command);

/* Lets it go; exits with the reason if it cannot be executed. */
void child_release(struct child *child, const char *name);

bool child_has_ended(struct child *child);

/* Tells it to end, if it has not. */
void child_terminate(struct child *child);

/* The same, and waits for it; tells it once more at each signal meanwhile. */
void child_end(struct child *child);

#endif

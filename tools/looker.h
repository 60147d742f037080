/* SPDX-License-Identifier: MIT */
/*
 * Questions about a process that it may keep from being answered: in execve(), which it can
 * delay for ever, it has a lock that the kernel takes for them.  A child process asks them.
 */
#ifndef LOOKER_H
#define LOOKER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Stores the answer; false with errno if there is none. */
typedef bool looker_question(pid_t pid, uint64_t *answer);

/*
 * As @question, or false with ETIMEDOUT if the answer does not come in time.  @user answers
 * for that: after a few such questions there is no answer about processes of that user for
 * a while.
 */
bool looker_ask(looker_question *question, pid_t pid, uid_t user, uint64_t *answer);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef OWNER_H
#define OWNER_H

#include <stdbool.h>
#include <sys/types.h>

/* In a user namespace that is not below that of this process. */
#define OWNER_UNKNOWN	((uid_t)-1)

/*
 * Stores who is responsible for what the process does, by the id in this process's user
 * namespace: its effective user, or the maker of the user namespace below this one that
 * it is in, unless that was root.  There anybody may be root, and mount file systems.
 * False with errno if the process is gone or cannot be looked at; ETIMEDOUT: in time.  Then
 * it stores the effective user.
 */
bool owner_of(pid_t pid, uid_t *uid);

/* Its effective user, whatever namespace it is in; for an answer nobody waits. */
bool owner_effective(pid_t pid, uid_t *uid);

#endif

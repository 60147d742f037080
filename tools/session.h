/* SPDX-License-Identifier: MIT */
/*
 * A tracefs instance of our own, which goes when we do, and another one if names of
 * compiled code are wanted: in the first one their event would have a stack.
 */
#ifndef SESSION_H
#define SESSION_H

#include <stdbool.h>
#include <sys/types.h>
#include <tracefs.h>

struct session {
	struct tracefs_instance *instance;
	struct tracefs_instance *names;	/* for the event of names, or NULL */
	struct tep_handle *tep;
	char **events;		/* SYSTEM:EVENT; NULL-terminated */
	unsigned long min_wait_us;	/* for task_waited, if that is one of them */
	bool kernel;		/* include their kernel stacks */
};

/* Each of these exits with the reason on failure. */

/* Checks that tracefs exists, may be used, and has deferred user stacks. */
void session_check(void);

/* Adds the events with that name, SYSTEM:EVENT or EVENT. */
void session_add_event(struct session *session, const char *name);

/*
 * As session_add_event(), for codectl:task_waited with waits of that length, and
 * task_wakes.
 */
void session_add_waits(struct session *session, unsigned long min_us, bool wakers);

/*
 * Creates the instance, with deferred user stacks, and nothing enabled; and that for
 * names.
 */
void session_open(struct session *session, unsigned long buffer_kib, bool names);

/* Only threads of that process, and what they start from then on. */
void session_follow_process(struct session *session, pid_t pid);
/* Only that thread, and what it starts. */
void session_follow_thread(struct session *session, pid_t tid);
/* All but that thread, and what it starts. */
void session_leave_out(struct session *session, pid_t tid);

void session_start(struct session *session);

/* No more events; stacks still come. */
void session_stop(struct session *session);

/* Makes the kernel explain all ids once more. */
void session_explain_ids(struct session *session);

/* Removes the instance. */
void session_close(struct session *session);

#endif

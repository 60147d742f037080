/* SPDX-License-Identifier: MIT */
/*
 * What tasks wait for, according to their system calls.
 */
#ifndef WAIT_KIND_H
#define WAIT_KIND_H

#include "trace_record.h"

/* Documented in codectl(1).  0 is none. */
enum wait_kind {
	WAIT_FUTEX = 1,
	WAIT_IO,
	WAIT_NET,
	WAIT_POLL,
	WAIT_SLEEP,
	WAIT_SIGNAL,
	WAIT_CHILD,
	WAIT_LOCK,
	WAIT_IPC,
	WAIT_FAULT,
	WAIT_STOPPED,
	WAIT_OTHER,
	NR_WAIT_KINDS
};

/* For this program, which has started or stopped the task. */
#define WAIT_OURS	NR_WAIT_KINDS

/* Added to a kind: the task was still waiting when the recording ended. */
#define WAIT_STILL	0x100

/* Added to a kind: reported by whoever ended the wait. */
#define WAIT_WOKEN	0x200

/* In the system call @nr; -1 if in none. */
enum wait_kind wait_kind_of_call(int64_t nr);

/* NULL if it is none of those that are known to wait. */
const char *wait_call_name(int64_t nr);

enum wait_kind wait_kind(const struct wait_record *record);

/*
 * The name of the event, for a kind with one of these or none: "wait:futex",
 * "blocked:futex", "woken:futex".  Valid until the next call.
 */
const char *wait_kind_name(uint32_t kind);

#endif

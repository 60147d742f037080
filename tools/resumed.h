/* SPDX-License-Identifier: MIT */
/*
 * What a stop without a signal does to a system call that waits.  Documented in codectl(1),
 * with the place of each rule in the kernel.
 */
#ifndef RESUMED_H
#define RESUMED_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define NO_CALL			(-1)
#define CALL_OF_32_BITS		(-2)

struct waiting_call {
	int64_t nr;		/* or one of these */
	uint64_t args[6];
	uint64_t sp;		/* of user space */
};

enum after_stop {
	STOP_DISTURBS,		/* it might end early, having done a part, or take longer */
	STOP_RESUMES,		/* the kernel resumes it */
	STOP_REPEATS,		/* it ends with EINTR, and is the same call when repeated */
};

/*
 * Of a call of the thread @tid, which may have been replaced by another one.  Threads of a
 * process may have different descriptors.
 */
enum after_stop after_stop(pid_t tid, const struct waiting_call *call);

/* Does the kernel resume it as another call, restart_syscall()? */
bool uses_restart_syscall(const struct waiting_call *call);

/*
 * The time, in ns, after which it ends by itself, if that is why a stop disturbs it;
 * UINT64_MAX: it has none, or it is unknown.
 */
uint64_t time_limit(pid_t tid, const struct waiting_call *call);

#endif

/* SPDX-License-Identifier: GPL-2.0 */
#ifndef HOST_LINUX_SCHED_SIGNAL_H
#define HOST_LINUX_SCHED_SIGNAL_H

#include <linux/types.h>

#define current		NULL

/* Is the reading task being killed? */
extern bool user_killed;

static inline bool fatal_signal_pending(const void *task)
{
	return task == current && user_killed;
}

#endif /* HOST_LINUX_SCHED_SIGNAL_H */

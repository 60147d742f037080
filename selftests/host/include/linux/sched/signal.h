/* SPDX-License-Identifier: GPL-2.0 */
#ifndef HOST_LINUX_SCHED_SIGNAL_H
#define HOST_LINUX_SCHED_SIGNAL_H

/* Nobody kills who decodes. */
#define fatal_signal_pending(task)	false

#endif /* HOST_LINUX_SCHED_SIGNAL_H */

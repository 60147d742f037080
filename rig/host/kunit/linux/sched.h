/* SPDX-License-Identifier: GPL-2.0 */
#ifndef HOST_KUNIT_LINUX_SCHED_H
#define HOST_KUNIT_LINUX_SCHED_H

#define cond_resched()	((void)0)

#endif /* HOST_KUNIT_LINUX_SCHED_H */

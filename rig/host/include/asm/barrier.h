/* SPDX-License-Identifier: GPL-2.0 */
#ifndef HOST_ASM_BARRIER_H
#define HOST_ASM_BARRIER_H

/* The caller says what it pairs with. */
#define smp_rmb()	__atomic_thread_fence(__ATOMIC_ACQUIRE)

#endif /* HOST_ASM_BARRIER_H */

/* SPDX-License-Identifier: GPL-2.0 */
#ifndef HOST_ASM_BARRIER_H
#define HOST_ASM_BARRIER_H

#include <linux/uaccess.h>

/* The caller says what it pairs with. */
#define smp_rmb()	user_barrier()

#endif /* HOST_ASM_BARRIER_H */

/* SPDX-License-Identifier: GPL-2.0 */
#ifndef HOST_LINUX_COMPILER_H
#define HOST_LINUX_COMPILER_H

#define OPTIMIZER_HIDE_VAR(var)	({ __asm__ ("" : "+r" (var)); })

#endif /* HOST_LINUX_COMPILER_H */

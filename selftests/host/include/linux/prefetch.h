/* SPDX-License-Identifier: GPL-2.0 */
#ifndef HOST_LINUX_PREFETCH_H
#define HOST_LINUX_PREFETCH_H

#define prefetch(at)	__builtin_prefetch(at)

#endif /* HOST_LINUX_PREFETCH_H */

/* SPDX-License-Identifier: GPL-2.0 */
#ifndef HOST_LINUX_NOSPEC_H
#define HOST_LINUX_NOSPEC_H

/* Nothing here is secret to who may run it. */
#define array_index_nospec(index, size)	(index)

#endif /* HOST_LINUX_NOSPEC_H */

/* SPDX-License-Identifier: GPL-2.0 */
#ifndef HOST_LINUX_NOSPEC_H
#define HOST_LINUX_NOSPEC_H

/* Nothing here is secret to whoever may run it. */
static inline unsigned long array_index_nospec(unsigned long index,
					       unsigned long size)
{
	(void)size;

	return index;
}

#endif /* HOST_LINUX_NOSPEC_H */

/* SPDX-License-Identifier: GPL-2.0 */
#ifndef HOST_KUNIT_LINUX_CLEANUP_H
#define HOST_KUNIT_LINUX_CLEANUP_H

#include <stdlib.h>

static inline void cleanup_kvfree(void *p)
{
	free(*(void **)p);
}

#define __free(name)	__attribute__((__cleanup__(cleanup_##name)))

#endif /* HOST_KUNIT_LINUX_CLEANUP_H */

/* SPDX-License-Identifier: GPL-2.0 */
#ifndef HOST_KUNIT_LINUX_SLAB_H
#define HOST_KUNIT_LINUX_SLAB_H

#include <stdlib.h>

#define GFP_KERNEL		0
#define GFP_KERNEL_ACCOUNT	0

#define kzalloc_obj(obj, flags)		((void)(flags), calloc(1, sizeof(obj)))
#define kvcalloc(nr, size, flags)	((void)(flags), calloc(nr, size))
#define kvrealloc(p, size, flags)	((void)(flags), realloc(p, size))
#define kvfree(p)			free(p)
#define kfree(p)			free(p)

#endif /* HOST_KUNIT_LINUX_SLAB_H */

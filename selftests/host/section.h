/* SPDX-License-Identifier: GPL-2.0 */
#ifndef HOST_SECTION_H
#define HOST_SECTION_H

#include <stddef.h>

char *section_read(const char *path, size_t *size);

#endif /* HOST_SECTION_H */

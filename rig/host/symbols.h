/* SPDX-License-Identifier: GPL-2.0 */
#ifndef HOST_SYMBOLS_H
#define HOST_SYMBOLS_H

#include <libelf.h>
#include <linux/types.h>

/**
 * struct function - a function by its symbol
 * @name: its name
 * @start: its first address
 * @size: its size in bytes
 */
struct function {
	const char *name;
	u64 start;
	u64 size;
};

bool function_find(Elf *elf, u64 addr, struct function *found);
bool plain_add(const char *path);
bool plain_has(const struct function *func);

#endif /* HOST_SYMBOLS_H */

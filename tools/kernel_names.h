/* SPDX-License-Identifier: MIT */
/*
 * Functions of the kernel, from /proc/kallsyms.
 */
#ifndef KERNEL_NAMES_H
#define KERNEL_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/profile.h"

struct kernel_names;

/* Has none if the file is empty, or hides addresses. */
struct kernel_names *kernel_names_read(const char *path);
struct kernel_names *kernel_names_parse(const char *text, size_t len);
void kernel_names_free(struct kernel_names *names);

/*
 * The function at @address, the distance from its start, and the module as [NAME], or
 * NULL if it is in none; both strings belong to @names.
 */
bool kernel_names_find(const struct kernel_names *names, uint64_t address,
		       const char **function, const char **module, uint64_t *distance);

/*
 * The stack of @caller, as for profile_stack(), with the function there on top: for an
 * instruction (@exact), or a return address.
 */
uint32_t kernel_names_push(const struct kernel_names *names, struct profile *profile,
			   uint32_t caller, uint64_t address, bool exact);

#endif

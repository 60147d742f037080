/* SPDX-License-Identifier: MIT */
/*
 * Functions of the kernel, as /proc/kallsyms has them.
 */
#ifndef KERNEL_NAMES_H
#define KERNEL_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/profile.h"

struct kernel_names;

/* Has none if the file says nothing, or hides addresses. */
struct kernel_names *kernel_names_read(const char *path);
struct kernel_names *kernel_names_parse(const char *text, size_t len);
void kernel_names_free(struct kernel_names *names);

/*
 * The function at @address, how far from its start that is, and the module as [NAME], or NULL
 * if it is none's; both are those of @names.
 */
bool kernel_names_find(const struct kernel_names *names, uint64_t address,
		       const char **function, const char **module, uint64_t *distance);

/*
 * The stack of @caller, as profile_stack() takes it, with the function there on top: of an
 * instruction (@exact), or of one that returns there.
 */
uint32_t kernel_names_push(const struct kernel_names *names, struct profile *profile,
			   uint32_t caller, uint64_t address, bool exact);

#endif

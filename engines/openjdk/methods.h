/* SPDX-License-Identifier: MIT */
#ifndef METHODS_H
#define METHODS_H

#include <stdint.h>

/* Adds a method that was compiled to @start.  Return: 0 or a negative error number. */
int methods_add(uint64_t start, const char *name);

#endif /* METHODS_H */

/* SPDX-License-Identifier: MIT */
#ifndef PADDING_H
#define PADDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Are the @size bytes at @code what assemblers and linkers align functions with: NOPs
 * (Intel SDM, NOP, with any of the prefixes that make it longer) and INT3?
 */
bool is_padding(const uint8_t *code, size_t size);

#endif

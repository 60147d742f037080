/* SPDX-License-Identifier: MIT */
#ifndef PLAIN_H
#define PLAIN_H

#include <stdint.h>

/*
 * The length of the instruction at @bytes, of which there are @left, if it is one of the
 * most frequent ones, and neither has to do with SP or FP as a register nor goes anywhere
 * but to the next one; 0: have it decoded.  Without it methods take twice as long to read.
 */
uint32_t plain_length(const uint8_t *bytes, uint32_t left);

#endif /* PLAIN_H */

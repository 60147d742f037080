/* SPDX-License-Identifier: MIT */
#ifndef FLAMEGRAPH_H
#define FLAMEGRAPH_H

#include <stdio.h>

/*
 * Draws the folded stacks in @folded, of which there is at least one, into @svg.
 * Return: 0, or the error of reading or writing.
 */
int flamegraph_draw(FILE *folded, FILE *svg);

#endif

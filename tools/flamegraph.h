/* SPDX-License-Identifier: MIT */
#ifndef FLAMEGRAPH_H
#define FLAMEGRAPH_H

#include <stdio.h>

/*
 * Path of flamegraph.pl, the renderer, which is the caller's; exits if there is
 * none.
 */
char *flamegraph_find(void);

/* Has @renderer draw the folded stacks in @folded; exits if it cannot. */
void flamegraph_draw(const char *renderer, FILE *folded, const char *svg);

#endif

/* SPDX-License-Identifier: MIT */
/* Code that no program has written. */
#ifndef STUBS_H
#define STUBS_H

#include "engine.h"

/* What every program needs: the way in, the ways out, the way to the compiler. */
void stubs_open(struct engine *engine);

/* What a function is until it is compiled. */
struct code *stubs_make(struct engine *engine, int slot, const char *name);

#endif /* STUBS_H */

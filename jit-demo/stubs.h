/* SPDX-License-Identifier: MIT */
/* Code that belongs to no program. */
#ifndef STUBS_H
#define STUBS_H

#include "engine.h"

/* What every program needs: the way in, the ways out, the way to the compiler. */
void stubs_open(struct engine *engine);

/* Stands for a function until it is compiled. */
struct code *stubs_make(struct engine *engine, int slot, const char *name);

#endif /* STUBS_H */

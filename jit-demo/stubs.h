/* SPDX-License-Identifier: MIT */
/* Code that belongs to no program. */
#ifndef STUBS_H
#define STUBS_H

#include "engine.h"

/* The stubs that every program needs: to enter it, to call C, to call the compiler. */
void stubs_open(struct engine *engine);

/* The entry of a function until it is compiled. */
struct code *stubs_make(struct engine *engine, int slot, const char *name);

#endif /* STUBS_H */

/* SPDX-License-Identifier: MIT */
/* The life of a piece of compiled code. */
#ifndef CODE_H
#define CODE_H

#include <stdio.h>

#include "engine.h"

/* The region over the heap. */
void code_open(struct engine *engine);
void code_close(struct engine *engine);

/* One with a new number, to compile for. */
struct code *code_new(struct engine *engine, int tier);

/*
 * Gives the emitted code an address, publishes how to unwind it and only then
 * returns, so that the code can be reached.
 */
void code_publish(struct engine *engine, struct code *code, const char *name);

/* Nothing leads there any more, but frames may be in it. */
void code_replace(struct engine *engine, struct code *code);

/* No frame is in it, and nothing leads there. */
void code_retire(struct engine *engine, struct code *code);

/* All code that was replaced and has no frames any more. */
void code_sweep(struct engine *engine);

/* Drops the rows of retired code; all but what came first is retired. */
void code_flush(struct engine *engine);

/* Whether little space is left, for code or for rows. */
bool code_is_full(struct engine *engine);

/* What was ever published. */
void code_write_log(const struct engine *engine, FILE *file);

#endif /* CODE_H */

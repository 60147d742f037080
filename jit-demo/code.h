/* SPDX-License-Identifier: MIT */
/* The life of a piece of compiled code. */
#ifndef CODE_H
#define CODE_H

#include <stdio.h>

#include "engine.h"

/* Opens the region over the heap, and closes it. */
void code_open(struct engine *engine);
void code_close(struct engine *engine);

/* Return: unused code with a new number. */
struct code *code_new(struct engine *engine, int tier);

/*
 * Gives the emitted code an address, and publishes its rows before it returns, since the code
 * can be called from then on.
 */
void code_publish(struct engine *engine, struct code *code, const char *name);

/* Replaces code: nothing calls it any more, but the stack may have frames of it. */
void code_replace(struct engine *engine, struct code *code);

/* Retires code that nothing calls, and that has no frames. */
void code_retire(struct engine *engine, struct code *code);

/* Frees all code that was replaced and has no frames any more. */
void code_sweep(struct engine *engine);

/* Drops the rows of retired code; all code except the first is retired. */
void code_flush(struct engine *engine);

/* Is little space left, for code or for rows? */
bool code_is_full(struct engine *engine);

/* Writes the log of all code that was ever published. */
void code_write_log(const struct engine *engine, FILE *file);

#endif /* CODE_H */

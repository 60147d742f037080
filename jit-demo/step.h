/* SPDX-License-Identifier: MIT */
/*
 * Executes a thread instruction by instruction, tracks each frame by its calls and
 * returns, and compares that with the rows.
 */
#ifndef STEP_H
#define STEP_H

#include <stdio.h>

void step_start(unsigned long limit);
void step_stop(void);
void step_write_log(FILE *file);

#endif /* STEP_H */

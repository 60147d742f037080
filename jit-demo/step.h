/* SPDX-License-Identifier: MIT */
/*
 * Executes a thread instruction by instruction, knows from its calls and
 * returns where each frame is, and compares that with the rows.
 */
#ifndef STEP_H
#define STEP_H

#include <stdio.h>

void step_start(unsigned long limit);
void step_stop(void);
void step_write_log(FILE *file);

#endif /* STEP_H */

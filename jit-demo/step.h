/* SPDX-License-Identifier: MIT */
/*
 * Single-steps a thread, tracks frames by calls and returns, and compares them with the rows.
 */
#ifndef STEP_H
#define STEP_H

#include <stdio.h>

void step_start(unsigned long limit);
void step_stop(void);
void step_write_log(FILE *file);

#endif /* STEP_H */

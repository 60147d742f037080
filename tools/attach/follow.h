/* SPDX-License-Identifier: MIT */
/* What processes map from now on. */
#ifndef ATTACH_FOLLOW_H
#define ATTACH_FOLLOW_H

#include "files.h"

struct follow;

/* Exits with the reason if it cannot be done. */
struct follow *follow_start(void);

/* Adds what was mapped to execute since; waits for up to @ms milliseconds. */
void follow_wait(struct follow *follow, struct files *files, int ms);

#endif

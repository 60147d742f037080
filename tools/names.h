/* SPDX-License-Identifier: MIT */
/*
 * Names of a process's compiled code, from /tmp/perf-PID.map.
 */
#ifndef NAMES_H
#define NAMES_H

#include <stdint.h>
#include <sys/types.h>

#include "symbol.h"

struct names;

/* As the file is now; empty where there is none that can be believed. */
struct names *names_open(pid_t pid);
void names_close(struct names *names);
struct symbol names_find(const struct names *names, uint64_t address);

#endif

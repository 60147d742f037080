/* SPDX-License-Identifier: MIT */
/*
 * An interrupted recording ends, and is reported; an interrupted report continues
 * without the names that it waits for.
 */
#ifndef INTERRUPT_H
#define INTERRUPT_H

#include <signal.h>

extern volatile sig_atomic_t interrupted;

/* SIGINT, SIGTERM and, unless it is ignored, SIGHUP interrupt from here on. */
void interrupt_catch(void);

/* So does this signal. */
void interrupt_catch_also(int signal);

/* The recording is over, or names are looked up meanwhile. */
void interrupt_names(void);

#endif

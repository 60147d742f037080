/* SPDX-License-Identifier: MIT */
/*
 * A recording that is interrupted ends, and is reported; a report that is, goes on without
 * the names that it waits for.
 */
#ifndef INTERRUPT_H
#define INTERRUPT_H

#include <signal.h>

extern volatile sig_atomic_t interrupted;

/* SIGINT, SIGTERM and SIGHUP interrupt from here on. */
void interrupt_catch(void);

/* So does that signal. */
void interrupt_catch_also(int signal);

/* The recording is over, or names are looked up meanwhile. */
void interrupt_names(void);

#endif

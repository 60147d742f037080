/* SPDX-License-Identifier: GPL-2.0 */
/* Tables attached to files. */
#ifndef CODECTL_ATTACH_H
#define CODECTL_ATTACH_H

#include "codectl_test.h"
#include "proc_file.h"

#define ATTACH_MAX_SEGMENTS 8

/* The argument of CODE_ATTACH_FILE, with the segments that it points to. */
struct attach_args {
	struct code_file_info info;
	struct code_file_segment segments[ATTACH_MAX_SEGMENTS];
};

/* A descriptor, or a negative errno. */
int attach_file(const struct code_file_info *info);

/*
 * Describes the loaded object that covers @addr, by its own SFrame section; opens its
 * file.  0, or -1 if it has no section or no file.
 */
int attach_args_of(const void *addr, struct attach_args *args);

/* Attaches to each loaded object its own SFrame section; returns how many, or -1. */
int attach_loaded(void);
/* Drops the registrations of a program and its C library; returns success. */
static inline bool attach_instead(void)
{
	return attach_loaded() >= 2 && !proc_unregister_all();
}

/* Brings the SFrame sections of loaded objects into memory, and into the page tables. */
void touch_tables(void);

#endif /* CODECTL_ATTACH_H */

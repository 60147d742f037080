/* SPDX-License-Identifier: GPL-2.0 */
/* Tables that are attached to files. */
#ifndef CODECTL_ATTACH_H
#define CODECTL_ATTACH_H

#include "codectl_test.h"
#include "proc_file.h"

#define ATTACH_MAX_SEGMENTS 8

/* What CODE_ATTACH_FILE takes, with the segments that it points to. */
struct attach_args {
	struct code_file_info info;
	struct code_file_segment segments[ATTACH_MAX_SEGMENTS];
};

/* A descriptor, or a negative errno. */
int attach_file(const struct code_file_info *info);

/*
 * What is to be said of the loaded object that covers @addr, by its own SFrame
 * section; its file is open then.  0, or -1 if it has none or no file.
 */
int attach_args_of(const void *addr, struct attach_args *args);

/* Gives each loaded object that has an SFrame section its own; how many, or -1. */
int attach_loaded(void);
/* A program and its C library, with nothing registered any more: whether that is so. */
static inline bool attach_instead(void)
{
	return attach_loaded() >= 2 && !proc_unregister_all();
}

/* Has the SFrame sections of what is loaded in memory, and in the page tables. */
void touch_tables(void);

#endif /* CODECTL_ATTACH_H */

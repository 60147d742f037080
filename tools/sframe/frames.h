/* SPDX-License-Identifier: MIT */
#ifndef SFRAME_FRAMES_H
#define SFRAME_FRAMES_H

#include "rows.h"

/* Elf of <libelf.h> */
struct Elf;

/*
 * Reads the CFI of @elf, which object_open() has returned with @object: .eh_frame, and
 * .debug_frame for what that does not cover.  Returns @object->nr_rows rows by address,
 * none of which overlap, to be freed, or NULL, without an error if none of it covers
 * code.  What it covers and SFrame cannot say is ROW_NOTHING.  As object_open(), for a
 * process that is confined.
 */
struct row *frames_rows(struct Elf *elf, struct object *object);

#endif

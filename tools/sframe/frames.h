/* SPDX-License-Identifier: MIT */
#ifndef SFRAME_FRAMES_H
#define SFRAME_FRAMES_H

#include "rows.h"

/* Elf of <libelf.h> */
struct Elf;

/*
 * Reads the CFI of @elf, which object_open() has returned with @object: .eh_frame, and
 * .debug_frame for what that does not cover.  Returns @object->nr_rows rows sorted by
 * address, none of which overlap, to be freed; or NULL, without an error if none of it
 * covers code.  What is covered but cannot be expressed in SFrame is ROW_NOTHING.  Like
 * object_open(), for a confined process.
 */
struct row *frames_rows(struct Elf *elf, struct object *object);

#endif

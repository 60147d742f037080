/* SPDX-License-Identifier: MIT */
#ifndef SFRAME_OBJECT_H
#define SFRAME_OBJECT_H

#include "rows.h"

/* Elf of <libelf.h> */
struct Elf;

/*
 * Opens the ELF file in the @size bytes at @image, which must stay there, and where
 * elf_compress() may mark sections as not compressed, and reads type, build-id,
 * executable segments and the address for the table; NULL with an error in @object.
 * With a hostile file libelf may crash, or take much time or memory: meant for a
 * confined process.
 */
struct Elf *object_open(void *image, size_t size, struct object *object);

#endif

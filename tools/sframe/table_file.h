/* SPDX-License-Identifier: MIT */
/*
 * The file of a table: an ELF object without code, for x86-64, so that readelf and
 * objdump show it, with
 *
 * .sframe		the table, at its link-time address (sh_addr)
 * .note.gnu.build-id	of the object that it is for, if that has one
 * .note.codectl	one note of the name "codectl", type 1: words of 64 bits, the
 *			version of this format (TABLE_FILE_VERSION), and offset, length
 *			and link-time address of each executable PT_LOAD of the object
 *
 * which is what the kernel needs to attach the table to the object. A reader skips
 * unknown sections and notes.
 */
#ifndef TABLE_FILE_H
#define TABLE_FILE_H

#include "rows.h"
#include "table.h"

#define TABLE_FILE_VERSION	1
#define TABLE_FILE_NOTE		"codectl"
#define TABLE_FILE_SEGMENTS	1

/* Writes it to the empty file at @fd; false with errno. */
bool table_file_write(int fd, const struct object *object, const struct table *table);

#endif

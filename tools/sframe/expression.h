/* SPDX-License-Identifier: MIT */
#ifndef SFRAME_EXPRESSION_H
#define SFRAME_EXPRESSION_H

#include "rows.h"

/* Dwarf_Frame of <elfutils/libdw.h> */
struct Dwarf_Frame_s;

/*
 * Where the CFA is at the first address of a row; false if that takes an expression
 * that SFrame has no form for.  Sets @row->cfa and, for .plt, @row->pushed.
 */
bool expression_cfa(struct Dwarf_Frame_s *frame, struct row *row);

enum register_is {
	REGISTER_FOUND,
	REGISTER_UNDEFINED,
	REGISTER_BEYOND,	/* an expression as above */
};

/* Where a register of the caller is. */
enum register_is expression_register(struct Dwarf_Frame_s *frame, int reg,
				     struct loc *loc);

#endif

/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef _UNWIND_GRANULES_H
#define _UNWIND_GRANULES_H

#include "jit.h"

int jit_find_granule(const struct jit_unwind *jit, u32 off,
		     struct code_jit_unwind_fre *fre, struct jit_place *place,
		     unsigned int *budget);
bool jit_granule_remains(const struct jit_unwind *jit, u32 off,
			 unsigned long row, u32 seq,
			 struct code_jit_unwind_fre *fre);
int jit_find_code_id(const struct jit_unwind *jit, u32 off, u64 *code_id);

#endif /* _UNWIND_GRANULES_H */

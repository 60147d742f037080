/* SPDX-License-Identifier: GPL-2.0 */
/*
 * libsframe, wrapped in the kernel's types: its header and the kernel's have names in
 * common and cannot be included together.
 */
#ifndef HOST_SFRAME_LIB_H
#define HOST_SFRAME_LIB_H

#include <linux/types.h>

#include "rule.h"

struct lib_section;

struct lib_fde {
	s64	start;
	u32	size;
	u8	rep_size;
};

struct lib_section *lib_open(const char *data, size_t size, u32 *nr);
void lib_close(struct lib_section *lib);
struct lib_fde lib_fde(struct lib_section *lib, u32 i);
bool lib_fre_start(struct lib_section *lib, u32 fde, u32 fre, u32 *start);
int lib_look(struct lib_section *lib, s64 pc);
int lib_find(struct lib_section *lib, s64 pc, struct unwind_rule *rule);
const char *lib_doubt(struct lib_section *lib, s64 pc, bool *either);
int lib_write_seeds(struct lib_section *lib, const char *prefix);

#endif /* HOST_SFRAME_LIB_H */

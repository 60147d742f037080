/* SPDX-License-Identifier: GPL-2.0 */
/* libcodectl's import of an .eh_frame, without its headers and their types. */
#ifndef HOST_IMPORTED_H
#define HOST_IMPORTED_H

#include <stddef.h>
#include <stdint.h>

/**
 * struct imported - the rule for an address, of codectl_lookup()
 * @end: end of the range that it holds for
 * @cfa_off: as in a row
 * @ra_off: as in a row
 * @fp_off: as in a row
 * @info: CODE_FRE_*
 */
struct imported {
	uint64_t end;
	int32_t cfa_off;
	int32_t ra_off;
	int32_t fp_off;
	uint32_t info;
};

struct codectl_eh_frame;

/* As codectl_eh_frame_add() and _remove(). */
int imported_add(const void *section, size_t len,
		 struct codectl_eh_frame **framep);
void imported_remove(struct codectl_eh_frame *frame);
int imported_find(uint64_t addr, struct imported *rule);

#endif /* HOST_IMPORTED_H */

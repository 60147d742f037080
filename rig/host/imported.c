// SPDX-License-Identifier: GPL-2.0
#include "codectl.h"
#include "imported.h"

int imported_add(const void *section, size_t len,
		 struct codectl_eh_frame **framep)
{
	return codectl_eh_frame_add(section, len, framep);
}

void imported_remove(struct codectl_eh_frame *frame)
{
	codectl_eh_frame_remove(frame);
}

int imported_find(uint64_t addr, struct imported *rule)
{
	struct codectl_rule found;
	int ret = codectl_lookup(addr, &found);

	if (ret)
		return ret;
	*rule = (struct imported) {
		.end = found.start + found.size,
		.cfa_off = found.cfa_off,
		.ra_off = found.ra_off,
		.fp_off = found.fp_off,
		.info = found.info,
	};

	return 0;
}

/* SPDX-License-Identifier: MIT */
#ifndef SFRAME_REPORT_H
#define SFRAME_REPORT_H

#include "convert.h"

/* Results of the conversions. */
struct totals {
	uint64_t converted, present, passed_over, failed;
	uint64_t cfi_bytes, table_bytes;
	uint64_t fdes, fres;
	struct count covered;
	struct count causes[NR_CAUSES];
};

void totals_count(struct totals *totals, const struct conversion *conversion);
void totals_add(struct totals *totals, const struct totals *more);
void totals_print(const struct totals *totals);

#endif

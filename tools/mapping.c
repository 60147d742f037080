// SPDX-License-Identifier: MIT
#include "mapping.h"

bool mapping_parse(struct mapping *mapping, const char *text, size_t len)
{
	struct span rest = { text, len }, line = span_take(&rest, '\n'), offset;

	*mapping = (struct mapping){ 0 };
	if (!span_range(span_take(&line, ' '), &mapping->start, &mapping->end))
		return false;
	span_take(&line, ' ');
	offset = span_take(&line, ' ');
	span_take(&line, ' ');
	span_take(&line, ' ');
	while (span_skip(&line, " "))
		;
	mapping->path = line;
	return span_hex(offset, &mapping->offset) &&
	       mapping->start < mapping->end;
}

// SPDX-License-Identifier: MIT
#include "mapping.h"

/* If it is no number, or too large: some number. */
static uint64_t number(struct span digits)
{
	uint64_t value = 0;

	for (; digits.len && *digits.at >= '0' && *digits.at <= '9'; digits.at++, digits.len--)
		value = value * 10 + (*digits.at - '0');
	return value;
}

bool mapping_parse(struct mapping *mapping, const char *text, size_t len)
{
	struct span rest = { text, len }, line = span_take(&rest, '\n'), offset, device;

	*mapping = (struct mapping){ 0 };
	if (!span_range(span_take(&line, ' '), &mapping->start, &mapping->end))
		return false;
	span_take(&line, ' ');
	offset = span_take(&line, ' ');
	device = span_take(&line, ' ');
	mapping->inode = number(span_take(&line, ' '));
	while (span_skip(&line, " "))
		;
	mapping->path = line;
	return span_hex(span_take(&device, ':'), &mapping->major) &&
	       span_hex(device, &mapping->minor) && span_hex(offset, &mapping->offset) &&
	       mapping->start < mapping->end;
}

// SPDX-License-Identifier: MIT
/*
 * libFuzzer target for the lines of /proc/PID/maps: the path of an accepted line is in the input,
 * up to the end of the line, and the fields before it are those that sscanf() reads.
 */
#include "fuzz.h"
#include "mapping.h"

static void check_mapping(const struct mapping *mapping, const char *text,
			  size_t size)
{
	const char *newline = memchr(text, '\n', size);
	unsigned long long start, end;
	char copy[64] = "";

	memcpy(copy, text, size < sizeof(copy) ? size : sizeof(copy) - 1);
	require(sscanf(copy, "%llx-%llx", &start, &end) == 2);
	require(mapping->start == start && mapping->end == end && start < end);
	require(mapping->path.at + mapping->path.len ==
		(newline ? newline : text + size));
	require(mapping->path.at > text);
	require(!mapping->path.len || *mapping->path.at != ' ');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = exact_copy(data, size);
	struct mapping mapping;

	if (mapping_parse(&mapping, text, size))
		check_mapping(&mapping, text, size);
	free(text);
	return 0;
}

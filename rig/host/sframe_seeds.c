// SPDX-License-Identifier: GPL-2.0
/* Writes inputs for sframe_fuzz, made from the sections of ELF files. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "section.h"
#include "sframe_lib.h"

int main(int argc, char **argv)
{
	char prefix[4000];
	int i, total = 0;

	for (i = 2; i < argc; i++) {
		size_t size = 0;
		char *data = section_read(argv[i], &size);
		u32 nr = 0;
		struct lib_section *lib = data ? lib_open(data, size, &nr) : NULL;
		int written;

		if (!lib)
			return 1;
		snprintf(prefix, sizeof(prefix), "%s/%d", argv[1], i);
		written = lib_write_seeds(lib, prefix);
		if (written < 0)
			return 1;
		total += written;
		lib_close(lib);
		free(data);
	}
	printf("# %d seeds\n", total);

	return !total;
}

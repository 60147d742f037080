// SPDX-License-Identifier: MIT
/*
 * libFuzzer target for what the confined process does with an ELF file: the rows that
 * come of it are in order, and such as a table takes.
 */
#include <libelf.h>

#include "fuzz.h"
#include "sframe/frames.h"
#include "sframe/object.h"
#include "sframe/table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *image = exact_copy(data, size);
	struct object object;
	Elf *elf = object_open(image, size, &object);
	struct row *rows = elf ? frames_rows(elf, &object) : NULL;
	struct table table;
	uint64_t end = 0;

	require(!rows || (!object.error && object.nr_rows));
	for (size_t i = 0; rows && i < object.nr_rows; i++) {
		require(table_takes(&rows[i], end));
		end = rows[i].start + rows[i].size;
	}
	if (rows) {
		require(table_write(rows, object.nr_rows, object.table_addr, &table));
		table_free(&table);
	}
	free(rows);
	elf_end(elf);
	free(image);
	return 0;
}

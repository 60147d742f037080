// SPDX-License-Identifier: MIT
/*
 * libFuzzer target for the confined reader of an ELF file: its rows are in order, and a table can
 * hold them; addresses that are known to have no rule have a row that says so.
 */
#include <libelf.h>

#include "fuzz.h"
#include "sframe/frames.h"
#include "sframe/object.h"
#include "sframe/table.h"

/* Number of bytes that one or more FDEs cover without a rule. */
static uint64_t without_rule(const struct object *object)
{
	uint64_t bytes = 0;

	for (unsigned int i = 0; i < NR_CAUSES; i++)
		bytes += object->causes[i].bytes;
	return bytes;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *image = exact_copy(data, size);
	struct object object;
	Elf *elf = object_open(image, size, &object);
	struct row *rows = elf ? frames_rows(elf, &object) : NULL;
	struct table table;
	uint64_t end = 0, nothing = 0;

	require(!rows || (!object.error && object.nr_rows));
	for (size_t i = 0; rows && i < object.nr_rows; i++) {
		require(table_takes(&rows[i], end));
		end = rows[i].start + rows[i].size;
		nothing += rows[i].flags & ROW_NOTHING ? rows[i].size : 0;
	}
	if (rows) {
		require(nothing == without_rule(&object));
		require(table_write(rows, object.nr_rows, object.table_addr, &table));
		table_free(&table);
	}
	free(rows);
	elf_end(elf);
	free(image);
	return 0;
}

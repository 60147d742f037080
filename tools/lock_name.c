// SPDX-License-Identifier: MIT
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lock_name.h"
#include "mapping.h"
#include "report/text.h"
#include "symbol.h"
#include "tool.h"

/* The object that an address is in, as mapped in memory. */
struct object {
	uint64_t start, end;	/* of its contiguous mappings */
	struct file_record record;
	bool covers;		/* the address */
	char mapping[64];	/* the one that it is in, as [heap] */
};

/*
 * Variables without an initial value come after those of the file, in anonymous memory.
 */
static void take_mapping(struct object *object, const struct mapping *mapping, uint64_t address)
{
	struct file_record *record = &object->record;

	if (object->covers)
		return;
	if (mapping->inode && (mapping->inode != record->inode ||
			       mapping->major != record->dev_major ||
			       mapping->minor != record->dev_minor)) {
		*object = (struct object){ .start = mapping->start };
		*record = (struct file_record){
			.inode = mapping->inode, .dev_major = mapping->major,
			.dev_minor = mapping->minor, .unit = UNIT_OBJECT,
		};
		if (mapping->path.len < sizeof(record->path))
			memcpy(record->path, mapping->path.at, mapping->path.len);
	} else if (!mapping->inode && mapping->start != object->end) {
		*object = (struct object){ .start = mapping->start };
	}
	object->end = mapping->end;
	object->covers = mapping->start <= address && address < mapping->end;
	if (object->covers && !mapping->inode)
		snprintf(object->mapping, sizeof(object->mapping), "%.*s",
			 (int)(mapping->path.len < 60 ? mapping->path.len : 60), mapping->path.at);
}

static void find_object(struct object *object, pid_t pid, uint64_t address)
{
	char *path = format("/proc/%d/maps", pid), *line = NULL;
	FILE *file = fopen(path, "re");
	struct mapping mapping;
	size_t room = 0;
	ssize_t len;

	free(path);
	while (file && !object->covers && (len = getline(&line, &room, file)) > 0)
		if (mapping_parse(&mapping, line, len))
			take_mapping(object, &mapping, address);
	if (file)
		fclose(file);
	free(line);
}

static char *name_variable(const struct symbol *symbol)
{
	char *name = text_clean(symbol->name), *text;

	if (!symbol->offset)
		return name;
	text = format("%s+0x%llx", name, (unsigned long long)symbol->offset);
	free(name);
	return text;
}

char *lock_name(struct symbols *symbols, pid_t pid, uint64_t address)
{
	struct object object = { 0 };
	struct symbol_file *file;
	const struct symbol *symbol;
	char *mapping, *text;

	find_object(&object, pid, address);
	if (object.covers && object.record.inode) {
		file = symbols_add_file(symbols, pid, &object.record);
		symbol = symbol_find(file, address - object.start);
		if (symbol->name)
			return name_variable(symbol);
	}
	mapping = text_clean(object.mapping);
	text = format("0x%llx%s%s", (unsigned long long)address, *mapping ? " in " : "", mapping);
	free(mapping);
	return text;
}

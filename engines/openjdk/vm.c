// SPDX-License-Identifier: MIT
#define _GNU_SOURCE /* dladdr() */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "vm.h"

#define WORD	8
#define FREE	0xff	/* CodeHeap::free_sentinel */

/* The size of an InterpreterCodelet, and the alignment of the code after it. */
#define CODELET_SIZE	16
#define CODE_ALIGN	32

/**
 * struct field - a field of a class of the VM
 * @type: the class
 * @name: the field
 * @needed: the agent cannot work without it
 * @found: this VM has it
 * @size: the size of its type
 * @at: its offset, or its address if it is static
 */
struct field {
	const char *type;
	const char *name;
	bool needed;
	bool found;
	uint8_t size;
	uint64_t at;
};

enum {
	HEAPS, ARRAY_LEN, ARRAY_DATA, HEAP_MEMORY, HEAP_SEGMAP, HEAP_SHIFT,
	SPACE_LOW, SPACE_HIGH, SPACE_END, BLOCK_LENGTH, BLOCK_USED,
	BLOB_NAME, BLOB_SIZE, BLOB_FRAME, BLOB_COMPLETE, BLOB_BEGIN, BLOB_END,
	BLOB_CODE, BLOB_DATA, METHOD_OF, METHOD_ID, METHOD_BCI, METHOD_OSR,
	INTERPRETER, QUEUE_BUFFER, QUEUE_BEGIN, QUEUE_END, CODELET_LENGTH, CODELET_NAME,
};

static struct field fields[] = {
	[HEAPS] = { "CodeCache", "_heaps", true },
	[ARRAY_LEN] = { "GrowableArrayBase", "_len", true },
	[ARRAY_DATA] = { "GrowableArray<int>", "_data", true },
	[HEAP_MEMORY] = { "CodeHeap", "_memory", true },
	[HEAP_SEGMAP] = { "CodeHeap", "_segmap", true },
	[HEAP_SHIFT] = { "CodeHeap", "_log2_segment_size", true },
	[SPACE_LOW] = { "VirtualSpace", "_low_boundary", true },
	[SPACE_HIGH] = { "VirtualSpace", "_high", true },
	[SPACE_END] = { "VirtualSpace", "_high_boundary", true },
	[BLOCK_LENGTH] = { "HeapBlock::Header", "_length", true },
	[BLOCK_USED] = { "HeapBlock::Header", "_used", true },
	[BLOB_NAME] = { "CodeBlob", "_name", true },
	[BLOB_SIZE] = { "CodeBlob", "_size", true },
	[BLOB_FRAME] = { "CodeBlob", "_frame_size", true },
	[BLOB_COMPLETE] = { "CodeBlob", "_frame_complete_offset", true },
	/* Addresses, up to JDK 22 */
	[BLOB_BEGIN] = { "CodeBlob", "_code_begin" },
	[BLOB_END] = { "CodeBlob", "_code_end" },
	/* Offsets, in later ones */
	[BLOB_CODE] = { "CodeBlob", "_code_offset" },
	[BLOB_DATA] = { "CodeBlob", "_data_offset" },
	[METHOD_OF] = { "nmethod", "_method" },
	[METHOD_ID] = { "nmethod", "_compile_id" },
	[METHOD_BCI] = { "nmethod", "_entry_bci" },
	[METHOD_OSR] = { "nmethod", "_osr_entry_point" },
	[INTERPRETER] = { "AbstractInterpreter", "_code" },
	[QUEUE_BUFFER] = { "StubQueue", "_stub_buffer" },
	[QUEUE_BEGIN] = { "StubQueue", "_queue_begin" },
	[QUEUE_END] = { "StubQueue", "_queue_end" },
	[CODELET_LENGTH] = { "InterpreterCodelet", "_size" },
	[CODELET_NAME] = { "InterpreterCodelet", "_description" },
};

static const struct {
	const char *type;
	uint8_t size;
} sizes[] = {
	{ "bool", 1 }, { "u1", 1 }, { "uint8_t", 1 }, { "u2", 2 }, { "uint16_t", 2 },
	{ "int16_t", 2 }, { "int", 4 }, { "jint", 4 }, { "u4", 4 }, { "uint32_t", 4 },
};

/* The VM's table, and the offsets of the fields of an entry, which the VM exports. */
static struct {
	const char *entries;
	uint64_t stride, type, name, type_string, is_static, offset, address;
} table;

static uint8_t size_of(const char *type)
{
	unsigned int i;

	for (i = 0; type && i < ARRAY_SIZE(sizes); i++) {
		if (!strcmp(type, sizes[i].type))
			return sizes[i].size;
	}

	return WORD;
}

static uint64_t load(uint64_t address, uint8_t size)
{
	uint64_t value = 0;

	/* x86 is little-endian. */
	memcpy(&value, (const void *)(uintptr_t)address, size);

	return value;
}

static uint64_t get(uint64_t object, unsigned int field)
{
	return load(object + fields[field].at, fields[field].size);
}

static uint64_t get_static(unsigned int field)
{
	return fields[field].found ? load(fields[field].at, WORD) : 0;
}

static const char *string_at(const char *entry, uint64_t off)
{
	return *(const char *const *)(entry + off);
}

/* Older VMs have some fields of nmethod in its base class. */
static bool is_older(const struct field *field, const char *type)
{
	return !strcmp(field->type, "nmethod") && !strcmp(type, "CompiledMethod");
}

static void take_entry(const char *entry)
{
	const char *type = string_at(entry, table.type);
	const char *name = string_at(entry, table.name);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(fields); i++) {
		struct field *field = &fields[i];

		if (strcmp(field->name, name) ||
		    (strcmp(field->type, type) && !is_older(field, type)))
			continue;
		field->found = true;
		if (*(const int *)(entry + table.is_static)) {
			field->at = *(const uint64_t *)(entry + table.address);
		} else {
			field->size = size_of(string_at(entry, table.type_string));
			field->at = *(const uint64_t *)(entry + table.offset);
		}
	}
}

static bool find_table(void *object)
{
	static const struct {
		const char *name;
		uint64_t *value;
	} numbers[] = {
		{ "gHotSpotVMStructEntryArrayStride", &table.stride },
		{ "gHotSpotVMStructEntryTypeNameOffset", &table.type },
		{ "gHotSpotVMStructEntryFieldNameOffset", &table.name },
		{ "gHotSpotVMStructEntryTypeStringOffset", &table.type_string },
		{ "gHotSpotVMStructEntryIsStaticOffset", &table.is_static },
		{ "gHotSpotVMStructEntryOffsetOffset", &table.offset },
		{ "gHotSpotVMStructEntryAddressOffset", &table.address },
	};
	const char *const *entries = dlsym(object, "gHotSpotVMStructs");
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(numbers); i++) {
		const uint64_t *number = dlsym(object, numbers[i].name);

		if (!number)
			return false;
		*numbers[i].value = *number;
	}
	table.entries = entries ? *entries : NULL;

	return table.entries && table.stride;
}

const char *vm_find(const void *function)
{
	Dl_info info;
	void *object;
	const char *entry;
	unsigned int i;

	if (!dladdr(function, &info))
		return "the VM";
	object = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
	if (!object || !find_table(object))
		return "gHotSpotVMStructs";
	for (entry = table.entries; string_at(entry, table.type); entry += table.stride)
		take_entry(entry);
	for (i = 0; i < ARRAY_SIZE(fields); i++) {
		if (fields[i].needed && !fields[i].found)
			return fields[i].name;
	}
	if (!(fields[BLOB_BEGIN].found && fields[BLOB_END].found) &&
	    !(fields[BLOB_CODE].found && fields[BLOB_DATA].found))
		return "CodeBlob::_code_begin";

	return NULL;
}

static uint64_t heap_at(unsigned int i, unsigned int *nr)
{
	uint64_t array = get_static(HEAPS);

	*nr = 0;
	if (!array)
		return 0;
	*nr = get(array, ARRAY_LEN);
	if (*nr > MAX_HEAPS)
		*nr = MAX_HEAPS;
	if (i >= *nr)
		return 0;

	return load(load(array + fields[ARRAY_DATA].at, WORD) + i * WORD, WORD);
}

unsigned int vm_heaps(struct vm_heap *heaps)
{
	unsigned int i, nr;
	uint64_t heap;

	heap = heap_at(0, &nr);
	for (i = 0; i < nr; i++) {
		uint64_t memory;

		heap = heap_at(i, &nr);
		memory = heap + fields[HEAP_MEMORY].at;
		heaps[i].start = get(memory, SPACE_LOW);
		heaps[i].end = get(memory, SPACE_END);
		heaps[i].segment_shift = get(heap, HEAP_SHIFT);
	}

	return nr;
}

/*
 * The map has a byte for each segment: the distance back to the first segment of its block,
 * or a hop towards it if that is too far for a byte.
 */
static uint64_t block_at(uint64_t heap, uint64_t address)
{
	uint64_t low = get(heap + fields[HEAP_MEMORY].at, SPACE_LOW);
	const uint8_t *map = (void *)(uintptr_t)get(heap + fields[HEAP_SEGMAP].at, SPACE_LOW);
	unsigned int shift = get(heap, HEAP_SHIFT);
	uint64_t segment = (address - low) >> shift;

	if (map[segment] == FREE)
		return 0;
	while (map[segment]) {
		if (map[segment] > segment)
			return 0;
		segment -= map[segment];
	}

	return low + (segment << shift);
}

static uint64_t blob_of(uint64_t block)
{
	/* A HeapBlock is its header, up to a word. */
	uint64_t header = fields[BLOCK_USED].at + 1;

	if (!get(block, BLOCK_USED))
		return 0;

	return block + (header + WORD - 1) / WORD * WORD;
}

static uint64_t find_blob(uint64_t address)
{
	unsigned int i, nr;
	uint64_t heap, memory, block;

	heap = heap_at(0, &nr);
	for (i = 0; i < nr; i++) {
		heap = heap_at(i, &nr);
		memory = heap + fields[HEAP_MEMORY].at;
		if (address < get(memory, SPACE_LOW) || address >= get(memory, SPACE_HIGH))
			continue;
		block = block_at(heap, address);
		return block ? blob_of(block) : 0;
	}

	return 0;
}

static bool is_method(const struct vm_blob *blob)
{
	/* "nmethod", "native nmethod" */
	return blob->name && strstr(blob->name, "nmethod");
}

static uint32_t osr_entry(uint64_t at, const struct vm_blob *blob)
{
	uint64_t entry;

	if (!fields[METHOD_BCI].found || !fields[METHOD_OSR].found || !is_method(blob) ||
	    (int32_t)get(at, METHOD_BCI) == -1)
		return 0;
	entry = get(at, METHOD_OSR);

	return entry > blob->start && entry < blob->end ? entry - blob->start : 0;
}

bool vm_blob_at(uint64_t address, struct vm_blob *blob)
{
	uint64_t at = find_blob(address);
	int32_t complete;

	if (!at)
		return false;
	if (fields[BLOB_BEGIN].found) {
		blob->start = get(at, BLOB_BEGIN);
		blob->end = get(at, BLOB_END);
	} else {
		blob->start = at + get(at, BLOB_CODE);
		blob->end = at + get(at, BLOB_DATA);
	}
	blob->name = (const char *)(uintptr_t)get(at, BLOB_NAME);
	complete = fields[BLOB_COMPLETE].size == 2 ? (int16_t)get(at, BLOB_COMPLETE) :
						     (int32_t)get(at, BLOB_COMPLETE);
	blob->frame_size = get(at, BLOB_FRAME) * WORD;
	blob->frame_complete = complete < 0 ? 0 : complete;
	blob->osr_entry = osr_entry(at, blob);
	blob->method = 0;
	if (is_method(blob) && fields[METHOD_OF].found)
		blob->method = get(at, METHOD_OF);
	blob->id = 0;
	if (is_method(blob) && fields[METHOD_ID].found)
		blob->id = get(at, METHOD_ID);

	return blob->start <= address && address < blob->end &&
	       blob->end <= at + get(at, BLOB_SIZE);
}

bool vm_next_codelet(struct vm_codelet *codelet)
{
	uint64_t queue = get_static(INTERPRETER), buffer, at, end;
	unsigned int i;

	for (i = INTERPRETER; i <= CODELET_NAME; i++) {
		if (!fields[i].found)
			return false;
	}
	if (!queue)
		return false;
	buffer = get(queue, QUEUE_BUFFER);
	end = buffer + get(queue, QUEUE_END);
	at = codelet->end ? codelet->end : buffer + get(queue, QUEUE_BEGIN);
	if (at < buffer || at >= end)
		return false;
	codelet->start = (at + CODELET_SIZE + CODE_ALIGN - 1) / CODE_ALIGN * CODE_ALIGN;
	codelet->end = at + get(at, CODELET_LENGTH);
	codelet->name = (const char *)(uintptr_t)get(at, CODELET_NAME);

	return codelet->end > codelet->start && codelet->end <= end;
}

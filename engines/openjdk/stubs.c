// SPDX-License-Identifier: MIT
#define _GNU_SOURCE /* strcasestr() */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "heaps.h"
#include "rows.h"
#include "stubs.h"
#include "vm.h"

/**
 * struct stub - a stub that the VM has reported
 * @start: its first byte
 * @end: its end
 * @name: the VM's name for it
 */
struct stub {
	uint64_t start;
	uint64_t end;
	char *name;
};

/* Sorted by address; no two overlap. */
static struct stub *stubs;
static unsigned int nr_stubs, max_stubs;

static struct rows rows, piece;

struct kind {
	const char *name;	/* what the name of the stub begins with */
	enum code_state begin;
	enum code_state otherwise;
};

/*
 * How stubs are entered, except by a call.  Names are those of JDK 17 to 25; for details see
 * the generators: stubGenerator_x86_64.cpp, sharedRuntime_x86_64.cpp,
 * runtime_x86_64.cpp, methodHandles_x86.cpp, under src/hotspot/cpu/x86.
 */
static const struct kind kinds[] = {
	/* Within the frame of call_stub. */
	{ "catch_exception", STATE_FRAME, STATE_FRAME },
	{ "ExceptionBlob", STATE_JUMPED, STATE_LOST },
	/* By the interpreter, and by adapters whose caller has its SP in a register. */
	{ "MethodHandle", STATE_LOST, STATE_LOST },
	{ "_invoke", STATE_LOST, STATE_LOST },
	{ "_link", STATE_LOST, STATE_LOST },
	/* Freezing removes frames, thawing adds them. */
	{ "Cont thaw", STATE_LOST, STATE_LOST },
	{ "cont_", STATE_LOST, STATE_LOST },
	/* The entry point comes after a jump. */
	{ "generic_arraycopy", STATE_CALLED, STATE_CALLED },
	/* Several entries follow each other. */
	{ "I2C/C2I adapters", STATE_CALLED, STATE_CALLED },
	{ "AdapterBlob", STATE_CALLED, STATE_CALLED },
};

static struct kind kind_of(const char *name)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (!strncmp(name, kinds[i].name, strlen(kinds[i].name)))
			return kinds[i];
	}

	return (struct kind){ name, STATE_CALLED, STATE_LOST };
}

static bool is_handler(const char *name)
{
	return strstr(name, "handler_blob") || strstr(name, "SafepointBlob");
}

/* A handler that is entered by a fault makes room for the return address first. */
static enum code_state begin_of(const struct stub *stub, const struct kind *kind)
{
	const uint8_t *bytes = (const void *)(uintptr_t)stub->start;

	if (is_handler(stub->name) && bytes[0] == 0x53)
		return STATE_JUMPED;

	return kind->begin;
}

static int grow_rows(struct rows *to, unsigned int nr)
{
	struct code_jit_unwind_fre *fre = to->fre;

	if (nr <= to->max)
		return 0;
	fre = realloc(fre, 2 * nr * sizeof(*fre));
	if (!fre)
		return -ENOMEM;
	to->fre = fre;
	to->max = 2 * nr;

	return 0;
}

/* Appends the rows of a piece at offset @off of the whole. */
static int append(uint64_t off)
{
	unsigned int i;

	if (grow_rows(&rows, rows.nr + piece.nr))
		return -ENOMEM;
	for (i = 0; i < piece.nr; i++) {
		rows.fre[rows.nr] = piece.fre[i];
		rows.fre[rows.nr++].ip_off += off;
	}

	return 0;
}

static int read_stub(const struct stub *stub, uint64_t whole)
{
	struct kind kind = kind_of(stub->name);
	struct code code = {
		.start = stub->start,
		.len = stub->end - stub->start,
		.begin = begin_of(stub, &kind),
		.otherwise = kind.otherwise,
		.any_fp = true,
	};
	int ret = rows_of(&piece, &code);

	return ret ? ret : append(stub->start - whole);
}

/*
 * Most of the interpreter runs in its frame, and is entered by jumps and returns; the entry
 * points of methods make the frame.
 */
static int read_codelet(const struct vm_codelet *codelet, uint64_t whole)
{
	bool entry = codelet->name && !strncmp(codelet->name, "method entry point", 18);
	struct code code = {
		.start = codelet->start,
		.len = codelet->end - codelet->start,
		.begin = entry ? STATE_LOST : STATE_INTERPRETED,
		.otherwise = STATE_INTERPRETED,
	};
	int ret = rows_of(&piece, &code);

	return ret ? ret : append(codelet->start - whole);
}

/* The VM reports the interpreter again when asked for code that it made early. */
static int add_interpreter(uint64_t start, uint64_t len)
{
	static uint64_t added;
	struct vm_codelet codelet = { 0 };
	int ret;

	if (start == added)
		return 0;
	rows.nr = 0;
	while (vm_next_codelet(&codelet)) {
		if (codelet.start < start || codelet.end > start + len)
			return -EINVAL;
		ret = read_codelet(&codelet, start);
		if (ret)
			return ret;
	}

	ret = heaps_add(start, len, rows.fre, rows.nr, "Interpreter");
	if (!ret)
		added = start;

	return ret;
}

/*
 * The VM makes many functions in one blob, and does not report all of them: these are called,
 * make no frame, and leave by a jump or a return.
 */
static int add_blob(uint64_t address, const char *name)
{
	struct code_jit_unwind_fre called = {
		.cfa_off = 8, .ra_off = -8, .info = CODE_FRE_BASE_SP,
	};
	struct vm_blob blob;

	if (!vm_blob_at(address, &blob))
		return -EINVAL;
	called.size = blob.end - blob.start;

	return heaps_add(blob.start, called.size, &called, 1, name);
}

static int insert(unsigned int at, uint64_t start, uint64_t end, const char *name)
{
	struct stub *new = stubs;
	char *copy = strdup(name);

	if (nr_stubs == max_stubs)
		new = realloc(stubs, (2 * max_stubs + 64) * sizeof(*new));
	if (!copy || !new) {
		free(copy);
		return -ENOMEM;
	}
	if (nr_stubs == max_stubs)
		max_stubs = 2 * max_stubs + 64;
	stubs = new;
	memmove(stubs + at + 1, stubs + at, (nr_stubs - at) * sizeof(*stubs));
	stubs[at] = (struct stub){ start, end, copy };
	nr_stubs++;

	return 0;
}

static void erase(unsigned int at)
{
	free(stubs[at].name);
	nr_stubs--;
	memmove(stubs + at, stubs + at + 1, (nr_stubs - at) * sizeof(*stubs));
}

/* The first stub that ends after @address. */
static unsigned int first_after(uint64_t address)
{
	unsigned int low = 0, high = nr_stubs;

	while (low < high) {
		unsigned int middle = (low + high) / 2;

		if (stubs[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}

	return low;
}

static bool share_granule(const struct stub *left, const struct stub *right)
{
	return (left->end - 1) / GRANULE == right->start / GRANULE;
}

/* Publishes the rows in the range; they are of code that begins at @whole. */
static int publish_part(uint64_t whole, uint64_t start, uint64_t end, const char *name)
{
	uint64_t from = start - whole, to = end - whole;
	unsigned int i;

	piece.nr = 0;
	for (i = 0; i < rows.nr; i++) {
		struct code_jit_unwind_fre row = rows.fre[i];
		uint64_t row_end = (uint64_t)row.ip_off + row.size;

		if (row_end <= from || row.ip_off >= to)
			continue;
		row_end = row_end < to ? row_end : to;
		row.ip_off = row.ip_off > from ? row.ip_off - from : 0;
		row.size = row_end - from - row.ip_off;
		if (grow_rows(&piece, piece.nr + 1))
			return -ENOMEM;
		piece.fre[piece.nr++] = row;
	}

	return heaps_add(start, end - start, piece.fre, piece.nr, name);
}

/*
 * Functions must not share a granule: one that begins in the last granule of another gets that
 * whole granule, with the rows of both, and of all others that begin there.
 */
static int publish_run(unsigned int first, unsigned int end)
{
	uint64_t whole = stubs[first].start, start = whole, next;
	const char *name = stubs[first].name;
	unsigned int i;
	int ret;

	for (i = first + 1; i < end; i++) {
		next = stubs[i].start / GRANULE * GRANULE;
		if (next <= start)
			continue;
		ret = publish_part(whole, start, next, name);
		if (ret)
			return ret;
		start = next;
		name = stubs[i].name;
	}

	return publish_part(whole, start, stubs[end - 1].end, name);
}

static int publish(unsigned int at)
{
	unsigned int first = at, end = at + 1;
	int ret;

	while (first > 0 && share_granule(&stubs[first - 1], &stubs[first]))
		first--;
	while (end < nr_stubs && share_granule(&stubs[end - 1], &stubs[end]))
		end++;
	rows.nr = 0;
	for (at = first; at < end; at++) {
		ret = read_stub(&stubs[at], stubs[first].start);
		if (ret)
			return ret;
	}

	return publish_run(first, end);
}

/* The VM reports adapters again with shorter names. */
static bool same_name(const char *a, const char *b)
{
	size_t i = strlen(a), j = strlen(b);

	return !strncmp(a, b, i < j ? i : j);
}

static int add_stub(uint64_t start, uint64_t end, const char *name)
{
	unsigned int at = first_after(start);
	int ret;

	/* The VM reports all of them again when asked for those that it made early. */
	if (at < nr_stubs && stubs[at].start == start && stubs[at].end == end &&
	    same_name(stubs[at].name, name))
		return 0;
	/* A blob that is reported after its contents says nothing new. */
	if (at < nr_stubs && start <= stubs[at].start && stubs[at].end <= end &&
	    end - start > stubs[at].end - stubs[at].start)
		return 0;
	while (at < nr_stubs && stubs[at].start < end)
		erase(at);
	ret = insert(at, start, end, name);

	return ret ? ret : publish(at);
}

/* Memory that compilers write to: code there does not run. */
static bool is_buffer(const char *name)
{
	return strcasestr(name, "buffer") || strstr(name, "scratch") ||
	       !strcmp(name, "adapters");
}

int stubs_add(uint64_t start, uint64_t len, const char *name)
{
	if (!len || is_buffer(name))
		return 0;
	if (!strcmp(name, "Interpreter"))
		return add_interpreter(start, len);
	if (!strcmp(name, "vtable stub") || !strcmp(name, "itable stub") ||
	    !strcmp(name, "native signature handlers"))
		return add_blob(start, name);

	return add_stub(start, start + len, name);
}

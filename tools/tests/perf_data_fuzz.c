// SPDX-License-Identifier: MIT
/*
 * libFuzzer target for the output of perf record: texts and chains of a record are within it, and
 * so is what a lookup finds of a mapping.
 */
#include "fuzz.h"
#include "perf_stream.h"
#include "perf_tasks.h"

static void check_chain(const struct perf_chain *chain)
{
	uint64_t ip = 0;

	/* The sanitizer checks what is read. */
	for (uint64_t i = 0; i < chain->nr; i++) {
		ip ^= perf_chain_at(chain, i);
		__asm__ volatile("" : "+r"(ip));
	}
}

static void check_mapping(const struct perf_tasks *tasks, const struct perf_record *record)
{
	const uint64_t last = record->mmap.start + record->mmap.len - 1;
	struct perf_mapped first_of, last_of;
	uint64_t offset;

	if (perf_tasks_left_out(tasks) || record->mmap.kernel || record->mmap.data ||
	    record->pid < 0 || !record->mmap.inode)
		return;
	require(perf_tasks_find(tasks, record->pid, record->mmap.start, &first_of, &offset));
	require(offset == record->mmap.offset);
	require(perf_tasks_find(tasks, record->pid, last, &last_of, &offset));
	require(first_of.id == last_of.id && first_of.inode == record->mmap.inode);
	require(offset == record->mmap.offset + record->mmap.len - 1);
}

static void take(void *context, const struct perf_record *record)
{
	struct perf_tasks *tasks = context;

	perf_tasks_take(tasks, record);
	if (record->kind == PERF_KIND_SAMPLE)
		check_chain(&record->sample.chain);
	else if (record->kind == PERF_KIND_CHAIN)
		check_chain(&record->chain.chain);
	else if (record->kind == PERF_KIND_MMAP)
		check_mapping(tasks, record);
	else if (record->kind == PERF_KIND_COMM)
		require(strlen(record->comm.name) < 1 << 16);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct perf_tasks *tasks = perf_tasks_new();
	struct perf_stream *stream = perf_stream_new(take, tasks);
	char *copy = exact_copy(data, size);

	if (!perf_stream_feed(stream, copy, size))
		perf_stream_end(stream);
	perf_stream_free(stream);
	perf_tasks_free(tasks);
	free(copy);
	return 0;
}

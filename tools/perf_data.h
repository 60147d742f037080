/* SPDX-License-Identifier: MIT */
/*
 * What perf record writes to a pipe: perf.data-file-format.txt of perf, and the records
 * of <linux/perf_event.h>.
 *
 * Not the text of perf script: a file or a thread may have any name, and perf would
 * open files that others have named.  Here each field has its place, and files are
 * identified by device and inode.
 */
#ifndef PERF_DATA_H
#define PERF_DATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum perf_kind {
	PERF_KIND_SAMPLE,
	PERF_KIND_CHAIN,	/* for the earlier samples with that cookie */
	PERF_KIND_MMAP,
	PERF_KIND_COMM,
	PERF_KIND_FORK,
	PERF_KIND_EXIT,
	PERF_KIND_CGROUP,
	PERF_KIND_LOST,
	PERF_KIND_OTHER,	/* nothing of use here */
};

/* Addresses, the innermost first, with PERF_CONTEXT_* between them; possibly unaligned. */
struct perf_chain {
	const char *ips;
	uint64_t nr;
};

/* Strings end with a zero byte, and are in the data. */
struct perf_record {
	enum perf_kind kind;
	int32_t pid, tid;	/* of a sample, a mapping, or the task with that name */
	uint64_t time;		/* 0: unknown, or before all others */
	union {
		struct {
			uint64_t ip, period;
			uint64_t cgroup;	/* 0 if unknown */
			bool kernel;		/* taken in the kernel */
			struct perf_chain chain;
		} sample;
		struct {
			uint64_t cookie;
			struct perf_chain chain;
		} chain;
		struct {
			uint64_t start, len, offset, inode, generation;
			uint32_t major, minor;
			bool kernel, data;	/* the kernel's; not executable */
			const char *path;
		} mmap;
		struct {
			const char *name;
			bool exec;
		} comm;
		struct {
			int32_t parent_pid, parent_tid;
			bool synthesized;	/* it existed before */
		} fork;			/* also for PERF_KIND_EXIT */
		struct {
			uint64_t id;
			const char *path;
		} cgroup;
		uint64_t lost;		/* number of records */
	};
};

static inline uint64_t perf_chain_at(const struct perf_chain *chain, uint64_t nr)
{
	uint64_t ip;

	__builtin_memcpy(&ip, chain->ips + nr * sizeof(ip), sizeof(ip));
	return ip;
}

/* The fields of records, according to the headers of events. */
struct perf_format {
	struct perf_attr {
		uint64_t sample_type;
		bool sample_id_all;
	} *attrs;
	size_t nr_attrs;
	struct perf_id {
		uint64_t id;
		uint32_t attr;
	} *ids;			/* by id, if the attributes differ */
	size_t nr_ids;
	bool differ, sorted;
};

/*
 * Takes a header of an event, PERF_RECORD_HEADER_ATTR.  False if the @len bytes at
 * @data are none, or one with unknown fields.
 */
bool perf_format_add(struct perf_format *format, const void *data, size_t len);
void perf_format_free(struct perf_format *format);

/* False if the @len bytes at @data are no record of that format, whatever they are. */
bool perf_record_parse(struct perf_record *record, struct perf_format *format,
		       const void *data, size_t len);

#endif

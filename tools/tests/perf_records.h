/* SPDX-License-Identifier: MIT */
/*
 * The output of perf record, for the tests of its readers and as a seed for fuzzers.
 */
#ifndef PERF_RECORDS_H
#define PERF_RECORDS_H

#include <linux/perf_event.h>
#include <stdint.h>
#include <string.h>

#define USER_DEFERRED	((uint64_t)-640)
#define ALL_FIELDS							\
	(PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_PERIOD | \
	 PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_CGROUP)

struct bytes {
	char data[16384];
	size_t len, record;	/* where the last record starts */
};

static inline void put(struct bytes *bytes, const void *data, size_t len)
{
	memcpy(bytes->data + bytes->len, data, len);
	bytes->len += len;
}

static inline void put_u64(struct bytes *bytes, uint64_t value)
{
	put(bytes, &value, sizeof(value));
}

static inline void put_u32(struct bytes *bytes, uint32_t one, uint32_t other)
{
	put(bytes, &one, sizeof(one));
	put(bytes, &other, sizeof(other));
}

/* Padded to 8 bytes, with at least one zero. */
static inline void put_text(struct bytes *bytes, const char *text)
{
	size_t len = (strlen(text) + 8) / 8 * 8;

	memset(bytes->data + bytes->len, 0, len);
	memcpy(bytes->data + bytes->len, text, strlen(text));
	bytes->len += len;
}

static inline void put_file_header(struct bytes *bytes)
{
	put(bytes, "PERFILE2", 8);
	put_u64(bytes, 16);
}

static inline void begin_record(struct bytes *bytes, uint32_t type, uint16_t misc)
{
	struct perf_event_header header = { .type = type, .misc = misc };

	bytes->record = bytes->len;
	put(bytes, &header, sizeof(header));
}

static inline void end_record(struct bytes *bytes)
{
	uint16_t size = bytes->len - bytes->record;

	memcpy(bytes->data + bytes->record + offsetof(struct perf_event_header, size), &size,
	       sizeof(size));
}

/* Adds the trailer of all records except samples and those of perf itself. */
static inline void end_record_at(struct bytes *bytes, uint32_t pid, uint32_t tid, uint64_t time)
{
	put_u32(bytes, pid, tid);
	put_u64(bytes, time);
	end_record(bytes);
}

static inline void put_attr(struct bytes *bytes, uint64_t fields, uint64_t id)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr), .sample_type = fields, .sample_id_all = 1,
	};

	begin_record(bytes, 64, 0);
	put(bytes, &attr, sizeof(attr));
	put_u64(bytes, id);
	end_record(bytes);
}

static inline void put_round(struct bytes *bytes)
{
	begin_record(bytes, 68, 0);
	end_record(bytes);
}

struct put_sample {
	uint64_t time, ip, period, cgroup, nr;
	uint32_t pid, tid;
	uint64_t ips[8];
	uint16_t misc;		/* 0: of user space */
};

/* With the given members. */
#define PUT_SAMPLE(bytes, ...)	put_sample(bytes, (struct put_sample){ __VA_ARGS__ })
#define PUT_MMAP(bytes, ...)	put_mmap(bytes, (struct put_mmap){ __VA_ARGS__ })

static inline void put_sample(struct bytes *bytes, struct put_sample sample)
{
	begin_record(bytes, PERF_RECORD_SAMPLE, sample.misc ?: PERF_RECORD_MISC_USER);
	put_u64(bytes, sample.ip);
	put_u32(bytes, sample.pid, sample.tid);
	put_u64(bytes, sample.time);
	put_u64(bytes, sample.period);
	put_u64(bytes, sample.nr);
	put(bytes, sample.ips, sample.nr * sizeof(uint64_t));
	put_u64(bytes, sample.cgroup);
	end_record(bytes);
}

struct put_mmap {
	uint64_t time, start, len, offset, inode;
	uint32_t pid, tid, major, minor;
	const char *path;
	uint16_t misc;		/* 0: of user space, to be executed */
};

static inline void put_mmap(struct bytes *bytes, struct put_mmap map)
{
	begin_record(bytes, PERF_RECORD_MMAP2, map.misc ?: PERF_RECORD_MISC_USER);
	put_u32(bytes, map.pid, map.tid);
	put_u64(bytes, map.start);
	put_u64(bytes, map.len);
	put_u64(bytes, map.offset);
	put_u32(bytes, map.major, map.minor);
	put_u64(bytes, map.inode);
	put_u64(bytes, 0);
	put_u32(bytes, 5, 2);
	put_text(bytes, map.path);
	end_record_at(bytes, map.pid, map.tid, map.time);
}

static inline void put_comm(struct bytes *bytes, uint32_t pid, uint32_t tid, const char *name,
			    bool exec, uint64_t time)
{
	begin_record(bytes, PERF_RECORD_COMM, exec ? PERF_RECORD_MISC_COMM_EXEC : 0);
	put_u32(bytes, pid, tid);
	put_text(bytes, name);
	end_record_at(bytes, pid, tid, time);
}

/* PERF_RECORD_FORK or _EXIT. */
static inline void put_fork(struct bytes *bytes, uint32_t type, uint16_t misc, uint32_t pid,
			    uint32_t parent, uint64_t time)
{
	begin_record(bytes, type, misc);
	put_u32(bytes, pid, parent);
	put_u32(bytes, pid, parent);
	put_u64(bytes, time);
	end_record_at(bytes, parent, parent, time);
}

static inline void put_cgroup(struct bytes *bytes, uint64_t id, const char *path)
{
	begin_record(bytes, PERF_RECORD_CGROUP, 0);
	put_u64(bytes, id);
	put_text(bytes, path);
	end_record_at(bytes, 0, 0, 0);
}

static inline void put_lost(struct bytes *bytes, uint64_t nr, uint64_t time)
{
	begin_record(bytes, PERF_RECORD_LOST, 0);
	put_u64(bytes, 1);
	put_u64(bytes, nr);
	end_record_at(bytes, 1, 1, time);
}

/* All of it is in user space, without a marker. */
static inline void put_chain(struct bytes *bytes, uint32_t tid, uint64_t cookie, uint64_t one,
			     uint64_t other, uint64_t time)
{
	begin_record(bytes, 22, PERF_RECORD_MISC_USER);
	put_u64(bytes, cookie);
	put_u64(bytes, 2);
	put_u64(bytes, one);
	put_u64(bytes, other);
	end_record_at(bytes, tid, tid, time);
}

/* One record of each kind. */
static inline void put_all(struct bytes *bytes)
{
	put_file_header(bytes);
	put_attr(bytes, ALL_FIELDS, 7);
	PUT_MMAP(bytes, .start = 0x1000, .len = 0x3000, .inode = 3, .pid = 10, .tid = 10,
		 .major = 1, .path = "/bin/a");
	put_comm(bytes, 10, 10, "a", false, 0);
	put_cgroup(bytes, 5, "/c");
	put_fork(bytes, PERF_RECORD_FORK, 0, 11, 10, 20);
	put_comm(bytes, 11, 11, "b", true, 21);
	PUT_SAMPLE(bytes, .time = 30, .ip = 0x1010, .period = 9, .cgroup = 5, .pid = 10,
		   .tid = 10, .nr = 3, .ips = { PERF_CONTEXT_USER, 0x1010, 0x2020 });
	PUT_SAMPLE(bytes, .time = 25, .period = 9, .pid = 10, .tid = 10,
		   .misc = PERF_RECORD_MISC_KERNEL, .nr = 4, .ips = { PERF_CONTEXT_KERNEL,
		   -4096ULL, USER_DEFERRED, 77 });
	put_round(bytes);
	put_chain(bytes, 10, 77, 0x1111, 0x2222, 40);
	put_lost(bytes, 4, 41);
	put_round(bytes);
	put_fork(bytes, PERF_RECORD_EXIT, 0, 11, 10, 42);
}

#endif

// SPDX-License-Identifier: MIT
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#include "perf_data.h"
#include "span.h"
#include "tool.h"

/* Newer than some headers of the C library. */
#define RECORD_CALLCHAIN_DEFERRED	22
#define ATTR_SIZE_VER0			64

#define MAX_ATTRS	64
#define MAX_IDS		(1 << 20)

/* The fields that are read or skipped; the others have lengths of their own. */
#define KNOWN_FIELDS							\
	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |	\
	 PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR | PERF_SAMPLE_ID |		\
	 PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD |	\
	 PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_CGROUP)
#define NEEDED_FIELDS	(PERF_SAMPLE_TID | PERF_SAMPLE_TIME)
/* Fields that other records end in. */
#define TRAILING_FIELDS							\
	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |	\
	 PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU)

/* ------------------------------------------------------------------- fields */

static bool take(struct span *rest, void *to, size_t len)
{
	if (rest->len < len)
		return false;
	memcpy(to, rest->at, len);
	rest->at += len;
	rest->len -= len;
	return true;
}

static bool take_u64(struct span *rest, uint64_t *to)
{
	return take(rest, to, sizeof(*to));
}

static bool take_ids(struct span *rest, int32_t *pid, int32_t *tid)
{
	return take(rest, pid, sizeof(*pid)) && take(rest, tid, sizeof(*tid));
}

/* Padded with zero bytes to the end of @rest. */
static bool take_string(struct span *rest, const char **to)
{
	*to = rest->at;
	return rest->len && memchr(rest->at, '\0', rest->len);
}

static bool take_chain(struct span *rest, struct perf_chain *chain)
{
	if (!take_u64(rest, &chain->nr) || chain->nr > rest->len / sizeof(uint64_t))
		return false;
	chain->ips = rest->at;
	rest->at += chain->nr * sizeof(uint64_t);
	rest->len -= chain->nr * sizeof(uint64_t);
	return true;
}

/* ------------------------------------------------------------------ formats */

static bool take_attr(struct span *rest, struct perf_attr *attr)
{
	struct perf_event_attr known = { 0 };
	struct span whole = *rest;
	uint32_t size;

	if (rest->len < ATTR_SIZE_VER0)
		return false;
	memcpy(&size, rest->at + offsetof(struct perf_event_attr, size), sizeof(size));
	if (size < ATTR_SIZE_VER0 || size % sizeof(uint64_t) || size > rest->len)
		return false;
	memcpy(&known, rest->at, size < sizeof(known) ? size : sizeof(known));
	rest->at = whole.at + size;
	rest->len = whole.len - size;
	*attr = (struct perf_attr){ known.sample_type, known.sample_id_all };
	return !(attr->sample_type & ~(uint64_t)KNOWN_FIELDS) &&
	       (attr->sample_type & NEEDED_FIELDS) == NEEDED_FIELDS;
}

static bool add_ids(struct perf_format *format, struct span ids)
{
	size_t nr = ids.len / sizeof(uint64_t);
	struct perf_id id = { .attr = format->nr_attrs };

	if (ids.len % sizeof(uint64_t) || nr > MAX_IDS - format->nr_ids)
		return false;
	format->ids = need(reallocarray(format->ids, format->nr_ids + nr + 1,
					sizeof(*format->ids)));
	while (take_u64(&ids, &id.id))
		format->ids[format->nr_ids++] = id;
	format->sorted = false;
	return true;
}

bool perf_format_add(struct perf_format *format, const void *data, size_t len)
{
	struct span rest = { data, len };
	struct perf_event_header header;
	struct perf_attr attr;

	if (!take(&rest, &header, sizeof(header)) || !take_attr(&rest, &attr) ||
	    format->nr_attrs >= MAX_ATTRS || !add_ids(format, rest))
		return false;
	if (format->nr_attrs && attr.sample_type != format->attrs->sample_type)
		format->differ = true;
	format->attrs = need(reallocarray(format->attrs, format->nr_attrs + 1,
					  sizeof(*format->attrs)));
	format->attrs[format->nr_attrs++] = attr;
	for (size_t i = 0; format->differ && i < format->nr_attrs; i++)
		if (!(format->attrs[i].sample_type & PERF_SAMPLE_IDENTIFIER))
			return false;
	return true;
}

void perf_format_free(struct perf_format *format)
{
	free(format->attrs);
	free(format->ids);
	*format = (struct perf_format){ 0 };
}

static int by_id(const void *one, const void *other)
{
	const struct perf_id *a = one, *b = other;

	return a->id < b->id ? -1 : a->id > b->id;
}

static const struct perf_attr *attr_of_id(struct perf_format *format, uint64_t id)
{
	const struct perf_id key = { .id = id }, *found;

	if (!format->sorted)
		qsort(format->ids, format->nr_ids, sizeof(*format->ids), by_id);
	format->sorted = true;
	found = bsearch(&key, format->ids, format->nr_ids, sizeof(key), by_id);
	return found ? &format->attrs[found->attr] : NULL;
}

/* The identifier is the first field of a sample, and the last one of another record. */
static const struct perf_attr *find_attr(struct perf_format *format, struct span body,
					 bool sample)
{
	uint64_t id;

	if (!format->nr_attrs)
		return NULL;
	if (!format->differ)
		return format->attrs;
	if (body.len < sizeof(id))
		return NULL;
	memcpy(&id, sample ? body.at : body.at + body.len - sizeof(id), sizeof(id));
	/* Records that perf makes up itself have none. */
	return id || sample ? attr_of_id(format, id) : format->attrs;
}

/* ------------------------------------------------------------------ records */

static bool pass(struct span *rest, uint64_t fields)
{
	uint64_t unused;

	for (; fields; fields &= fields - 1)
		if (!take_u64(rest, &unused))
			return false;
	return true;
}

static bool parse_sample(struct perf_record *record, const struct perf_attr *attr,
			 struct span rest, uint16_t misc)
{
	const uint64_t has = attr->sample_type;
	const uint16_t mode = misc & PERF_RECORD_MISC_CPUMODE_MASK;

	record->kind = PERF_KIND_SAMPLE;
	record->sample.kernel = mode != PERF_RECORD_MISC_USER;
	return pass(&rest, has & PERF_SAMPLE_IDENTIFIER) &&
	       (!(has & PERF_SAMPLE_IP) || take_u64(&rest, &record->sample.ip)) &&
	       take_ids(&rest, &record->pid, &record->tid) &&
	       take_u64(&rest, &record->time) &&
	       pass(&rest, has & (PERF_SAMPLE_ADDR | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID |
				  PERF_SAMPLE_CPU)) &&
	       (!(has & PERF_SAMPLE_PERIOD) || take_u64(&rest, &record->sample.period)) &&
	       (!(has & PERF_SAMPLE_CALLCHAIN) || take_chain(&rest, &record->sample.chain)) &&
	       (!(has & PERF_SAMPLE_CGROUP) || take_u64(&rest, &record->sample.cgroup));
}

/* Takes the fields that all other records end in off @rest. */
static bool take_trailer(struct perf_record *record, const struct perf_attr *attr,
			 struct span *rest)
{
	const uint64_t fields = attr->sample_type & TRAILING_FIELDS;
	const size_t len = __builtin_popcountll(fields) * sizeof(uint64_t);
	struct span trailer;

	if (!attr->sample_id_all)
		return true;
	if (rest->len < len)
		return false;
	rest->len -= len;
	trailer = (struct span){ rest->at + rest->len, len };
	return take_ids(&trailer, &record->pid, &record->tid) &&
	       take_u64(&trailer, &record->time);
}

static bool parse_mmap(struct perf_record *record, struct span rest, uint16_t misc)
{
	uint32_t prot, flags;

	record->kind = PERF_KIND_MMAP;
	record->mmap.kernel = (misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL;
	record->mmap.data = misc & PERF_RECORD_MISC_MMAP_DATA;
	return !(misc & PERF_RECORD_MISC_MMAP_BUILD_ID) &&
	       take_ids(&rest, &record->pid, &record->tid) &&
	       take_u64(&rest, &record->mmap.start) && take_u64(&rest, &record->mmap.len) &&
	       take_u64(&rest, &record->mmap.offset) &&
	       take(&rest, &record->mmap.major, sizeof(uint32_t)) &&
	       take(&rest, &record->mmap.minor, sizeof(uint32_t)) &&
	       take_u64(&rest, &record->mmap.inode) &&
	       take_u64(&rest, &record->mmap.generation) &&
	       take(&rest, &prot, sizeof(prot)) && take(&rest, &flags, sizeof(flags)) &&
	       record->mmap.len && record->mmap.start + record->mmap.len > record->mmap.start &&
	       take_string(&rest, &record->mmap.path);
}

static bool parse_comm(struct perf_record *record, struct span rest, uint16_t misc)
{
	record->kind = PERF_KIND_COMM;
	record->comm.exec = misc & PERF_RECORD_MISC_COMM_EXEC;
	return take_ids(&rest, &record->pid, &record->tid) &&
	       take_string(&rest, &record->comm.name);
}

/* Process, its parent, thread, its parent. */
static bool parse_fork(struct perf_record *record, struct span rest, uint16_t misc,
		       enum perf_kind kind)
{
	record->kind = kind;
	record->fork.synthesized = misc & PERF_RECORD_MISC_FORK_EXEC;
	return take_ids(&rest, &record->pid, &record->fork.parent_pid) &&
	       take_ids(&rest, &record->tid, &record->fork.parent_tid);
}

static bool parse_other(struct perf_record *record, uint32_t type, uint16_t misc,
			struct span rest)
{
	uint64_t id;

	switch (type) {
	case PERF_RECORD_MMAP2:
		return parse_mmap(record, rest, misc);
	case PERF_RECORD_COMM:
		return parse_comm(record, rest, misc);
	case PERF_RECORD_FORK:
		return parse_fork(record, rest, misc, PERF_KIND_FORK);
	case PERF_RECORD_EXIT:
		return parse_fork(record, rest, misc, PERF_KIND_EXIT);
	case PERF_RECORD_CGROUP:
		record->kind = PERF_KIND_CGROUP;
		return take_u64(&rest, &record->cgroup.id) &&
		       take_string(&rest, &record->cgroup.path);
	case PERF_RECORD_LOST:
		record->kind = PERF_KIND_LOST;
		return take_u64(&rest, &id) && take_u64(&rest, &record->lost);
	case PERF_RECORD_LOST_SAMPLES:
		record->kind = PERF_KIND_LOST;
		return take_u64(&rest, &record->lost);
	case RECORD_CALLCHAIN_DEFERRED:
		record->kind = PERF_KIND_CHAIN;
		return take_u64(&rest, &record->chain.cookie) &&
		       take_chain(&rest, &record->chain.chain);
	default:
		record->kind = PERF_KIND_OTHER;
		return true;
	}
}

bool perf_record_parse(struct perf_record *record, struct perf_format *format,
		       const void *data, size_t len)
{
	struct span rest = { data, len };
	const struct perf_attr *attr;
	struct perf_event_header header;

	*record = (struct perf_record){ 0 };
	if (!take(&rest, &header, sizeof(header)))
		return false;
	attr = find_attr(format, rest, header.type == PERF_RECORD_SAMPLE);
	if (!attr)
		return false;
	if (header.type == PERF_RECORD_SAMPLE)
		return parse_sample(record, attr, rest, header.misc);
	return take_trailer(record, attr, &rest) &&
	       parse_other(record, header.type, header.misc, rest);
}

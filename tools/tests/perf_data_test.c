// SPDX-License-Identifier: MIT
/*
 * The records of perf: their fields, their order, and what they say about tasks.
 */
#include "check.h"
#include "perf_data.h"
#include "perf_records.h"
#include "perf_stream.h"
#include "perf_tasks.h"
#include "tool.h"

/* The last record in @bytes. */
static bool parse(struct perf_record *record, struct perf_format *format,
		  const struct bytes *bytes)
{
	return perf_record_parse(record, format, bytes->data + bytes->record,
				 bytes->len - bytes->record);
}

static bool add_attr(struct perf_format *format, uint64_t fields, uint64_t id)
{
	struct bytes bytes = { 0 };

	put_attr(&bytes, fields, id);
	return perf_format_add(format, bytes.data, bytes.len);
}

static void refuses_fields_that_it_does_not_know(void)
{
	struct perf_format format = { 0 };

	CHECK(!add_attr(&format, ALL_FIELDS | PERF_SAMPLE_RAW, 1));
	CHECK(!add_attr(&format, ALL_FIELDS & ~PERF_SAMPLE_TIME, 1));
	CHECK(!add_attr(&format, ALL_FIELDS & ~PERF_SAMPLE_TID, 1));
	CHECK(!format.nr_attrs);
	CHECK(add_attr(&format, ALL_FIELDS, 1));
	/* No member would tell which event a record belongs to. */
	CHECK(!add_attr(&format, ALL_FIELDS | PERF_SAMPLE_CPU, 2));
	perf_format_free(&format);
}

static void refuses_attributes_that_are_cut(void)
{
	struct bytes bytes = { 0 };
	char *copy;

	put_attr(&bytes, ALL_FIELDS, 1);
	for (size_t len = 0; len < bytes.len; len++) {
		struct perf_format format = { 0 };

		copy = exact_copy(bytes.data, len);
		CHECK(perf_format_add(&format, copy, len) == (len == bytes.len - 8));
		free(copy);
		perf_format_free(&format);
	}
}

static void reads_a_sample(void)
{
	struct perf_format format = { 0 };
	struct perf_record record;
	struct bytes bytes = { 0 };

	CHECK(add_attr(&format, ALL_FIELDS, 1));
	PUT_SAMPLE(&bytes, .time = 5, .ip = 6, .period = 7, .cgroup = 8, .pid = 9, .tid = 10,
		   .nr = 2, .ips = { PERF_CONTEXT_USER, 6 });
	CHECK(parse(&record, &format, &bytes) && record.kind == PERF_KIND_SAMPLE);
	CHECK(record.time == 5 && record.sample.ip == 6 && record.sample.period == 7);
	CHECK(record.sample.cgroup == 8 && record.pid == 9 && record.tid == 10);
	CHECK(!record.sample.kernel && record.sample.chain.nr == 2);
	CHECK(perf_chain_at(&record.sample.chain, 1) == 6);
	put_sample(&bytes, (struct put_sample){ .misc = PERF_RECORD_MISC_KERNEL });
	CHECK(parse(&record, &format, &bytes) && record.sample.kernel);
	perf_format_free(&format);
}

/* The identifier comes first in samples and last in other records. */
static void reads_records_of_two_events(void)
{
	const uint64_t fields = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
	struct perf_format format = { 0 };
	struct perf_record record;
	struct bytes bytes = { 0 };

	CHECK(add_attr(&format, fields, 21));
	CHECK(add_attr(&format, fields | PERF_SAMPLE_PERIOD | PERF_SAMPLE_CPU, 20));
	begin_record(&bytes, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
	put_u64(&bytes, 20);
	put_u32(&bytes, 1, 2);
	put_u64(&bytes, 3);
	put_u64(&bytes, 0);
	put_u64(&bytes, 4);
	end_record(&bytes);
	CHECK(parse(&record, &format, &bytes) && record.sample.period == 4);
	memset(bytes.data + 8, 21, 1);
	CHECK(parse(&record, &format, &bytes) && !record.sample.period && record.time == 3);
	memset(bytes.data + 8, 22, 1);
	CHECK(!parse(&record, &format, &bytes));
	begin_record(&bytes, PERF_RECORD_COMM, 0);
	put_u32(&bytes, 1, 2);
	put_text(&bytes, "name");
	put_u32(&bytes, 1, 2);
	put_u64(&bytes, 99);
	put_u64(&bytes, 0);
	put_u64(&bytes, 20);
	end_record(&bytes);
	CHECK(parse(&record, &format, &bytes) && record.time == 99);
	CHECK(!strcmp(record.comm.name, "name"));
	perf_format_free(&format);
}

/* Wherever it is cut, nothing after its end is read: the sanitizer checks that. */
static void refuses_records_that_are_cut(void)
{
	struct perf_format format = { 0 };
	struct perf_record record;
	struct bytes bytes = { 0 };
	struct perf_event_header header;
	size_t at = 16;
	int whole = 0;

	CHECK(add_attr(&format, ALL_FIELDS, 1));
	put_all(&bytes);
	for (; at < bytes.len; at += header.size) {
		memcpy(&header, bytes.data + at, sizeof(header));
		for (size_t len = 0; header.type < 64 && len <= header.size; len++) {
			char *copy = exact_copy(bytes.data + at, len);
			bool good = perf_record_parse(&record, &format, copy, len);

			CHECK(!good || len >= header.size - 24U);
			whole += good && len == header.size;
			free(copy);
		}
	}
	CHECK(whole == 10);
	perf_format_free(&format);
}

static void refuses_what_a_mapping_cannot_be(void)
{
	const struct put_mmap good = { .start = 0x1000, .len = 0x1000, .path = "/a" };
	struct put_mmap empty = good, wraps = good, build_id = good;
	struct perf_format format = { 0 };
	struct perf_record record;
	struct bytes bytes = { 0 };

	CHECK(add_attr(&format, ALL_FIELDS, 1));
	put_mmap(&bytes, good);
	CHECK(parse(&record, &format, &bytes) && !strcmp(record.mmap.path, "/a"));
	/* Without a terminator, the name would continue in the fields after it. */
	memset(bytes.data + bytes.record + 8 + 64, 'a', 8);
	CHECK(!parse(&record, &format, &bytes));
	empty.len = 0;
	put_mmap(&bytes, empty);
	CHECK(!parse(&record, &format, &bytes));
	wraps.len = -0x1000ULL;
	put_mmap(&bytes, wraps);
	CHECK(!parse(&record, &format, &bytes));
	build_id.misc = PERF_RECORD_MISC_USER | PERF_RECORD_MISC_MMAP_BUILD_ID;
	put_mmap(&bytes, build_id);
	CHECK(!parse(&record, &format, &bytes));
	perf_format_free(&format);
}

static void refuses_a_chain_that_is_too_long(void)
{
	struct perf_format format = { 0 };
	struct perf_record record;
	struct bytes bytes = { 0 };
	uint64_t nr = 1ULL << 61;

	CHECK(add_attr(&format, ALL_FIELDS, 1));
	put_chain(&bytes, 1, 2, 3, 4, 5);
	CHECK(parse(&record, &format, &bytes) && record.chain.cookie == 2);
	CHECK(record.chain.chain.nr == 2 && perf_chain_at(&record.chain.chain, 1) == 4);
	memcpy(bytes.data + 16, &nr, sizeof(nr));
	CHECK(!parse(&record, &format, &bytes));
	nr = 3;
	memcpy(bytes.data + 16, &nr, sizeof(nr));
	CHECK(!parse(&record, &format, &bytes));
	perf_format_free(&format);
}

/* ------------------------------------------------------------------- streams */

struct seen {
	uint64_t times[64];
	size_t nr;
};

static void note(void *context, const struct perf_record *record)
{
	struct seen *seen = context;

	seen->times[seen->nr++ % ARRAY_SIZE(seen->times)] = record->time;
}

static bool saw(const struct seen *seen, const uint64_t *times, size_t nr)
{
	return seen->nr == nr && !memcmp(seen->times, times, nr * sizeof(*times));
}

static void gives_records_in_order(void)
{
	static const uint64_t first[] = { 0, 0, 0, 20, 21, 25, 30 };
	static const uint64_t all[] = { 0, 0, 0, 20, 21, 25, 30, 40, 41, 42 };
	struct bytes bytes = { 0 };

	put_all(&bytes);
	for (size_t step = 1; step < bytes.len; step = step * 3 + 1) {
		struct seen seen = { 0 };
		struct perf_stream *stream = perf_stream_new(note, &seen);

		for (size_t at = 0; at < bytes.len; at += step)
			CHECK(!perf_stream_feed(stream, bytes.data + at,
						bytes.len - at < step ? bytes.len - at : step));
		/* Other records up to the time of the last round may still be missing. */
		CHECK(saw(&seen, first, ARRAY_SIZE(first)));
		perf_stream_end(stream);
		CHECK(saw(&seen, all, ARRAY_SIZE(all)));
		CHECK(!perf_stream_malformed(stream));
		perf_stream_free(stream);
	}
}

/* Records of one CPU from before the end of a round may come in the next one. */
static void waits_for_the_other_cpus(void)
{
	static const uint64_t in_order[] = { 10, 15, 20, 30 };
	struct seen seen = { 0 };
	struct perf_stream *stream = perf_stream_new(note, &seen);
	struct bytes bytes = { 0 };

	put_file_header(&bytes);
	put_attr(&bytes, ALL_FIELDS, 1);
	put_comm(&bytes, 1, 1, "a", false, 10);
	put_comm(&bytes, 1, 1, "a", false, 20);
	put_round(&bytes);
	put_comm(&bytes, 1, 1, "a", false, 15);
	put_comm(&bytes, 1, 1, "a", false, 30);
	CHECK(!perf_stream_feed(stream, bytes.data, bytes.len) && !seen.nr);
	perf_stream_end(stream);
	CHECK(saw(&seen, in_order, ARRAY_SIZE(in_order)));
	perf_stream_free(stream);
}

static void keeps_no_more_than_it_may(void)
{
	const size_t most = perf_stream_max_bytes;
	struct seen seen = { 0 };
	struct perf_stream *stream = perf_stream_new(note, &seen);
	struct bytes bytes = { 0 };

	perf_stream_max_bytes = 400;
	put_file_header(&bytes);
	put_attr(&bytes, ALL_FIELDS, 1);
	for (int i = 0; i < 40; i++)
		put_comm(&bytes, 1, 1, "a", false, i);
	CHECK(!perf_stream_feed(stream, bytes.data, bytes.len) && seen.nr > 30);
	perf_stream_free(stream);
	perf_stream_max_bytes = most;
}

static bool refuses(const char *data, size_t len)
{
	struct seen seen = { 0 };
	struct perf_stream *stream = perf_stream_new(note, &seen);
	bool good = perf_stream_feed(stream, data, len);

	perf_stream_free(stream);
	return good;
}

static void refuses_what_is_not_of_perf(void)
{
	struct bytes bytes = { 0 };
	size_t start;

	put_file_header(&bytes);
	CHECK(!refuses(bytes.data, bytes.len));
	bytes.data[7] = '1';
	CHECK(refuses(bytes.data, bytes.len));
	bytes.data[7] = '2';
	bytes.data[8] = 104;
	CHECK(refuses(bytes.data, bytes.len));
	bytes.data[8] = 16;
	put_attr(&bytes, ALL_FIELDS, 1);
	start = bytes.len;
	put_u64(&bytes, 0);
	CHECK(refuses(bytes.data, bytes.len));
	bytes.len = start;
	begin_record(&bytes, 81, 0);
	end_record(&bytes);
	CHECK(refuses(bytes.data, bytes.len));
}

static void counts_records_that_are_none(void)
{
	struct seen seen = { 0 };
	struct perf_stream *stream = perf_stream_new(note, &seen);
	struct bytes bytes = { 0 };

	put_file_header(&bytes);
	put_attr(&bytes, ALL_FIELDS, 1);
	begin_record(&bytes, PERF_RECORD_COMM, 0);
	end_record(&bytes);
	put_comm(&bytes, 1, 1, "a", false, 1);
	CHECK(!perf_stream_feed(stream, bytes.data, bytes.len));
	perf_stream_end(stream);
	CHECK(seen.nr == 1 && perf_stream_malformed(stream) == 1);
	perf_stream_free(stream);
}

/* --------------------------------------------------------------------- tasks */

static void take(void *tasks, const struct perf_record *record)
{
	perf_tasks_take(tasks, record);
}

static struct perf_tasks *tasks_of(struct bytes *bytes)
{
	struct perf_tasks *tasks = perf_tasks_new();
	struct perf_stream *stream = perf_stream_new(take, tasks);

	CHECK(!perf_stream_feed(stream, bytes->data, bytes->len));
	perf_stream_end(stream);
	CHECK(!perf_stream_malformed(stream));
	perf_stream_free(stream);
	return tasks;
}

static struct bytes start(void)
{
	struct bytes bytes = { 0 };

	put_file_header(&bytes);
	put_attr(&bytes, ALL_FIELDS, 1);
	return bytes;
}

static bool is_at(const struct perf_tasks *tasks, int32_t pid, uint64_t address,
		  const char *path, uint64_t want)
{
	struct perf_mapped mapped;
	uint64_t offset;

	if (!perf_tasks_find(tasks, pid, address, &mapped, &offset))
		return !path;
	return path && !strcmp(mapped.path, path) && offset == want && mapped.id;
}

static void put_map(struct bytes *bytes, uint32_t pid, uint64_t start, uint64_t len,
		    const char *path)
{
	PUT_MMAP(bytes, .pid = pid, .tid = pid, .start = start, .len = len, .offset = 0x500,
		 .inode = 1, .path = path);
}

static void maps_over_what_was_there(void)
{
	struct bytes bytes = start();
	struct perf_tasks *tasks;

	put_map(&bytes, 1, 0x1000, 0x9000, "/a");
	put_map(&bytes, 1, 0x3000, 0x1000, "/b");
	put_map(&bytes, 1, 0x9000, 0x2000, "/c");
	put_map(&bytes, 1, 0x800, 0x900, "/d");
	put_map(&bytes, 2, 0x1000, 0x1000, "/e");
	tasks = tasks_of(&bytes);
	CHECK(is_at(tasks, 1, 0x7ff, NULL, 0) && is_at(tasks, 1, 0x800, "/d", 0x500));
	CHECK(is_at(tasks, 1, 0x10ff, "/d", 0xdff) && is_at(tasks, 1, 0x1100, "/a", 0x600));
	CHECK(is_at(tasks, 1, 0x2fff, "/a", 0x24ff) && is_at(tasks, 1, 0x3000, "/b", 0x500));
	CHECK(is_at(tasks, 1, 0x4000, "/a", 0x3500) && is_at(tasks, 1, 0x8fff, "/a", 0x84ff));
	CHECK(is_at(tasks, 1, 0x9000, "/c", 0x500) && is_at(tasks, 1, 0xafff, "/c", 0x24ff));
	CHECK(is_at(tasks, 1, 0xb000, NULL, 0) && is_at(tasks, 2, 0x1000, "/e", 0x500));
	CHECK(is_at(tasks, 3, 0x1000, NULL, 0));
	perf_tasks_free(tasks);
}

/* A path may contain anything: its escaped form must not lead to another file. */
static void knows_files_from_memory(void)
{
	struct bytes bytes = start();
	struct perf_tasks *tasks;

	put_map(&bytes, 1, 0x1000, 0x1000, "/a\n\033[1m\\ b");
	PUT_MMAP(&bytes, .pid = 1, .start = 0x2000, .len = 0x1000, .path = "//anon");
	PUT_MMAP(&bytes, .pid = 1, .start = 0x3000, .len = 0x1000, .path = "[vdso]");
	PUT_MMAP(&bytes, .pid = 1, .start = 0x1000, .len = 0x3000, .inode = 9, .path = "/k",
		 .misc = PERF_RECORD_MISC_KERNEL);
	PUT_MMAP(&bytes, .pid = 1, .start = 0x1000, .len = 0x3000, .inode = 9, .path = "/d",
		 .misc = PERF_RECORD_MISC_USER | PERF_RECORD_MISC_MMAP_DATA);
	tasks = tasks_of(&bytes);
	CHECK(is_at(tasks, 1, 0x1000, "/a\\012\\033[1m\\134\\040b", 0x500));
	CHECK(is_at(tasks, 1, 0x2000, NULL, 0) && is_at(tasks, 1, 0x3010, "[vdso]", 0x10));
	perf_tasks_free(tasks);
}

static void follows_fork_and_exec(void)
{
	struct bytes bytes = start();
	struct perf_tasks *tasks;
	struct profile_task task;

	put_map(&bytes, 1, 0x1000, 0x1000, "/a");
	put_comm(&bytes, 1, 1, "one", false, 1);
	put_fork(&bytes, PERF_RECORD_FORK, 0, 2, 1, 2);
	put_fork(&bytes, PERF_RECORD_FORK, 0, 3, 1, 3);
	put_comm(&bytes, 3, 3, "three", true, 4);
	/* A process from before the recording: perf reports everything else about it. */
	put_fork(&bytes, PERF_RECORD_FORK, PERF_RECORD_MISC_FORK_EXEC, 4, 1, 5);
	tasks = tasks_of(&bytes);
	CHECK(is_at(tasks, 2, 0x1000, "/a", 0x500) && is_at(tasks, 3, 0x1000, NULL, 0));
	CHECK(is_at(tasks, 4, 0x1000, NULL, 0) && is_at(tasks, 1, 0x1000, "/a", 0x500));
	task = perf_tasks_describe(tasks, 2, 2, 0);
	CHECK(!strcmp(task.comm, "one") && task.pid == 2 && task.tid == 2);
	CHECK(!strcmp(perf_tasks_describe(tasks, 3, 3, 0).comm, "three"));
	CHECK(!perf_tasks_describe(tasks, 9, 9, 0).comm);
	perf_tasks_free(tasks);
}

/* A late sample still finds them, but not all of thousands are kept. */
static void forgets_who_has_ended(void)
{
	struct perf_tasks *tasks;
	struct bytes bytes = start();

	put_map(&bytes, 1, 0x1000, 0x1000, "/a");
	put_fork(&bytes, PERF_RECORD_FORK, 0, 2, 1, 1);
	put_fork(&bytes, PERF_RECORD_EXIT, 0, 2, 1, 2);
	tasks = tasks_of(&bytes);
	CHECK(is_at(tasks, 2, 0x1000, "/a", 0x500));
	for (int32_t pid = 100; pid < 100 + 4096; pid++) {
		struct perf_record record = { .kind = PERF_KIND_EXIT, .pid = pid, .tid = pid };

		perf_tasks_take(tasks, &record);
	}
	CHECK(is_at(tasks, 2, 0x1000, NULL, 0) && is_at(tasks, 1, 0x1000, "/a", 0x500));
	/* The one that is to be forgotten ends again: what it did before that is lost. */
	perf_tasks_take(tasks, &(struct perf_record){
		.kind = PERF_KIND_EXIT, .pid = 100, .tid = 100 });
	perf_tasks_free(tasks);
}

static void keeps_no_more_mappings_than_it_may(void)
{
	const size_t most = perf_tasks_max_mappings;
	struct bytes bytes = start();
	struct perf_tasks *tasks;

	perf_tasks_max_mappings = 3;
	put_map(&bytes, 1, 0x1000, 0x1000, "/a");
	put_map(&bytes, 1, 0x2000, 0x1000, "/b");
	put_fork(&bytes, PERF_RECORD_FORK, 0, 2, 1, 2);
	put_map(&bytes, 1, 0x3000, 0x1000, "/c");
	tasks = tasks_of(&bytes);
	CHECK(is_at(tasks, 1, 0x3000, "/c", 0x500) && is_at(tasks, 2, 0x1000, NULL, 0));
	CHECK(perf_tasks_left_out(tasks) == 3);
	perf_tasks_free(tasks);
	perf_tasks_max_mappings = most;
}

static void knows_cgroups(void)
{
	struct bytes bytes = start();
	struct perf_tasks *tasks;

	put_cgroup(&bytes, 7, "/a");
	put_cgroup(&bytes, 8, "/b");
	put_cgroup(&bytes, 7, "/c");
	tasks = tasks_of(&bytes);
	CHECK(!strcmp(perf_tasks_describe(tasks, 1 << 30, 1 << 30, 7).cgroup, "/c"));
	CHECK(!strcmp(perf_tasks_describe(tasks, 1 << 30, 1 << 30, 8).cgroup, "/b"));
	CHECK(!perf_tasks_describe(tasks, 1 << 30, 1 << 30, 9).cgroup);
	perf_tasks_free(tasks);
}

static void survives_anything(void)
{
	struct bytes all = { 0 };

	put_all(&all);
	for (int i = 0; i < 20000; i++) {
		struct perf_tasks *tasks = perf_tasks_new();
		struct perf_stream *stream = perf_stream_new(take, tasks);
		char *copy = exact_copy(all.data, all.len);

		mutate(copy + 16, all.len - 16);
		perf_stream_feed(stream, copy, all.len);
		perf_stream_end(stream);
		perf_stream_free(stream);
		perf_tasks_free(tasks);
		free(copy);
	}
}

int main(void)
{
	RUN(refuses_fields_that_it_does_not_know);
	RUN(refuses_attributes_that_are_cut);
	RUN(reads_a_sample);
	RUN(reads_records_of_two_events);
	RUN(refuses_records_that_are_cut);
	RUN(refuses_what_a_mapping_cannot_be);
	RUN(refuses_a_chain_that_is_too_long);
	RUN(gives_records_in_order);
	RUN(waits_for_the_other_cpus);
	RUN(keeps_no_more_than_it_may);
	RUN(refuses_what_is_not_of_perf);
	RUN(counts_records_that_are_none);
	RUN(maps_over_what_was_there);
	RUN(knows_files_from_memory);
	RUN(follows_fork_and_exec);
	RUN(forgets_who_has_ended);
	RUN(keeps_no_more_mappings_than_it_may);
	RUN(knows_cgroups);
	RUN(survives_anything);
	return check_end();
}

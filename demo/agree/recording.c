// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/param.h>
#include <sys/stat.h>
#include <unistd.h>

#include "recording.h"

struct recording {
	const char *path;
	const struct recording_reader *reader;
	void *arg;
	/* samples whose chain has not come yet */
	const struct dump_sample **pending;
	size_t nr_pending, room;
	/* no_cookie: samples in user mode without a cookie */
	unsigned long samples, no_cookie, lost;
};

void recording_fail(const char *what, const char *why)
{
	fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what,
		why);
	exit(2);
}

static void on_chain(struct recording *rec, const struct dump_chain *chain)
{
	size_t kept = 0;

	for (size_t i = 0; i < rec->nr_pending; i++) {
		if (rec->pending[i]->cookie == chain->cookie &&
		    rec->pending[i]->header.pid == chain->header.pid)
			rec->reader->on_stack(rec->arg, rec->pending[i], chain);
		else
			rec->pending[kept++] = rec->pending[i];
	}
	rec->nr_pending = kept;
}

static void on_sample(struct recording *rec, const struct dump_sample *sample)
{
	rec->samples++;
	if (!sample->cookie) {
		rec->no_cookie += !!sample->user_mode;
		return;
	}
	if (rec->nr_pending == rec->room) {
		rec->room = rec->room ? 2 * rec->room : 256;
		rec->pending = realloc(rec->pending, rec->room * sizeof(*rec->pending));
	}
	if (!rec->pending)
		recording_fail(rec->path, "no memory");
	rec->pending[rec->nr_pending++] = sample;
}

/* Return: how many samples in user mode lack a chain, minus the lost records. */
static unsigned long count_missing(const struct recording *rec)
{
	unsigned long no_chain = 0, missing;

	for (size_t i = 0; i < rec->nr_pending; i++)
		no_chain += !!rec->pending[i]->user_mode;
	missing = rec->no_cookie + no_chain;
	missing -= MIN(missing, rec->lost);
	if (missing > RECORDING_FEW)
		printf("%s: %lu without a cookie, %lu without their chain, %lu records lost\n",
		       rec->path, rec->no_cookie, no_chain, rec->lost);
	return missing;
}

static void on_end(struct recording *rec, const struct dump_end *end)
{
	/* on a busy machine the reader sometimes comes too late */
	if (end->lost * 50 > rec->samples)
		recording_fail(rec->path,
			       "over 2 % of the records were lost: the ring buffer is too small");
	rec->lost = end->lost;
	if (end->status)
		recording_fail(rec->path, "the command failed");
}

static void on_record(struct recording *rec, const struct dump_header *record)
{
	const void *body = record;

	switch (record->type) {
	case DUMP_MAP:
		rec->reader->on_map(rec->arg, body);
		break;
	case DUMP_FORK:
		if (rec->reader->on_fork)
			rec->reader->on_fork(rec->arg, body);
		break;
	case DUMP_EXEC:
		if (rec->reader->on_exec)
			rec->reader->on_exec(rec->arg, body);
		break;
	case DUMP_SAMPLE:
		on_sample(rec, body);
		break;
	case DUMP_CHAIN:
		on_chain(rec, body);
		break;
	case DUMP_VDSO:
		rec->reader->on_vdso(rec->arg, body);
		break;
	case DUMP_END:
		on_end(rec, body);
		break;
	default:
		recording_fail(rec->path, "not a recording of stackdump");
	}
}

/* Records of the same time stay in the order of the file. */
static int compare_times(const void *a, const void *b)
{
	const struct dump_header *one = *(const struct dump_header *const *)a;
	const struct dump_header *other = *(const struct dump_header *const *)b;

	if (one->time != other->time)
		return one->time < other->time ? -1 : 1;
	return one < other ? -1 : one > other;
}

/* Return: all records, sorted by time; the caller frees the array. */
static const struct dump_header **sort_records(const char *path, const unsigned char *data,
					       size_t size, size_t *nr)
{
	const struct dump_header **records = NULL, *header;
	const unsigned char *end = data + size;
	size_t room = 0;

	*nr = 0;
	do {
		header = (const void *)data;
		if (end - data < (long)sizeof(*header) || header->size < sizeof(*header) ||
		    end - data < (long)header->size)
			recording_fail(path, "the recording is cut off");
		if (*nr == room) {
			room = room ? 2 * room : 4096;
			records = realloc(records, room * sizeof(*records));
		}
		if (!records)
			recording_fail(path, "no memory");
		records[(*nr)++] = header;
		data += header->size;
	} while (header->type != DUMP_END);
	qsort(records, *nr, sizeof(*records), compare_times);
	return records;
}

unsigned long recording_read(const char *path,
			     const struct recording_reader *reader, void *arg)
{
	struct recording rec = { .path = path, .reader = reader, .arg = arg };
	const struct dump_header **records;
	const unsigned char *data;
	int fd = open(path, O_RDONLY);
	unsigned long missing;
	struct stat st;
	size_t nr;

	if (fd < 0 || fstat(fd, &st))
		recording_fail(path, strerror(errno));
	data = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (data == MAP_FAILED)
		recording_fail(path, strerror(errno));
	close(fd);
	records = sort_records(path, data, st.st_size, &nr);
	for (size_t i = 0; i < nr; i++)
		on_record(&rec, records[i]);
	free(records);
	missing = count_missing(&rec);
	free(rec.pending);
	return missing;
}
